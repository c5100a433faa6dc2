"""Segmented ring: the ring all-reduce, its reduce-scatter done once per segment.

        chunk r of the ring = segments rM, ..., rM + M-1;  phase j = 0, ..., M-1:
        a ring reduce-scatter of the segments 0M + j, 1M + j, ..., (N-1)M + j

Size 4, M = 2: three steps for the even segments, three for the odd, then three of the
all-gather with whole chunks: (M + 1)(N-1) steps.  It moves what the ring moves, but needs
scratch for a segment only, where messages are not lent.
(Open MPI's coll/base, allreduce segmented_ring.)
"""

from __future__ import annotations

from refcoll.algorithms.declaration import ALWAYS, ONE, Algorithm, Lengths
from refcoll.algorithms.ring import (
    all_reduce_received,
    all_reduce_sent,
    ring_all_gather,
    ring_reduce_scatter,
)
from refcoll.algorithms.symbols import M, N, S, alpha, beta, gamma
from refcoll.schedule import Schedule, on_chunks, renumbered, then


def segmented_ring_all_reduce(rank: int, size: int, segments: int) -> Schedule:
    """Chunks: N M.  Steps: (M+1)(N-1).  Sent, received: what the ring does."""
    phases = [
        # After phase j, segment j of chunk r is reduced over all ranks on rank r.
        renumbered(ring_reduce_scatter(rank, size), range(j, size * segments, segments))
        for j in range(segments)
    ]
    chunks = range(0, size * segments + 1, segments)
    return then(*phases, on_chunks(chunks, ring_all_gather(rank, size)))


def _chunks_of(lengths: Lengths, segments: int) -> list[int]:
    return [sum(lengths[i : i + segments]) for i in range(0, len(lengths), segments)]


ALGORITHMS = (
    Algorithm(
        name="segmented_ring",
        collective="all_reduce",
        schedule=segmented_ring_all_reduce,
        chunks=lambda size, segments: size * segments,
        steps=lambda rank, size, segments: (segments + 1) * (size - 1),
        depth=lambda size, segments: (segments + 1) * (size - 1),
        sent=lambda rank, size, c, segments: all_reduce_sent(rank, _chunks_of(c, segments)),
        received=lambda rank, size, c, segments: all_reduce_received(rank, _chunks_of(c, segments)),
        time=(M + 1) * (N - 1) * alpha + 2 * (N - 1) / N * S * beta + (N - 1) / N * S * gamma,
        bandwidth_optimal=ALWAYS,
        latency_optimal=ONE,
        options=("segments",),
        source="Open MPI coll/base, allreduce segmented_ring",
        also_known_as={"Open MPI": "5 segmented_ring"},
    ),
)
