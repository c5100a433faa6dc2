"""Chain: a pipeline along the ranks.

        0 --> 1 --> 2 --> 3        round t of the broadcast:
                                     rank r sends segment t - r to rank r + 1
                                     and gets segment t - r + 1 from rank r - 1

Size 4, three segments a b c:        round   0>1   1>2   2>3
                                       0      a
                                       1      b     a
                                       2      c     b     a
                                       3            c     b
                                       4                  c
M segments take M + N - 2 rounds, against M (N-1) without the pipeline.  The reduce is the
same picture backwards in time: values flow from rank N-1 down to rank 0, and since each
rank puts itself on the left of what comes from above, operands meet in rank order.
"""

from __future__ import annotations

from refcoll.algorithms.declaration import (
    ALWAYS,
    ONE_SEGMENT_UP_TO_3,
    Algorithm,
    covered,
    mirrored,
    one_segment_each,
)
from refcoll.algorithms.symbols import M, N, S, alpha, beta
from refcoll.schedule import Action, Copy, Reduce, Schedule, Send, reverse


def chain_broadcast(rank: int, size: int, segments: int) -> Schedule:
    """Rank 0's vector to everyone.

    Chunks: M.  Steps: M at the ends, M+1 between.  Depth: M+N-2.  Sent: S, but nothing by
    rank N-1.  Received: S, but nothing by rank 0.
    """
    for t in range(segments + size - 2 if size > 1 else 0):
        # Before round t, rank r has the segments 0, ..., t - r.
        step: list[Action] = []
        if rank < size - 1 and 0 <= t - rank < segments:
            step.append(Send(t - rank, rank + 1))
        if rank > 0 and 0 <= t - rank + 1 < segments:
            step.append(Copy(t - rank + 1, rank - 1))
        yield tuple(step)


def chain_reduce(rank: int, size: int, segments: int) -> Schedule:
    """The broadcast backwards: everyone's vectors merged on rank 0; sent and received swap."""
    return reverse(chain_broadcast(rank, size, segments), into=Reduce)


def _steps(rank: int, size: int, segments: int) -> int:
    sends = [rank] if rank < size - 1 else []
    receives = [rank - 1] if rank > 0 else []
    return covered(sends + receives, segments)


def _depth(size: int, segments: int) -> int:
    return segments + size - 2 if size > 1 else 0


_BROADCAST = Algorithm(
    name="chain",
    collective="broadcast",
    schedule=chain_broadcast,
    chunks=one_segment_each,
    steps=_steps,
    depth=_depth,
    sent=lambda rank, size, c, segments: sum(c) if rank < size - 1 else 0,
    received=lambda rank, size, c, segments: sum(c) if rank > 0 else 0,
    time=(M + N - 2) * (alpha + S / M * beta),
    options=("segments",),
    bandwidth_optimal=ALWAYS,
    latency_optimal=ONE_SEGMENT_UP_TO_3,
    source="Open MPI coll/base, bcast pipeline",
    also_known_as={"Open MPI": "3 pipeline"},
)
ALGORITHMS = (
    _BROADCAST,
    mirrored(
        _BROADCAST,
        "reduce",
        schedule=chain_reduce,
        in_rank_order=True,
        source="Open MPI coll/base, reduce pipeline",
        also_known_as={"Open MPI": "3 pipeline"},
    ),
)
