"""Which elements of the results have which tree, in one series of masked calls."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Any, TypeAlias

import numpy as np

from refcoll.oracle.calls import Call
from refcoll.oracle.revealing.asking import Ask
from refcoll.oracle.revealing.masks import NoTree, counted, mask, pairs, tree_of
from refcoll.oracle.revealing.trees import Tree

Counts: TypeAlias = np.ndarray[Any, np.dtype[np.int16]]


@dataclass(frozen=True)
class Stretch:
    """Neighbouring elements of one rank's result with the same order."""

    start: int
    stop: int
    tree: Tree | None
    """None where there is none."""
    said: str = ""
    """Why there is none."""


Orders: TypeAlias = dict[int, list[Stretch]]
"""By rank that gets a result."""


def members(call: Call, rank: int, size: int) -> range:
    """Whose values are in the rank's result."""
    return range({"scan": rank + 1, "exscan": rank}.get(call.collective, size))


def tables(
    ask: Ask, call: Call, size: int, shift: int = 0, swapped: bool = False
) -> dict[int, Counts]:
    """By rank with a result: what each pair (a row) leaves over in each element (a column).

    N (N - 1) / 2 calls.
    """
    found: dict[int, list[Counts]] = {}
    length = call.input_length(0, size)
    for i, j in pairs(size):
        results = ask(call, mask(i, j, size, length, call.dtype, swapped), shift)
        for rank, result in enumerate(results):
            if result is not None:
                found.setdefault(rank, []).append(counted(result, size, call.dtype))
    return {rank: np.stack(rows) for rank, rows in found.items()}


def orders(call: Call, size: int, found: dict[int, Counts]) -> Orders:
    """The trees that the tables are of."""
    known: dict[tuple[bytes, int], Stretch] = {}
    return {
        rank: list(_stretches(counts, size, members(call, rank, size), known))
        for rank, counts in found.items()
    }


def _stretches(
    counts: Counts, size: int, of: range, known: dict[tuple[bytes, int], Stretch]
) -> Iterable[Stretch]:
    length = counts.shape[1]
    changes = np.flatnonzero((counts[:, 1:] != counts[:, :-1]).any(axis=0)) + 1
    edges = [0, *map(int, changes), length] if length else [0]
    for start, stop in pairwise(edges):
        column = counts[:, start]
        key = column.tobytes(), len(of)
        if key not in known:
            known[key] = _ordered(column, size, of)
        yield Stretch(start, stop, known[key].tree, known[key].said)


def _ordered(column: Counts, size: int, of: range) -> Stretch:
    left = dict(zip(pairs(size), map(int, column), strict=True))
    together = {
        (i, j): len(of) - count if count >= 0 else 0
        for (i, j), count in left.items()
        if i in of and j in of
    }
    try:
        return Stretch(0, 0, tree_of(of, together))
    except NoTree as why:
        return Stretch(0, 0, None, str(why))


def differing(one: dict[int, Counts], other: dict[int, Counts]) -> int:
    """In how many elements, over all ranks, two series of calls do not leave the same."""
    return sum(int((one[rank] != other[rank]).any(axis=0).sum()) for rank in one)


def sequence(stretches: Sequence[Stretch]) -> list[Tree | None]:
    """The trees, each once as long as it goes on."""
    return [tree for tree, _ in groupby(each.tree for each in stretches)]


def same_order(one: Orders, other: Orders) -> bool:
    """Whether two counts have the same trees one after another, but for chunks that are empty."""
    return all(_alike(*sorted((one[r], other[r]), key=_length)) for r in one)


def _length(stretches: Sequence[Stretch]) -> int:
    return stretches[-1].stop if stretches else 0


def _alike(short: Sequence[Stretch], long: Sequence[Stretch]) -> bool:
    """Of C chunks of ceil(n / C) elements each none is empty from n = C (C - 1) on; before,
    those of the short vector must be among those of the long one, in this order."""
    few, many = sequence(short), sequence(long)
    if _length(short) >= len(many) * (len(many) - 1):
        return few == many
    rest = iter(many)
    return all(tree in rest for tree in few)


def trees(found: Orders) -> list[Tree]:
    """All different ones, in the order in which they are met."""
    every = (each.tree for stretches in found.values() for each in stretches)
    return list(dict.fromkeys(tree for tree in every if tree is not None))
