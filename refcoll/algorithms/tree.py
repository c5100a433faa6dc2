"""Binomial tree: in each round everyone who has it tells one more.

        0 --------------> 4        L = ceil(log2 N) rounds; in the round of distance d
        |  \\              | \\          d = 2^(L-1), ..., 2, 1
        |   2--+          |  6--+      a rank r that 2d divides sends to r + d
        1       3         5      7

Size 4: 0 > 2, then 0 > 1 and 2 > 3.  After the round of distance d exactly the ranks that
d divides have it.  The reduce is the broadcast backwards in time: 1 > 0 and 3 > 2, then
2 > 0; rank r then holds the ranks r, ..., r + 2d - 1, so operands meet in rank order.

Few steps, whole vectors: good for short ones.  The root sends all S bytes L times.
"""

from __future__ import annotations

from refcoll.algorithms.declaration import (
    ALWAYS,
    ONE,
    UP_TO_2,
    Algorithm,
    by_others,
    log2_ceiling,
    mirrored,
    one_chunk,
)
from refcoll.algorithms.symbols import L, S, alpha, beta, gamma
from refcoll.schedule import IDLE, Copy, Reduce, Schedule, Send, reverse, then

_PAPER = "Thakur, Rabenseifner and Gropp 2005"


def binomial_broadcast(rank: int, size: int) -> Schedule:
    """Rank 0's vector to everyone.

    Chunks: 1.  Depth: L.  Steps: one per child, one for the parent.  Sent: S per child.
    Received: S, but nothing by rank 0.
    Proved for every N: binomial_broadcasts in proofs/TreeResult.v.
    """
    for k in reversed(range(log2_ceiling(size))):
        distance = 1 << k
        # Before this round exactly the ranks that 2 distance divides have the vector.
        if rank % (2 * distance) == 0 and rank + distance < size:
            yield (Send(0, rank + distance),)
        elif rank % (2 * distance) == distance:
            yield (Copy(0, rank - distance),)
        else:
            yield IDLE


def binomial_reduce(rank: int, size: int) -> Schedule:
    """The broadcast backwards: everyone's vectors merged on rank 0; sent and received swap.

    Proved for every N: binomial_reduces_to_root in proofs/TreeResult.v.
    """
    return reverse(binomial_broadcast(rank, size), into=Reduce)


def binomial_all_reduce(rank: int, size: int) -> Schedule:
    """Reduce to rank 0, then broadcast.

    Chunks: 1.  Depth: 2L.  Sent, received: S per link.
    Proved for every N: binomial_all_reduce_in_rank_order in proofs/TreeResult.v.
    """
    return then(binomial_reduce(rank, size), binomial_broadcast(rank, size))


def child_count(rank: int, size: int) -> int:
    """How many k have 2^k < (lowest set bit of rank) and rank + 2^k < size."""
    room = (size - 1 - rank).bit_length()
    return min(room, (rank & -rank).bit_length() - 1) if rank else room


def links(rank: int, size: int) -> int:
    """A rank's neighbours in the tree: its children, and its parent unless it is the root."""
    return child_count(rank, size) + (rank > 0)


_BROADCAST = Algorithm(
    name="binomial",
    collective="broadcast",
    schedule=binomial_broadcast,
    chunks=one_chunk,
    steps=links,
    depth=log2_ceiling,
    sent=lambda rank, size, c: child_count(rank, size) * sum(c),
    received=by_others,
    time=L * (alpha + S * beta),
    time_source=_PAPER,
    bandwidth_optimal=UP_TO_2,
    latency_optimal=ALWAYS,
    source=_PAPER,
    proved="TreeResult.binomial_broadcasts",
    also_known_as={"Open MPI": "6 binomial", "MPICH": "binomial"},
)
ALGORITHMS = (
    _BROADCAST,
    mirrored(
        _BROADCAST,
        "reduce",
        schedule=binomial_reduce,
        time_source=_PAPER,
        in_rank_order=True,
        proved="TreeResult.binomial_reduces_to_root",
        also_known_as={"Open MPI": "5 binomial", "MPICH": "binomial"},
    ),
    Algorithm(
        name="binomial",
        collective="all_reduce",
        schedule=binomial_all_reduce,
        chunks=one_chunk,
        steps=lambda rank, size: 2 * links(rank, size),
        depth=lambda size: 2 * log2_ceiling(size),
        sent=lambda rank, size, c: links(rank, size) * sum(c),
        received=lambda rank, size, c: links(rank, size) * sum(c),
        time=2 * L * (alpha + S * beta) + L * S * gamma,
        in_rank_order=True,
        bandwidth_optimal=UP_TO_2,
        latency_optimal=ONE,
        source="Open MPI coll/base, allreduce nonoverlapping",
        proved="TreeResult.binomial_all_reduce_in_rank_order",
        also_known_as={"Open MPI": "2 nonoverlapping"},
    ),
)
