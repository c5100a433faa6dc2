"""Is one list of trees another one with its ranks renamed, by one permutation for all?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from operator import ne

from refcoll.oracle.revealing.trees import Tree, leaf, node, shape, together

_MOST = 200_000
"""Steps after which the search gives up: then none is known."""
Meetings = dict[tuple[int, int], tuple[int, ...]]
"""For i < j, in each tree, how many ranks are in the smallest subtree that holds both."""
Kinds = dict[int, Counter[tuple[int, ...]]]
"""How a rank meets all others, whoever they are."""


def renamed(trees: Sequence[Tree], order: Sequence[int]) -> list[Tree]:
    """With rank order[r] in place of rank r."""
    return [
        tree.fold(lambda rank: leaf(order[rank]), lambda of, parts: node(parts, of.exact))
        for tree in trees
    ]


def rotations(trees: Sequence[Tree]) -> list[tuple[int, ...]]:
    """All ranks moved on, by one, by two, ...: of trees that hold all of them."""
    size = _size(trees)
    return [tuple((rank + by) % size for rank in range(size)) for by in range(1, size)]


def reflections(trees: Sequence[Tree]) -> list[tuple[int, ...]]:
    """All ranks in the opposite order, from any of them on."""
    size = _size(trees)
    return [tuple((last - rank) % size for rank in range(size)) for last in range(size)]


def _size(trees: Sequence[Tree]) -> int:
    """How many ranks each of them holds; none where they do not all hold the same, as in a scan."""
    held = {tree.ranks for tree in trees}
    return len(trees[0].ranks) if len(held) == 1 else 0


def plainest(theirs: Sequence[Tree], ours: Sequence[Tree | None]) -> tuple[int, ...] | None:
    """The relabelling that is said in the fewest words; None where there is none."""
    found = relabelling(theirs, ours)
    if found is None:
        return None
    short = (p for p in rotations(theirs) + reflections(theirs) if renamed(theirs, p) == ours)
    return next(short, found)


def relabelling(
    theirs: Sequence[Tree], ours: Sequence[Tree | None]
) -> tuple[int, ...] | None:  # fmt: skip
    """Permutation p such that rank p[r] of ours does what rank r does in theirs; or None.

    A tree is known by where pairs of ranks meet, so that this is a search for a permutation
    that keeps a table; ranks that meet others in different ways are never tried for each other.
    """
    known = [tree for tree in ours if tree is not None]
    if len(theirs) != len(ours) or list(map(shape, theirs)) != list(map(shape, known)):
        return None
    ranks = frozenset().union(*(tree.ranks for tree in theirs))
    if any(tree.ranks != ranks for tree in [*theirs, *known]):
        return None  # of a scan, whose results hold different ranks
    return _Search(_meetings(theirs), _meetings(known), sorted(ranks)).found()


def _meetings(trees: Sequence[Tree]) -> Meetings:
    tables = [together(tree) for tree in trees]
    return {pair: tuple(table[pair] for table in tables) for pair in tables[0]}


class _Search:
    def __init__(self, theirs: Meetings, ours: Meetings, ranks: Sequence[int]) -> None:
        self._theirs, self._ours, self._ranks = theirs, ours, ranks
        self._left = _MOST
        kinds = [_kinds(table, ranks) for table in (theirs, ours)]
        self._fitting = {r: self._alike(r, *kinds) for r in ranks}

    def _alike(self, rank: int, theirs: Kinds, ours: Kinds) -> list[int]:
        """Who may do the rank's part: itself first, so that few are moved."""
        return sorted((s for s in self._ranks if ours[s] == theirs[rank]), key=partial(ne, rank))

    def found(self) -> tuple[int, ...] | None:
        return self._extended([])

    def _extended(self, chosen: list[int]) -> tuple[int, ...] | None:
        """``chosen`` are the ranks that take the places of the first ones."""
        self._left -= 1
        if len(chosen) == len(self._ranks):
            return tuple(chosen)
        for rank in self._fitting[self._ranks[len(chosen)]]:
            if self._left > 0 and rank not in chosen and self._fits(chosen, rank):
                whole = self._extended([*chosen, rank])
                if whole is not None:
                    return whole
        return None

    def _fits(self, chosen: Sequence[int], rank: int) -> bool:
        place = self._ranks[len(chosen)]
        return all(
            _at(self._theirs, before, place) == _at(self._ours, taken, rank)
            for before, taken in zip(self._ranks, chosen, strict=False)
        )


def _at(table: Meetings, i: int, j: int) -> tuple[int, ...]:
    return table[min(i, j), max(i, j)]


def _kinds(table: Meetings, ranks: Sequence[int]) -> Kinds:
    return {r: Counter(_at(table, r, s) for s in ranks if s != r) for r in ranks}
