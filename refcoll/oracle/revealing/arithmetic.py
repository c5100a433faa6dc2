"""How sums along a tree are rounded: what was measured, and what else has the same masks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import fsum

import numpy as np

from refcoll.operators import Array
from refcoll.oracle.revealing.masks import MASKS
from refcoll.oracle.revealing.precision import EXACT, LADDERS, Widths
from refcoll.oracle.revealing.trees import Tree, chain
from refcoll.testing.values import dtype_named

BITS = {8: "bfloat16", 11: "float16", 24: "float32", 53: "float64", 64: "80-bit long double"}
"""Bits of significand, the leading one included."""


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
    return BITS.get(bits, f"more than {LADDERS[dtype][-1]} bits" if bits == EXACT else "neither")


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
