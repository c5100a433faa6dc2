"""Recursive doubling that gathers, or scatters what it merges.  N = 2^k.

*All-gather*: in the round of distance d = 1, 2, 4, ... rank r exchanges all that it has, the
chunks of its block of d ranks, with r XOR d.

        size 4, rank 1:   round 0: gives chunk 1 to 0, gets 0
                          round 1: gives chunks 0, 1 to 3, gets 2, 3

*Reduce-scatter*, for operators that do not commute: in the round of distance d everyone
exchanges, with r XOR d, all chunks but those of its block of d ranks: blocks that merge are
neighbours.  S (log2 N - (N-1)/N) per rank instead of the (N-1)/N S of ``recursive_halving``.

        size 4, rank 1:   round 0: gives chunks 0, 2, 3 to 0, merges 1, 2, 3
                          round 1: gives chunks 2, 3 to 3, merges 0, 1

(Thakur, Rabenseifner and Gropp, Optimization of collective communication operations in
MPICH, 2005.)
"""

from __future__ import annotations

from refcoll.algorithms.declaration import (
    ALWAYS,
    POWERS_OF_TWO,
    UP_TO_2,
    Algorithm,
    Lengths,
    chunk_per_rank,
    log2_ceiling,
)
from refcoll.algorithms.ring import all_but
from refcoll.algorithms.symbols import LOG2_N, N, S, alpha, beta, gamma
from refcoll.schedule import Copy, Reduce, Schedule, Send

_PAPER = "Thakur, Rabenseifner and Gropp 2005"


def recursive_doubling_all_gather(rank: int, size: int) -> Schedule:
    """Chunks: N = 2^k.  Steps: k.  Sent: chunk j in every round from its block on.

    Received: S - |c_r|.
    """
    for k in range(log2_ceiling(size)):
        # Before this round I have the chunks of my block of 2^k ranks.
        other = rank ^ 1 << k
        yield Send(_block(rank, k), other), Copy(_block(other, k), other)


def recursive_doubling_reduce_scatter(rank: int, size: int) -> Schedule:
    """Chunks: N = 2^k.  Steps: k.  Sent and received: S (k - (N-1)/N) for equal chunks."""
    for k in range(log2_ceiling(size)):
        # Before this round the chunks outside my block of 2^k ranks hold that block, and
        # so does my own chunk.
        other = rank ^ 1 << k
        yield (
            Send(_outside(_block(rank, k), size), other),
            Reduce(_outside(_block(other, k), size), other),
        )


def _block(rank: int, k: int) -> range:
    first = rank >> k << k
    return range(first, first + (1 << k))


def _outside(block: range, size: int) -> tuple[int, ...]:
    return (*range(block.start), *range(block.stop, size))


# ---- claims ----------------------------------------------------------------------------


def gathered(rank: int, size: int, lengths: Lengths) -> int:
    """What doubling sends: chunk j in each round whose block around the rank holds it."""
    return sum(
        length * (log2_ceiling(size) - (rank ^ j).bit_length()) for j, length in enumerate(lengths)
    )


def _doubling_sent(rank: int, size: int, lengths: Lengths) -> int:
    return sum(
        length * (rank ^ j).bit_length() for j, length in enumerate(lengths)
    )  # chunk j in every round before its block is mine


def _doubling_received(rank: int, size: int, lengths: Lengths) -> int:
    """My partner's view of the same: what its block at distance d leaves out."""
    rounds = range(log2_ceiling(size))
    blocks = (_block(rank ^ 1 << k, k) for k in rounds)
    return sum(sum(lengths) - sum(lengths[b.start : b.stop]) for b in blocks)


ALGORITHMS = (
    Algorithm(
        name="recursive_doubling",
        collective="all_gather",
        schedule=recursive_doubling_all_gather,
        chunks=chunk_per_rank,
        sizes=POWERS_OF_TWO,
        steps=lambda rank, size: log2_ceiling(size),
        depth=log2_ceiling,
        sent=gathered,
        received=lambda rank, size, c: all_but(rank, c),
        time=LOG2_N * alpha + (N - 1) / N * S * beta,
        time_source=_PAPER,
        bandwidth_optimal=ALWAYS,
        latency_optimal=ALWAYS,
        source=_PAPER,
        also_known_as={"Open MPI": "3 recursive_doubling", "MPICH": "recursive_doubling"},
    ),
    Algorithm(
        name="recursive_doubling",
        collective="reduce_scatter",
        schedule=recursive_doubling_reduce_scatter,
        chunks=chunk_per_rank,
        sizes=POWERS_OF_TWO,
        steps=lambda rank, size: log2_ceiling(size),
        depth=log2_ceiling,
        sent=_doubling_sent,
        received=_doubling_received,
        time=LOG2_N * alpha + (LOG2_N - (N - 1) / N) * S * (beta + gamma),
        time_source=_PAPER,
        in_rank_order=True,
        bandwidth_optimal=UP_TO_2,
        latency_optimal=ALWAYS,
        source=_PAPER,
        also_known_as={"Open MPI": "2 recursive_doubling (block)", "MPICH": "recursive_doubling"},
    ),
)
