"""Bytes per rank that ZeRO's stages leave, in training with mixed precision.

P parameters, N ranks; K bytes of states a parameter (Adam in mixed precision: float32 master,
momentum and variance, K = 12):

    stage 0    (b + g + K) P                 replicas, as in DDP
    stage 1    (b + g) P + K P/N             states sharded
    stage 2    b P + (g + K) P/N             gradients too
    stage 3    (b + g + K) P/N               parameters too

with b and g bytes a parameter and a gradient.  7.5 billion parameters on 64 ranks take 120, 31.4,
16.6 and 1.88 GB (Rajbhandari et al. 2020, figure 1).  Not in it: activations, and the one bucket
or few that are whole while their gradients come.
"""

from __future__ import annotations

from fractions import Fraction

from refcoll.errors import ArgumentError, within

ADAM = 12
"""Bytes of states a parameter, with a float32 master."""


def zero_nbytes(
    parameters: int, ranks: int, stage: int, *, parameter: int = 2, gradient: int = 2,
    states: int = ADAM,
) -> Fraction:  # fmt: skip
    """Bytes per rank, exactly where N divides P.

    Raises ArgumentError for a stage that is not 0, 1, 2 or 3, or for no rank.
    """
    within(ranks, "ranks", 1)
    if stage not in (0, 1, 2, 3):
        raise ArgumentError(f"stage={stage!r:.80} must be 0, 1, 2 or 3")
    whole, shard = Fraction(parameters), Fraction(parameters, ranks)
    parts = (states, stage >= 1), (gradient, stage >= 2), (parameter, stage >= 3)
    return sum((nbytes * (shard if cut else whole) for nbytes, cut in parts), Fraction(0))
