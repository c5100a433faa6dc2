"""Which mean: over samples, or over ranks.

Rank r has, in a step, micro-batches k of w_rk samples each.  Of each it hands over a gradient
G_rk: that of the *mean* of its samples' losses (as loss functions mostly give), or of their
*sum*.

    over="samples"   sum_rk (w_rk G_rk) / sum_rk w_rk   of="mean"    every sample counts alike:
                     sum_rk G_rk        / sum_rk w_rk   of="sum"     as if one device had all
    over="ranks"     sum_rk G_rk        / N             of="mean"    a mean of means
                     sum_rk (G_rk/w_rk) / N             of="sum"     (PyTorch's DDP)

The two agree where all w_rk are alike (over="ranks" divides by N alone: to accumulate k
micro-batches, divide the losses by k yourself, as with DDP).  Where they are not, a mean of
means lets a sample on a rank with few of them count for more.  Two ranks, one with five tokens
of gradient 1 and one with one token of gradient 7: over samples (5 + 7) / 6 = 2, over ranks
(1 + 7) / 2 = 4 (huggingface/transformers#34242).
"""

from __future__ import annotations

import numbers
from dataclasses import dataclass

from refcoll.errors import ArgumentError

LEAST, MOST = 1e-6, 1e15
"""Weights: so that they neither vanish nor overflow in float32."""


@dataclass(frozen=True)
class Averaging:
    """How weights become factors."""

    over: str = "samples"
    of: str = "mean"
    divide_by: str = "active"
    """over="ranks", where some ranks have run out: the "active" ranks, or the "initial" ones."""

    def __post_init__(self) -> None:
        _require_one_of(self.over, "average", ("samples", "ranks"))
        _require_one_of(self.of, "gradients", ("mean", "sum"))
        _require_one_of(self.divide_by, "divide_by", ("active", "initial"))

    def weight(self, value: object) -> float:
        """The micro-batch's weight, checked.  Raises ArgumentError."""
        needed = self.over == "samples" or self.of == "sum"
        if value is None and not needed:
            return 1.0
        if isinstance(value, bool) or not isinstance(value, numbers.Real):
            raise ArgumentError(
                f"weight={value!r:.80} must be the number of samples (or tokens) in this "
                'micro-batch, by which gradients are weighted; average="ranks" does without'
            )
        number = float(value)
        if not (number == 0 or LEAST <= number <= MOST):
            raise ArgumentError(f"weight={value!r:.80} must be 0, or from {LEAST:g} to {MOST:g}")
        return number

    def scale(self, weight: float) -> float:
        """What the micro-batch's gradients are multiplied by; 0 to leave them out."""
        if weight == 0:
            return 0.0
        if self.over == "samples":
            return weight if self.of == "mean" else 1.0
        return 1.0 if self.of == "mean" else 1 / weight

    def divisor(self, weight: float, active: int, size: int) -> float:
        """What the sum over ranks is divided by: of their weights, of the active, of all."""
        if self.over == "samples":
            if weight == 0:
                raise ArgumentError("weight: no rank has a sample in this step; give some rank one")
            return weight
        return active if self.divide_by == "active" else size


def _require_one_of(value: object, name: str, known: tuple[str, ...]) -> None:
    if value not in known:
        said = " or ".join(f'"{each}"' for each in known)
        raise ArgumentError(f"{name}={value!r:.80} must be {said}")
