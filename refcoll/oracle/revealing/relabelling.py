"""Is one list of trees another one with its ranks renamed, by one permutation for all?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from refcoll.oracle.revealing.trees import Tree, shape, together

_MOST = 200_000
"""Steps after which the search gives up: then none is known."""
Meetings = dict[tuple[int, int], tuple[int, ...]]
"""For i < j, in each tree, how many ranks are in the smallest subtree that holds both."""


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
        self._fitting = {r: [s for s in ranks if kinds[1][s] == kinds[0][r]] for r in ranks}

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


def _kinds(table: Meetings, ranks: Sequence[int]) -> dict[int, Counter[tuple[int, ...]]]:
    """How a rank meets all others, whoever they are."""
    return {r: Counter(_at(table, r, s) for s in ranks if s != r) for r in ranks}
