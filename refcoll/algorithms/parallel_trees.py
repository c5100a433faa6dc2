"""Parallel trees: every chunk goes down a binomial tree of its own, all trees at once.

        chunk c, size 8:    c --> c+4;   c --> c+2, c+4 --> c+6;   then the odd ones
        in the round of distance d = 2^(L-1), ..., 2, 1 a rank passes on, to r + d, the
        chunks r - j of all j that 2d divides and with j + d < N            (all mod N)

Rank c stands at the root of chunk c's tree, rank c + j at place j.  Far ranks first, when
messages are short: a round's chunks double in number as its distance halves, the other way
round from Bruck's, so the long messages go to near ranks.  L = ceil(log2 N) rounds.

*PAT* sends a round's chunks as one message, *sparbit* as a message each.  Size 4: rank 0
sends chunk 0 to rank 2; then chunks 0 and 2 to rank 1.  Backwards in time PAT is a
reduce-scatter.
(PAT: Jeaugey, PAT: a new algorithm for all-gather and reduce-scatter operations at scale,
2025, in NCCL 2.23, there with a limit on how much is aggregated; sparbit: Loch and Koslovski,
Sparbit: towards to a logarithmic-cost and data locality-aware MPI Allgather algorithm, 2021.)
"""

from __future__ import annotations

from dataclasses import replace

from refcoll.algorithms.declaration import (
    ALWAYS,
    UP_TO_3,
    Algorithm,
    Lengths,
    chunk_per_rank,
    log2_ceiling,
    mirrored,
)
from refcoll.algorithms.ring import all_but
from refcoll.algorithms.symbols import L, N, S, alpha, beta
from refcoll.algorithms.tree import child_count
from refcoll.schedule import Copy, Reduce, Schedule, Send, indices, reverse


def pat_all_gather(rank: int, size: int) -> Schedule:
    """Chunks: N.  Steps: L.  Sent: chunk r - j once per child of place j in a binomial tree.

    Received: S - |c_r|.
    """
    for distance, places in _rounds(size):
        # Before this round I have the chunks r - j of the places j that 2d divides.
        to, source = (rank + distance) % size, (rank - distance) % size
        yield (
            Send(tuple((rank - j) % size for j in places), to),
            Copy(tuple((source - j) % size for j in places), source),
        )


def pat_reduce_scatter(rank: int, size: int) -> Schedule:
    """The all-gather backwards; sent and received swap."""
    return reverse(pat_all_gather(rank, size), into=Reduce)


def sparbit_all_gather(rank: int, size: int) -> Schedule:
    """PAT's all-gather with a message for each chunk.  Chunks: N.  Steps: L.  Messages: N-1."""
    for step in pat_all_gather(rank, size):
        yield tuple(replace(each, chunks=c) for each in step for c in indices(each.chunks))


def _rounds(size: int) -> list[tuple[int, range]]:
    """Per round its distance d, and the places that pass their chunk on in it."""
    distances = [1 << k for k in reversed(range(log2_ceiling(size)))]
    return [(d, range(0, size - d, 2 * d)) for d in distances]


def _passed_on(rank: int, size: int, lengths: Lengths) -> int:
    return sum(lengths[(rank - j) % size] * child_count(j, size) for j in range(size))


_PAT = Algorithm(
    name="pat",
    collective="all_gather",
    schedule=pat_all_gather,
    chunks=chunk_per_rank,
    steps=lambda rank, size: log2_ceiling(size),
    depth=log2_ceiling,
    sent=_passed_on,
    received=lambda rank, size, c: all_but(rank, c),
    time=L * alpha + (N - 1) / N * S * beta,
    bandwidth_optimal=ALWAYS,
    latency_optimal=ALWAYS,
    source="Jeaugey 2025",
    also_known_as={"NCCL": "PAT"},
)
ALGORITHMS = (
    _PAT,
    mirrored(
        _PAT,
        "reduce_scatter",
        schedule=pat_reduce_scatter,
        also_known_as={"NCCL": "PAT"},
    ),
    Algorithm(
        name="sparbit",
        collective="all_gather",
        schedule=sparbit_all_gather,
        chunks=chunk_per_rank,
        steps=lambda rank, size: log2_ceiling(size),
        depth=log2_ceiling,
        sent=_passed_on,
        received=lambda rank, size, c: all_but(rank, c),
        time=L * alpha + (N - 1) / N * S * beta,
        one_port=(N - 1) * (alpha + S / N * beta),
        bandwidth_optimal=ALWAYS,
        latency_optimal=UP_TO_3,
        source="Loch and Koslovski 2021",
        also_known_as={"Open MPI": "7 sparbit"},
    ),
)
