"""In which precision partial sums are kept, from results alone, and what follows from it.

For an inner node v of the tree, below p: rank a, on one side of v, puts in 1; rank b, on its
other side, 2^-k; rank c, on the other side of p, -1; all others 0.  What is left is 2^-k if v's
sum is kept in more than k bits of significand, and 0 if it is rounded to k bits or fewer: 1 + 2^-k
lies half-way between two numbers of k bits, and goes to the even one, 1.  So every edge of the
tree tells how many bits cross it.  (float16 cannot hold 1 and 2^-39: there 1 stands for 2^15.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from refcoll.operators import Array
from refcoll.oracle.calls import Call
from refcoll.oracle.revealing.asking import Ask
from refcoll.oracle.revealing.orders import Orders, trees
from refcoll.oracle.revealing.trees import Tree
from refcoll.testing.values import dtype_named

EXACT = 10_000
"""For "more bits than could be told"."""
LADDERS = {
    "bfloat16": (8, 11, 24, 53, 64), "float16": (8, 11, 24, 39), "float32": (8, 11, 24, 53, 64),
    "float64": (24, 53, 64, 112),
}  # fmt: skip
"""k, for which sums are tried: also of fewer bits than the dtype has, as in compression."""


@dataclass(frozen=True)
class Edge:
    """From the inner node ``below`` to ``above``."""

    above: Tree
    below: Tree

    def inputs(self) -> tuple[int, int, int]:
        """Ranks a, b and c."""
        one, other = self.below.children[:2]
        beside = next(child for child in self.above.children if child is not self.below)
        return min(one.ranks), min(other.ranks), min(beside.ranks)


def edges(tree: Tree) -> list[Edge]:
    """Those between inner nodes."""
    return [Edge(v, child) for v in tree.nodes() for child in v.children if child.children]


Widths = Mapping[Tree, int]
"""By inner node, the root aside: bits of significand of its sum."""


def widths(ask: Ask, call: Call, size: int, found: Orders) -> dict[Tree, dict[Tree, int]]:
    """For every tree that was found, measured.  Calls: edges of a tree times about four, for
    each group of ranks that sum the same elements in different orders."""
    measured: dict[Tree, dict[Tree, int]] = {}
    for group in _groups(call, found):
        every = [tree for tree in trees(group) if tree not in measured]
        measured |= {tree: {} for tree in every}
        for number in range(max((len(edges(tree)) for tree in every), default=0)):
            probed = {tree: edges(tree)[number] for tree in every if number < len(edges(tree))}
            for tree, bits in _measured(ask, call, size, group, probed).items():
                measured[tree][probed[tree].below] = bits
    return measured


def _groups(call: Call, found: Orders) -> list[Orders]:
    """Ranks that can be asked at once, since they want the same inputs, or other elements."""
    if call.collective == "reduce_scatter":
        return [found]
    groups: list[Orders] = []
    for rank, stretches in found.items():
        same = (group for group in groups if stretches in group.values())
        home = next(same, None)
        if home is None:
            groups.append({rank: stretches})
        else:
            home[rank] = stretches
    return groups


def _measured(
    ask: Ask, call: Call, size: int, found: Orders, probed: Mapping[Tree, Edge]
) -> dict[Tree, int]:
    """Of one edge of each tree, how many bits cross it."""
    bits = dict.fromkeys(probed, EXACT)
    for k in LADDERS[call.dtype]:
        survives = _surviving(ask, call, size, found, probed, k)
        for tree in probed:
            if bits[tree] == EXACT and tree not in survives:
                bits[tree] = k
    return bits


def _surviving(
    ask: Ask, call: Call, size: int, found: Orders, probed: Mapping[Tree, Edge], k: int
) -> set[Tree]:
    """The trees on whose edges 1 + 2^-k is kept, in all elements."""
    one = 2.0**15 if call.dtype == "float16" else 1.0
    given = np.zeros((size, call.input_length(0, size)))
    for rank, stretches in found.items():
        offset = rank * call.count if call.collective == "reduce_scatter" else 0
        for each in stretches:
            if each.tree is not None and each.tree in probed:
                a, b, c = probed[each.tree].inputs()
                place = slice(offset + each.start, offset + each.stop)
                given[[a, b, c], place] = np.array([[one], [one * 2.0**-k], [-one]])
    return _kept(ask(call, list(given.astype(dtype_named(call.dtype))), 0), found, one * 2.0**-k)


def _kept(results: Sequence[Array | None], found: Orders, value: float) -> set[Tree]:
    lost: set[Tree] = set()
    kept: set[Tree] = set()
    for rank, stretches in found.items():
        result = results[rank]
        assert result is not None
        for each in stretches:
            if each.tree is not None:
                there = bool((result[each.start : each.stop].astype(np.float64) == value).all())
                (kept if there else lost).add(each.tree)
    return kept - lost
