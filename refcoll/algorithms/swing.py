r"""Swing: recursive exchange with partners that swing between left and right.

        rho_k = 1 - 2 + 4 - ... + (-2)^k = 1, -1, 3, -5, 11, ...
        in round k an even rank r meets r + rho_k, an odd one r - rho_k       (mod N = 2^L)

Size 4: 0 - 1, 2 - 3, then 0 - 3, 1 - 2: on a ring of links all partners of round 1 are
neighbours, where recursive doubling has 0 - 2 and 1 - 3.  Distances grow as 1, 1, 3, 5, 11
instead of 1, 2, 4, 8, 16, so that fewer messages share a link of a torus.

*Latency-optimal*: whole vectors, as in recursive doubling; L rounds, S L bytes.  The paper
takes the rounds from k = 0 on; from 8 ranks on, ranks then merge in different orders and
round differently.  Taken from the last to the first, as here, all ranks get the same bits.

*Bandwidth-optimal*: a reduce-scatter that gives, in round k, the chunks of all ranks that
the partner can still reach in the rounds to come; backwards in time it is the all-gather.

Which ranks those are: number the ranks (``label``) so that round k's partners agree in the
bits below k and differ in bit k; then a rank keeps the chunks whose label agrees with its
own in the bits up to k.  Other N are folded (``folding``).  Groups that merge are not
neighbours, so the operator must commute.
(De Sensi et al., Swing: short-cutting rings for higher bandwidth allreduce, NSDI 2024.)
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from refcoll.algorithms.declaration import (
    ONE,
    POWERS_OF_TWO,
    UP_TO_2,
    Algorithm,
    Lengths,
    log2_ceiling,
)
from refcoll.algorithms.folding import (
    FOLDING_TIME,
    folded,
    folded_depth,
    folded_steps,
    folded_traffic,
    power_below,
)
from refcoll.algorithms.recursive import HALVING_DOUBLING_TIME
from refcoll.algorithms.symbols import S, alpha, beta, gamma, log2_p
from refcoll.schedule import Copy, Reduce, Schedule, Send, reverse, then

_PAPER = "De Sensi et al., Swing (2024)"


def partner(rank: int, k: int, size: int) -> int:
    """Whom a rank meets in round k, among 2^L ranks."""
    rho = (1 - int((-2) ** (k + 1))) // 3
    return (rank + (rho if rank % 2 == 0 else -rho)) % size


def label(rank: int, size: int) -> int:
    """A number for each of 2^L ranks: that of round k's partner differs in bit k, not below.

    It is the Gray code of r (odd ranks) or -r (even ranks) in base -2.

    >>> [label(r, 8) for r in range(8)]
    [0, 1, 3, 4, 6, 7, 5, 2]
    """
    odd_bits = sum(2 << 2 * k for k in range(size.bit_length()))
    negabinary = ((rank if rank % 2 else -rank) + odd_bits ^ odd_bits) & (size - 1)
    return int(negabinary ^ negabinary >> 1)


def swing_latency_all_reduce(rank: int, size: int) -> Schedule:
    """Chunks: 1.  Steps: log2 p, two more where folded.  Sent, received: S a step."""
    return folded(_whole, 0, log2_ceiling(power_below(size)), rank, size)


def swing_all_reduce(rank: int, size: int) -> Schedule:
    """Chunks: p.  Steps: 2 log2 p, two more where folded.

    Sent and received: 2(p-1)/p S where chunks are equal, S more where folded.
    """
    p = power_below(size)
    return folded(_scatter_gather, range(p), 2 * log2_ceiling(p), rank, size)


def _whole(rank: int, size: int) -> Schedule:
    for k in reversed(range(log2_ceiling(size))):
        # Before this round all ranks whose labels agree with mine in the lowest k + 1 bits
        # hold the same merge of theirs.
        other, mine = partner(rank, k, size), label(rank, size) >> k & 1
        yield Send(0, other), Reduce(0, other, "left" if mine else "right")


def _scatter(rank: int, size: int) -> Schedule:
    for k in range(log2_ceiling(size)):
        # Before this round I keep the chunks whose labels agree with mine in k bits; they
        # hold the 2^k ranks that I have met, directly or not.
        other = partner(rank, k, size)
        yield (
            Send(_agreeing(other, k + 1, size), other),
            Reduce(_agreeing(rank, k + 1, size), other),
        )


def _scatter_gather(rank: int, size: int) -> Schedule:
    return then(_scatter(rank, size), reverse(_scatter(rank, size), into=Copy))


def _agreeing(rank: int, bits: int, size: int) -> tuple[int, ...]:
    """The chunks, in order, whose labels agree with this rank's in the lowest ``bits`` bits."""
    labels, mask = _labels(size), (1 << bits) - 1
    return tuple(q for q in range(size) if not (labels[q] ^ labels[rank]) & mask)


@lru_cache(maxsize=8)
def _labels(size: int) -> tuple[int, ...]:
    return tuple(label(rank, size) for rank in range(size))


def _kept_traffic(rank: int, size: int, lengths: Lengths) -> int:
    """All but my chunk one way; what I keep in each round the other way."""

    def core(place: int) -> int:
        labels = _labels(power_below(size))
        kept: Sequence[int] = range(len(labels))
        total = sum(lengths) - lengths[place]
        for k in range(log2_ceiling(len(labels))):
            kept = [i for i in kept if not (labels[i] ^ labels[place]) >> k & 1]
            total += sum(lengths[i] for i in kept)
        return total

    return folded_traffic(rank, size, lengths, core)


def _whole_traffic(rank: int, size: int, lengths: Lengths) -> int:
    rounds = log2_ceiling(power_below(size))
    return folded_traffic(rank, size, lengths, lambda place: rounds * sum(lengths))


ALGORITHMS = (
    Algorithm(
        name="swing_latency",
        collective="all_reduce",
        schedule=swing_latency_all_reduce,
        chunks=lambda size: 1,
        steps=lambda rank, size: folded_steps(rank, size, log2_ceiling(power_below(size))),
        depth=lambda size: folded_depth(size, log2_ceiling(power_below(size))),
        sent=_whole_traffic,
        received=_whole_traffic,
        time=log2_p * (alpha + S * beta + S * gamma) + FOLDING_TIME,
        bandwidth_optimal=UP_TO_2,
        latency_optimal=POWERS_OF_TWO,
        source=_PAPER,
    ),
    Algorithm(
        name="swing",
        collective="all_reduce",
        schedule=swing_all_reduce,
        chunks=power_below,
        steps=lambda rank, size: folded_steps(rank, size, 2 * log2_ceiling(power_below(size))),
        depth=lambda size: folded_depth(size, 2 * log2_ceiling(power_below(size))),
        sent=_kept_traffic,
        received=_kept_traffic,
        time=HALVING_DOUBLING_TIME + FOLDING_TIME,
        bandwidth_optimal=POWERS_OF_TWO,
        latency_optimal=ONE,
        source=_PAPER,
    ),
)
