"""Which algorithms of refcoll's library add in an order that was revealed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from refcoll.oracle.revealing.candidates import Candidate, candidates, laid
from refcoll.oracle.revealing.orders import Orders, sequence
from refcoll.oracle.revealing.relabelling import relabelling

T = TypeVar("T")
HOW = (
    "exactly",
    "in chunks cut elsewhere",
    "with ranks relabelled",
    "with ranks relabelled and chunks turned",
    "in chunks that lie otherwise",
)
"""Kinds of agreement, the best first: the same tree in every element; the same trees one after
another; the same one after another, when one permutation has renamed the ranks of all; and when,
besides, the chunks start elsewhere or go backwards, as in a ring that runs the other way; the
same trees, in whatever elements."""


@dataclass(frozen=True)
class Name:
    """An algorithm that agrees."""

    said: str
    """Its name, with the options with which it agrees."""
    how: str
    """Of ``HOW``."""
    relabelled: tuple[int, ...] | None = None
    """relabelled[r] is the rank that does what the algorithm has r do."""
    also_known_as: Mapping[str, str] = field(default_factory=dict)
    """By library."""


def names(collective: str, size: int, root: int, count: int, found: Orders) -> list[Name]:
    """All that agree, the best first; ``count`` as ``Call`` has it."""
    agreeing: dict[tuple[Any, ...], list[Candidate]] = {}
    for candidate in candidates(collective, size, root):
        how, order = _agreement(candidate, count, found)
        if how is not None:
            agreeing.setdefault((HOW.index(how), candidate.base, order), []).append(candidate)
    return [
        Name(_titled(those), HOW[how], order, those[0].also_known_as)
        for (how, _, order), those in sorted(agreeing.items(), key=lambda item: item[0][0])
    ]


def _titled(those: Sequence[Candidate]) -> str:
    options = [each.options for each in those if each.options]
    return those[0].base + (f" ({'; '.join(options)})" if options else "")


def _agreement(
    candidate: Candidate, count: int, found: Orders
) -> tuple[str | None, tuple[int, ...] | None]:
    wanted = {rank: [(e.start, e.stop, e.tree) for e in each] for rank, each in found.items()}
    placed = {rank: laid(candidate, rank, count) for rank in found}
    if placed == wanted:
        return HOW[0], None
    theirs = {rank: [tree for _, _, tree in each] for rank, each in placed.items()}
    ours = {rank: sequence(each) for rank, each in found.items()}
    if theirs == ours:
        return HOW[1], None
    one, other = _once(theirs), _once(ours)
    if order := relabelling(one, other):
        return HOW[2], order
    order = next(filter(None, (relabelling(turned, other) for turned in _turns(one))), None)
    if order:
        return HOW[3], order
    sets = [{rank: set(each) for rank, each in trees.items()} for trees in (theirs, ours)]
    return (HOW[4], None) if sets[0] == sets[1] else (None, None)


def _once(trees: Mapping[int, Sequence[T]]) -> Sequence[T]:
    """One rank's, where all have the same; else all, one after another."""
    first, *others = trees.values()
    if all(each == first for each in others):
        return first
    return [tree for each in trees.values() for tree in each]


def _turns(trees: Sequence[T]) -> Iterator[Sequence[T]]:
    """Starting elsewhere, and backwards."""
    for way in (trees, trees[::-1]):
        yield from ([*way[k:], *way[:k]] for k in range(len(way)))
