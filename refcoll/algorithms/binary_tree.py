r"""Binary trees: a pipeline down one tree, or half a vector down each of two.

*In-order tree*: leaves on the odd ranks, the ranks 2, 6, 10, ... above them, then 4, 12,
...; rank 0 stands above all.  The node above rank r, whose lowest set bit is b, is the
nearest multiple of 2b that is not one of 4b, or r - b where that is not below N.

        size 8:       0              in round t a rank at depth d takes segment t - (d - 1)
                      4              from above and sends segment t - d to both below
                    /   \
                   2     6           M segments: M + D - 1 rounds, D = ceil(log2 N)
                  / \   / \
                 1   3 5   7

Left subtrees lie just below a rank and right ones just above, so that the reduce, the
broadcast backwards in time, merges in rank order.

*Split*: the ranks 1, 3, 5, ... are a tree for the first half of the vector, 2, 4, 6, ... one
for the second, each numbered as a heap, both with their roots below rank 0.

        size 7:     0            first half: 0 > 1 > 3, 5     second half: 0 > 2 > 4, 6
                  1   2          at last each odd rank swaps halves with the next:
                 3 5 4 6         1 - 2, 3 - 4, 5 - 6

No rank sends more than 3/2 S, instead of 2 S.  For even N the last rank has nobody to swap
with, and gets its second half from rank 0.
(Open MPI's coll/base, bcast bintree and split_bintree.)
"""

from __future__ import annotations

from refcoll.algorithms.declaration import (
    ONE,
    ONE_SEGMENT_UP_TO_3,
    UP_TO_3,
    Algorithm,
    Lengths,
    When,
    covered,
    log2_ceiling,
    mirrored,
    one_segment_each,
)
from refcoll.algorithms.tree_times import (
    DOWN,
    DOWN_ONE_BY_ONE,
    SPLIT_DOWN,
    SPLIT_DOWN_ONE_BY_ONE,
    SPLIT_UP,
    SPLIT_UP_ONE_BY_ONE,
    UP,
    UP_ONE_BY_ONE,
)
from refcoll.schedule import Action, Copy, Reduce, Schedule, Send, reverse


def parent(rank: int, size: int) -> int | None:
    """The node above ``rank``: the nearest multiple of 2b, or r - b where that is missing."""
    if rank == 0:
        return None
    bit = rank & -rank
    above = (rank ^ bit) | (bit << 1)
    return above if above < size else rank ^ bit


def children(rank: int, size: int) -> list[int]:
    """The nodes below ``rank``, in rank order."""
    span = (rank & -rank) or 1 << log2_ceiling(size)
    near = [rank + side * (span >> k) for side in (-1, 1) for k in range(1, span.bit_length())]
    return sorted(r for r in near if 0 < r < size and parent(r, size) == rank)


def depth(rank: int, size: int) -> int:
    """How far ``rank`` lies below rank 0: one, and one per level whose node exists.

    At level j above mine stands the node with my bits below j + 1 cleared and bit j set.
    """
    if rank == 0:
        return 0
    low = (rank & -rank).bit_length()
    levels = range(low, log2_ceiling(size))
    return 1 + sum((rank >> (j + 1) << (j + 1) | 1 << j) < size for j in levels)


def degree(rank: int, size: int) -> int:
    """Neighbours of a rank in the in-order tree: parent, left child, right child."""
    if rank == 0:
        return int(size > 1)
    return 1 if rank % 2 else 2 + (rank + 1 < size)


def binary_tree_broadcast(rank: int, size: int, segments: int) -> Schedule:
    """Rank 0's vector to everyone, down the in-order tree.

    Chunks: M.  Depth: M + D - 1.  Sent: S per child.  Received: S, but nothing by rank 0.
    """
    above, below, mine = parent(rank, size), children(rank, size), depth(rank, size)
    for t in range(_rounds(size, segments)):
        # Before round t, a rank at depth d has the segments 0, ..., t - d.
        step: list[Action] = []
        if 0 <= (i := t - mine) < segments:
            step += [Send(i, child) for child in below]
        if above is not None and 0 <= (i := t - mine + 1) < segments:
            step.append(Copy(i, above))
        yield tuple(step)


def binary_tree_reduce(rank: int, size: int, segments: int) -> Schedule:
    """The broadcast backwards: everyone's vectors merged on rank 0; sent and received swap."""
    return reverse(binary_tree_broadcast(rank, size, segments), into=Reduce)


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


# ---- the two heaps: member i of the odd ranks is 2i + 1, of the even ones 2i + 2 -----------


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


def _rounds(size: int, segments: int) -> int:
    return segments + log2_ceiling(size) - 1 if size > 1 else 0


def _child_count(rank: int, size: int) -> int:
    return degree(rank, size) - (rank > 0)


def _steps(rank: int, size: int, segments: int) -> int:
    mine = depth(rank, size)
    sends = [mine] if _child_count(rank, size) else []
    receives = [mine - 1] if rank else []
    return covered(sends + receives, segments)


def _split_steps(rank: int, size: int, segments: int) -> int:
    if size == 1:
        return 0
    sends = [_level(rank)] if _heap(rank, size) else []
    receives = [_level(rank) - 1] if rank else []
    return covered(sends + receives, segments) + (rank > 0 or size % 2 == 0)


def _split_sent(rank: int, size: int, lengths: Lengths, segments: int) -> int:
    """To each child its half, and at last mine to my partner, or the second to the last rank."""
    halves = sum(lengths[:segments]), sum(lengths[segments:])
    down = sum(halves[(child + 1) % 2] for child in _heap(rank, size))
    if rank == 0:
        return down + (size % 2 == 0) * halves[1]
    return down + (halves[(rank + 1) % 2] if _partner(rank, size) else 0)


def _split_depth(size: int, segments: int) -> int:
    return segments + _levels(size) if size > 1 else 0


def _down(rank: int, size: int, lengths: Lengths, segments: int) -> int:
    return _child_count(rank, size) * sum(lengths)


def _all(rank: int, size: int, lengths: Lengths, segments: int) -> int:
    return (rank > 0) * sum(lengths)


_FEW = When("N = 1, 2, 3 or 5", lambda size, segments: size in (1, 2, 3, 5))
_SPLIT = Algorithm(
    name="split_binary_tree",
    collective="broadcast",
    schedule=split_binary_tree_broadcast,
    chunks=lambda size, segments: 2 * segments,
    steps=_split_steps,
    depth=_split_depth,
    sent=_split_sent,
    received=_all,
    time=SPLIT_DOWN,
    one_port=SPLIT_DOWN_ONE_BY_ONE,
    bandwidth_optimal=_FEW,
    latency_optimal=ONE,
    options=("segments",),
    source="Open MPI coll/base, bcast split_bintree",
    also_known_as={"Open MPI": "4 split_binary_tree"},
)
_WHOLE = Algorithm(
    name="binary_tree",
    collective="broadcast",
    schedule=binary_tree_broadcast,
    chunks=one_segment_each,
    steps=_steps,
    depth=_rounds,
    sent=_down,
    received=_all,
    time=DOWN,
    one_port=DOWN_ONE_BY_ONE,
    bandwidth_optimal=UP_TO_3,
    latency_optimal=ONE_SEGMENT_UP_TO_3,
    options=("segments",),
    source="Open MPI coll/base, bcast bintree",
    also_known_as={"Open MPI": "5 binary_tree", "MPICH": "pipelined_tree"},
)
ALGORITHMS = (
    _WHOLE,
    mirrored(
        _WHOLE,
        "reduce",
        schedule=binary_tree_reduce,
        time=UP,
        one_port=UP_ONE_BY_ONE,
        in_rank_order=True,
        source="Open MPI coll/base, reduce in-order binary",
        also_known_as={"Open MPI": "6 in-order_binary"},
    ),
    _SPLIT,
    mirrored(
        _SPLIT,
        "reduce",
        schedule=split_binary_tree_reduce,
        time=SPLIT_UP,
        one_port=SPLIT_UP_ONE_BY_ONE,
        source="the broadcast, backwards in time",
    ),
)
