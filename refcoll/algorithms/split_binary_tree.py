r"""Split binary tree: half a vector down each of two trees, then neighbours swap halves.

The ranks 1, 3, 5, ... are a tree for the first half of the vector, 2, 4, 6, ... one for the
second, each numbered as a heap, both with their roots below rank 0.

        size 7:     0            first half: 0 > 1 > 3, 5     second half: 0 > 2 > 4, 6
                  1   2          at last each odd rank swaps halves with the next:
                 3 5 4 6         1 - 2, 3 - 4, 5 - 6

Member i of the odd ranks is 2i + 1, of the even ones 2i + 2; the members below it in its heap
are 2i + 1 and 2i + 2.  Size 4: 0 > 1 first half, 0 > 2 second half; 1 > 3 first half; then
1 - 2 swap, and rank 3, which has nobody to swap with, gets its second half from rank 0, as
the last rank does for every even N.

No rank sends more than 3/2 S, where in one binary tree some send 2 S.
(Open MPI's coll/base, bcast split_bintree.)
"""

from __future__ import annotations

from refcoll.algorithms.declaration import (
    ONE,
    Algorithm,
    Lengths,
    When,
    by_others,
    covered,
    mirrored,
)
from refcoll.algorithms.tree_times import (
    SPLIT_DOWN,
    SPLIT_DOWN_ONE_BY_ONE,
    SPLIT_UP,
    SPLIT_UP_ONE_BY_ONE,
)
from refcoll.schedule import Action, Copy, Reduce, Schedule, Send, reverse


def split_binary_tree_broadcast(rank: int, size: int, segments: int) -> Schedule:
    """Rank 0's vector to everyone, half down each tree.

    Chunks: 2M.  Depth: M + D, D = levels of the first tree.  Sent: S/2 per child, and S/2 to
    the partner.  Received: S, but nothing by rank 0.
    """
    halves = range(segments), range(segments, 2 * segments)
    mine = (rank + 1) % 2
    if size == 1:
        return
    for t in range(segments + _levels(size) - 1):
        # Before round t, a rank at level l has the segments 0, ..., t - l of its half.
        step: list[Action] = []
        if 0 <= (i := t - _level(rank)) < segments:
            step += [Send(halves[(child + 1) % 2][i], child) for child in _heap(rank, size)]
        if rank and 0 <= (i := t - _level(rank) + 1) < segments:
            step.append(Copy(halves[mine][i], _above(rank)))
        yield tuple(step)
    if rank == 0:
        yield (Send(halves[1], size - 1),) if size % 2 == 0 else ()
    elif _partner(rank, size) == 0:
        yield (Copy(halves[1], 0),)
    else:
        other = _partner(rank, size)
        yield Send(halves[mine], other), Copy(halves[1 - mine], other)


def split_binary_tree_reduce(rank: int, size: int, segments: int) -> Schedule:
    """The broadcast backwards: everyone's vectors merged on rank 0; sent and received swap."""
    return reverse(split_binary_tree_broadcast(rank, size, segments), into=Reduce)


# ---- the two heaps ---------------------------------------------------------------------


def _level(rank: int) -> int:
    """How far a rank lies below rank 0."""
    return ((rank + 1) // 2).bit_length()


def _levels(size: int) -> int:
    return (size // 2).bit_length()


def _above(rank: int) -> int:
    """Member (i-1)//2 of the same heap, or rank 0 above both."""
    i = (rank - 1) // 2
    return rank - 2 * (i - (i - 1) // 2) if i else 0


def _heap(rank: int, size: int) -> list[int]:
    """The ranks below a rank: members 2i+1 and 2i+2 of its heap; below rank 0, both roots."""
    i = (rank - 1) // 2
    below = [1, 2] if rank == 0 else [rank + 2 * (i + 1), rank + 2 * (i + 2)]
    return [child for child in below if child < size]


def _partner(rank: int, size: int) -> int:
    """Whom a rank swaps halves with; rank 0 for the last rank of even N."""
    other = rank + 1 if rank % 2 else rank - 1
    return other if other < size else 0


# ---- claims ----------------------------------------------------------------------------


def _steps(rank: int, size: int, segments: int) -> int:
    if size == 1:
        return 0
    sends = [_level(rank)] if _heap(rank, size) else []
    receives = [_level(rank) - 1] if rank else []
    return covered(sends + receives, segments) + (rank > 0 or size % 2 == 0)


def _sent(rank: int, size: int, lengths: Lengths, segments: int) -> int:
    """To each child its half, and at last mine to my partner, or the second to the last rank."""
    halves = sum(lengths[:segments]), sum(lengths[segments:])
    down = sum(halves[(child + 1) % 2] for child in _heap(rank, size))
    if rank == 0:
        return down + (size % 2 == 0) * halves[1]
    return down + (halves[(rank + 1) % 2] if _partner(rank, size) else 0)


def _depth(size: int, segments: int) -> int:
    return segments + _levels(size) if size > 1 else 0


_FEW = When("N = 1, 2, 3 or 5", lambda size, segments: size in (1, 2, 3, 5))
_BROADCAST = Algorithm(
    name="split_binary_tree",
    collective="broadcast",
    schedule=split_binary_tree_broadcast,
    chunks=lambda size, segments: 2 * segments,
    steps=_steps,
    depth=_depth,
    sent=_sent,
    received=by_others,
    time=SPLIT_DOWN,
    one_port=SPLIT_DOWN_ONE_BY_ONE,
    bandwidth_optimal=_FEW,
    latency_optimal=ONE,
    options=("segments",),
    source="Open MPI coll/base, bcast split_bintree",
    also_known_as={"Open MPI": "4 split_binary_tree"},
)
ALGORITHMS = (
    _BROADCAST,
    mirrored(
        _BROADCAST,
        "reduce",
        schedule=split_binary_tree_reduce,
        time=SPLIT_UP,
        one_port=SPLIT_UP_ONE_BY_ONE,
        source="the broadcast, backwards in time",
    ),
)
