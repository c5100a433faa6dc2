"""Recursive doubling and halving: exchange with the rank that differs in one bit.

        000  001  010  011          in the round of distance d = 1, 2, 4, ...
         +----+    +----+             rank r exchanges with rank r XOR d
         +---------+                  (and 001 with 011)

*Recursive doubling* exchanges whole vectors: after the round of distance d, each block of
2d neighbouring ranks agrees on the block's sum.  Size 4: 0 - 1 and 2 - 3, then 0 - 2 and
1 - 3; L = log2 N rounds, S L bytes.  For short vectors.

*Halving, then doubling* (Rabenseifner) exchanges halves of what it still keeps: of the
chunks lo..hi, the rank whose bit d is 0 keeps the lower half.  Size 4: rank 0 gives chunks
2, 3 to rank 1 and keeps 0, 1; then gives 1 to rank 2 and keeps 0.  That was a
reduce-scatter (S/2 + S/4 + ...); backwards in time it is the all-gather, and both together
take 2 log2 N steps and 2(N-1)/N S bytes: no schedule does with fewer bytes.

Other N are *folded* to p ranks first (``folding``).  Merged blocks are neighbours, so operands
meet in rank order.
(Thakur, Rabenseifner and Gropp, Optimization of collective communication operations in
MPICH, 2005.)
"""

from __future__ import annotations

from refcoll.algorithms.declaration import (
    ONE,
    POWERS_OF_TWO,
    UP_TO_2,
    Algorithm,
    Lengths,
    one_chunk,
)
from refcoll.algorithms.folding import (
    FOLDING_TIME,
    folded,
    folded_depth,
    folded_steps,
    folded_traffic,
    log2_floor,
    power_below,
)
from refcoll.algorithms.symbols import S, alpha, beta, gamma, log2_p, p
from refcoll.schedule import Copy, Reduce, Schedule, Send, reverse, then

_PAPER = "Thakur, Rabenseifner and Gropp 2005"


def doubling(rank: int, size: int) -> Schedule:
    """All-reduce of one chunk among 2^k ranks.  Steps: k.  Sent: k S."""
    for k in range(log2_floor(size)):
        # Before this round the vector holds my block of 2^k ranks, in order.
        other = rank ^ 1 << k
        yield Send(0, other), Reduce(0, other)


def halving(rank: int, size: int) -> Schedule:
    """Reduce-scatter among N = 2^k ranks; rank r ends with chunk (bits of r reversed).

    Chunks: N.  Steps: k.  Sent: S less that chunk.  Received: the blocks kept, each round.
    """
    kept = range(size)
    for k in range(log2_floor(size)):
        # Before this round the chunks in ``kept`` hold my block of 2^k ranks, in order.
        other, middle = rank ^ 1 << k, (kept.start + kept.stop) // 2
        low, high = range(kept.start, middle), range(middle, kept.stop)
        kept, given = (low, high) if rank < other else (high, low)
        yield Send(given, other), Reduce(kept, other)


def halving_doubling(rank: int, size: int) -> Schedule:
    """All-reduce among 2^k ranks: halving, and the same backwards as an all-gather."""
    return then(halving(rank, size), reverse(halving(rank, size), into=Copy))


def recursive_doubling_all_reduce(rank: int, size: int) -> Schedule:
    """Chunks: 1.  Steps: log2 p, two more where folded.

    Sent and received: S log2 p, S more where folded.
    Proved for every N: recursive_doubling_in_rank_order in proofs/AnySize.v.
    """
    return folded(doubling, 0, log2_floor(size), rank, size)


def rabenseifner_all_reduce(rank: int, size: int) -> Schedule:
    """Chunks: p.  Steps: 2 log2 p, two more where folded.

    Sent and received: 2(p-1)/p S where chunks are equal, S more where folded.
    Proved for every N: rabenseifner_in_rank_order in proofs/AnySize.v.
    """
    return folded(halving_doubling, range(power_below(size)), 2 * log2_floor(size), rank, size)


def reversed_bits(place: int, power: int) -> int:
    """The number below 2^k with the bits of ``place`` in reverse order.

    >>> [reversed_bits(i, 8) for i in range(8)]
    [0, 4, 2, 6, 1, 5, 3, 7]
    """
    bits = log2_floor(power)
    return int(f"{place:0{bits}b}"[::-1], 2) if bits else 0


# ---- claims ----------------------------------------------------------------------------


def _doubling_traffic(rank: int, size: int, lengths: Lengths) -> int:
    return folded_traffic(rank, size, lengths, lambda place: log2_floor(size) * sum(lengths))


def halving_traffic(place: int, power: int, lengths: Lengths) -> int:
    """All but my final chunk one way; the nested blocks around it the other way."""
    mine = reversed_bits(place, power)
    nested = [mine >> k << k for k in range(log2_floor(power))]
    blocks = sum(sum(lengths[low : low + (1 << k)]) for k, low in enumerate(nested))
    return sum(lengths) - lengths[mine] + blocks


def _halving_traffic(rank: int, size: int, lengths: Lengths) -> int:
    power = power_below(size)
    return folded_traffic(rank, size, lengths, lambda place: halving_traffic(place, power, lengths))


HALVING_DOUBLING_TIME = 2 * log2_p * alpha + 2 * (p - 1) / p * S * beta + (p - 1) / p * S * gamma
ALGORITHMS = (
    Algorithm(
        name="recursive_doubling",
        collective="all_reduce",
        schedule=recursive_doubling_all_reduce,
        chunks=one_chunk,
        steps=lambda rank, size: folded_steps(rank, size, log2_floor(size)),
        depth=lambda size: folded_depth(size, log2_floor(size)),
        sent=_doubling_traffic,
        received=_doubling_traffic,
        time=log2_p * (alpha + S * beta + S * gamma) + FOLDING_TIME,
        time_source=f"{_PAPER}; where folded, derived here",
        in_rank_order=True,
        bandwidth_optimal=UP_TO_2,
        latency_optimal=POWERS_OF_TWO,
        source=_PAPER,
        proved="AnySize.recursive_doubling_in_rank_order",
        also_known_as={"Open MPI": "3 recursive_doubling", "MPICH": "recursive_doubling"},
    ),
    Algorithm(
        name="rabenseifner",
        collective="all_reduce",
        schedule=rabenseifner_all_reduce,
        chunks=power_below,
        steps=lambda rank, size: folded_steps(rank, size, 2 * log2_floor(size)),
        depth=lambda size: folded_depth(size, 2 * log2_floor(size)),
        sent=_halving_traffic,
        received=_halving_traffic,
        time=HALVING_DOUBLING_TIME + FOLDING_TIME,
        time_source=f"{_PAPER}; where folded, derived here",
        in_rank_order=True,
        bandwidth_optimal=POWERS_OF_TWO,
        latency_optimal=ONE,
        source=_PAPER,
        proved="AnySize.rabenseifner_in_rank_order",
        also_known_as={"MPICH": "reduce_scatter_allgather", "Gloo": "halving_doubling"},
    ),
)
