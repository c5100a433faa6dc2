r"""Binary tree: a pipeline down an in-order tree.

Leaves on the odd ranks, the ranks 2, 6, 10, ... above them, then 4, 12,
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

(Open MPI's coll/base, bcast bintree.)
"""

from __future__ import annotations

from refcoll.algorithms.declaration import (
    ONE_SEGMENT_UP_TO_3,
    UP_TO_3,
    Algorithm,
    Lengths,
    by_others,
    covered,
    log2_ceiling,
    mirrored,
    one_segment_each,
)
from refcoll.algorithms.tree_times import DOWN, DOWN_ONE_BY_ONE, UP, UP_ONE_BY_ONE
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


def _down(rank: int, size: int, lengths: Lengths, segments: int) -> int:
    return _child_count(rank, size) * sum(lengths)


_BROADCAST = Algorithm(
    name="binary_tree",
    collective="broadcast",
    schedule=binary_tree_broadcast,
    chunks=one_segment_each,
    steps=_steps,
    depth=_rounds,
    sent=_down,
    received=by_others,
    time=DOWN,
    one_port=DOWN_ONE_BY_ONE,
    bandwidth_optimal=UP_TO_3,
    latency_optimal=ONE_SEGMENT_UP_TO_3,
    options=("segments",),
    source="Open MPI coll/base, bcast bintree",
    also_known_as={"Open MPI": "5 binary_tree", "MPICH": "pipelined_tree"},
)
ALGORITHMS = (
    _BROADCAST,
    mirrored(
        _BROADCAST,
        "reduce",
        schedule=binary_tree_reduce,
        time=UP,
        one_port=UP_ONE_BY_ONE,
        in_rank_order=True,
        source="Open MPI coll/base, reduce in-order binary",
        also_known_as={"Open MPI": "6 in-order_binary"},
    ),
)
