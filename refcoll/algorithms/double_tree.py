r"""Double binary tree: two pipelined trees, each for half of the vector.

The first tree is the in-order tree of ``binary_tree``: leaves on the odd ranks, the ranks
2, 6, 10, ... above them, then 4, 12, ...; rank 0 above all.

        size 8:       0                 second tree, size 8, ranks mirrored:      7
                      |                                                           |
                      4                                                           3
                    /   \                                                       /   \
                   2     6                                                     5     1
                  / \   / \                                                   / \   / \
                 1   3 5   7                                                 6   4 2   0

A rank that is a leaf in one tree is not in the other (for odd N the second tree is the first,
shifted by one), so both directions of every link are used.  Each half goes
up, merged at every node, and down again, in M segments, one a round, through a tree whose
deepest leaf lies D = ceil(log2 N) below the root.  With d = depth of my rank, in round t I
    take segment t - (D - d - 1) from my children,  send segment t - (D - d) to my parent,
    take segment t - (D + d - 1) from my parent,    send segment t - (D + d) to my children.

Size 4, M = 1, first tree 0 - 2 - {1, 3}, D = 2: round 0: 1 > 2, 3 > 2; round 1: 2 > 0;
round 2: 0 > 2; round 3: 2 > 1, 2 > 3.  Depth M + 2D - 1, and at most 2S sent per rank.
(Sanders, Speck and Traff 2009; the trees are those of NCCL's ncclGetDtree.)
"""

from __future__ import annotations

from collections.abc import Sequence

from refcoll.algorithms.binary_tree import children, degree, depth, parent
from refcoll.algorithms.declaration import (
    NEVER,
    ONE,
    UP_TO_2,
    Algorithm,
    Lengths,
    covered,
    log2_ceiling,
)
from refcoll.algorithms.tree_times import DOUBLE, DOUBLE_ONE_BY_ONE
from refcoll.schedule import Action, Copy, Reduce, Schedule, Send, on_chunks, on_ranks, together


def tree_all_reduce(rank: int, size: int, segments: int) -> Schedule:
    """One pipelined tree, M chunks up to rank 0 and down again.

    Chunks: M.  Depth: M + 2D - 1.  Sent and received: S per neighbour in the tree.
    """
    deepest, mine = log2_ceiling(size), depth(rank, size)
    up, down = parent(rank, size), children(rank, size)
    for t in range(segments + 2 * deepest if size > 1 else 0):
        step: list[Action] = []
        if 0 <= (i := t - (deepest - mine - 1)) < segments:
            step += [Reduce(i, child) for child in down]
        if up is not None and 0 <= (i := t - (deepest - mine)) < segments:
            step.append(Send(i, up))
        if up is not None and 0 <= (i := t - (deepest + mine - 1)) < segments:
            step.append(Copy(i, up))
        if 0 <= (i := t - (deepest + mine)) < segments:
            step += [Send(i, child) for child in down]
        yield tuple(step)


def second_tree(size: int) -> Sequence[int]:
    """The ranks in the order in which the second tree takes them: mirrored, or shifted."""
    return [(size - 1 - r) if size % 2 == 0 else (r + 1) % size for r in range(size)]


def double_tree_all_reduce(rank: int, size: int, segments: int) -> Schedule:
    """Both trees side by side, the first half of the chunks in one, the rest in the other.

    Chunks: 2M.  Depth: M + 2D - 1.  Sent and received: each half per neighbour in its tree.
    """

    def tree(r: int, n: int) -> Schedule:
        return tree_all_reduce(r, n, segments)

    first, second = range(segments + 1), range(segments, 2 * segments + 1)
    return together(
        on_chunks(first, tree(rank, size)),
        on_chunks(second, on_ranks(second_tree(size), tree, rank)),
    )


def _places(rank: int, size: int) -> tuple[int, int]:
    return rank, second_tree(size).index(rank)


def _windows(place: int, size: int) -> list[int]:
    """The rounds in which each of the four pipelines of a place begins."""
    deepest, mine = log2_ceiling(size), depth(place, size)
    inner = degree(place, size) > (place > 0)
    with_children = [deepest - mine - 1, deepest + mine] if inner else []
    with_parent = [deepest - mine, deepest + mine - 1] if place else []
    return with_children + with_parent


def _steps(rank: int, size: int, segments: int) -> int:
    return covered([start for place in _places(rank, size) for start in _windows(place, size)],
                   segments)  # fmt: skip


def _traffic(rank: int, size: int, lengths: Lengths, segments: int) -> int:
    """Each half crosses each of my links in that half's tree once up and once down."""
    halves = sum(lengths[:segments]), sum(lengths[segments:])
    return sum(
        half * degree(place, size) for half, place in zip(halves, _places(rank, size), strict=True)
    )


ALGORITHMS = (
    Algorithm(
        name="double_binary_tree",
        collective="all_reduce",
        schedule=double_tree_all_reduce,
        chunks=lambda size, segments: 2 * segments,
        steps=_steps,
        depth=lambda size, segments: segments + 2 * log2_ceiling(size) - 1 if size > 1 else 0,
        sent=_traffic,
        received=_traffic,
        time=DOUBLE,
        one_port=DOUBLE_ONE_BY_ONE,
        time_exact=NEVER,
        options=("segments",),
        bandwidth_optimal=UP_TO_2,
        latency_optimal=ONE,
        source="Sanders, Speck and Traff 2009; NCCL",
        also_known_as={"NCCL": "Tree"},
    ),
)
