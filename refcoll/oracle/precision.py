"""In which precision partial sums are kept, from results alone, and what follows from it.

For an inner node v of the tree, below p: rank a, on one side of v, puts in 1; rank b, on its
other side, 2^-k; rank c, on the other side of p, -1; all others 0.  What is left is 2^-k if v's
sum is kept in more than k bits of significand, and 0 if it is rounded to k bits or fewer: 1 + 2^-k
lies half-way between two numbers of k bits, and goes to the even one, 1.  So every edge of the
tree tells how many bits cross it.  (float16 cannot hold 1 and 2^-39: there 1 stands for 2^15.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import fsum

import numpy as np

from refcoll.operators import Array
from refcoll.oracle.calls import Call
from refcoll.oracle.reveal_asking import Ask
from refcoll.oracle.reveal_masks import MASKS
from refcoll.oracle.reveal_orders import Orders, trees
from refcoll.oracle.trees import Tree, chain
from refcoll.testing.values import dtype_named

BITS = {8: "bfloat16", 11: "float16", 24: "float32", 53: "float64", 64: "80-bit long double"}
"""Bits of significand, the leading one included."""
EXACT = 10_000
"""For "more bits than could be told"."""
_LADDERS = {
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
    for k in _LADDERS[call.dtype]:
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


# ---- what follows ------------------------------------------------------------------------


Predict = Callable[[Tree, Mapping[int, Array]], Array]
"""The sum, to the bit, of every element, from the ranks' values."""


@dataclass(frozen=True)
class Arithmetic:
    """How sums along a tree are rounded."""

    said: str
    predict: Predict = field(compare=False)


def arithmetics(
    dtype: str, measured: Mapping[Tree, Widths]
) -> Iterator[Arithmetic]:  # fmt: skip
    """What the measured widths mean, and then what else would have the same masks."""

    def along(tree: Tree, values: Mapping[int, Array]) -> Array:
        return _along(tree, values, measured.get(tree, {}), dtype)

    yield Arithmetic(said(dtype, measured), along)
    if all(chain(tree) for tree in measured):
        for first in (0, 1):
            yield Arithmetic("added one by one with Kahan's compensation", _Kahan(first))
    yield Arithmetic("the exact sum, rounded once", exactly)


def said(dtype: str, measured: Mapping[Tree, Widths]) -> str:
    """The widths in words."""
    if any(node.exact for tree in measured for node in tree.nodes()):
        return f"nothing is lost within a sum: it is exact, and rounded once to {dtype}"
    bits = {each for tree in measured.values() for each in tree.values()}
    own = MASKS[dtype][2]
    if not bits:
        return f"there are no partial sums to be told from the result, which is {dtype}"
    if bits == {own}:
        return f"every partial sum is rounded to {dtype}"
    if len(bits) == 1:
        return f"partial sums are kept in {_named(min(bits), dtype)}, and rounded once, to {dtype}"
    parts = []
    for each in sorted(bits):
        where = dict.fromkeys(
            str(v) for tree in measured.values() for v, n in tree.items() if n == each
        )
        few = ", ".join(list(where)[:4]) + (", ..." if len(where) > 4 else "")
        parts.append(f"{few} kept in {_named(each, dtype)}")
    return "; ".join(parts)


def _named(bits: int, dtype: str) -> str:
    return BITS.get(bits, f"more than {_LADDERS[dtype][-1]} bits" if bits == EXACT else "neither")


def _along(tree: Tree, values: Mapping[int, Array], at: Widths, dtype: str) -> Array:
    """Each node in the widest of what meets there, then rounded to what leaves it.

    What keeps fewer bits than the dtype has is taken to send its inputs so, too.
    """
    own = dtype_named(dtype)
    narrow = min([*at.values(), MASKS[dtype][2]])

    def merge(node: Tree, parts: list[Array]) -> Array:
        leaving = own if node == tree else _dtype(at.get(node, narrow), dtype)
        if node.exact or len(parts) > 2:
            return _summed(parts).astype(leaving)
        wide = max([*parts, np.empty(0, leaving)], key=lambda part: part.dtype.itemsize).dtype
        with np.errstate(all="ignore"):
            summed: Array = parts[0].astype(wide) + parts[1].astype(wide)
            return summed.astype(leaving)

    sent = _dtype(narrow, dtype)
    total: Array = tree.fold(lambda rank: values[rank].astype(sent), merge)
    return total.astype(sent).astype(own)


def _dtype(bits: int, own: str) -> np.dtype[np.generic]:
    if bits == MASKS[own][2]:
        return dtype_named(own)
    if bits > 53 and own in ("float32", "float64"):
        return np.dtype(np.longdouble)
    return dtype_named({8: "bfloat16", 11: "float16", 24: "float32"}.get(bits, "float64"))


def _summed(parts: Sequence[Array]) -> Array:
    columns = np.stack([part.astype(np.float64) for part in parts]).T
    return np.array([fsum(column) for column in columns], np.float64)


def exactly(tree: Tree, values: Mapping[int, Array]) -> Array:
    """The exact sum, rounded once."""
    parts = [values[rank] for rank in sorted(tree.ranks)]
    return _summed(parts).astype(parts[0].dtype)


class _Kahan:
    """Kahan's sum (Further remarks on reducing truncation errors, 1965), in the chain's order."""

    def __init__(self, first: int) -> None:
        self._first = first

    def __call__(self, tree: Tree, values: Mapping[int, Array]) -> Array:
        ranks = chain(tree)
        assert ranks is not None
        if self._first:
            ranks[:2] = ranks[1::-1]
        total = values[ranks[0]]
        lost = np.zeros_like(total)
        with np.errstate(all="ignore"):
            for rank in ranks[1:]:
                corrected = values[rank] - lost
                new = total + corrected
                lost = (new - total) - corrected
                total = new
        return total
