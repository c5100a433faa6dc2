"""How an algorithm's order agrees with one that was revealed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeAlias, TypeVar

from refcoll.oracle.revealing.orders import Orders, sequence
from refcoll.oracle.revealing.relabelling import plainest, reflections, renamed, rotations
from refcoll.oracle.revealing.trees import Tree

T = TypeVar("T")
Laid: TypeAlias = Mapping[int, Sequence[tuple[int, int, Tree]]]
"""By rank: start, stop and tree of each stretch of its result."""


class How(StrEnum):
    """Kinds of agreement, of which the first is the best."""

    EXACTLY = "exactly"
    """The same tree in every element."""
    CUT_ELSEWHERE = "in chunks cut elsewhere"
    """The same trees one after another."""
    STARTED = "started at another rank"
    """Of an algorithm that treats all ranks alike, such as a ring: from another chunk on, as if
    its ranks stood elsewhere on the ring."""
    OTHER_WAY = "run the other way"
    """Of such an algorithm: with its ranks and chunks backwards."""
    TURNED = "with chunks turned"
    """From another chunk on, or backwards."""
    RELABELLED = "with ranks relabelled"
    """The same trees one after another, when one permutation has renamed the ranks of all."""
    BOTH = "with ranks relabelled and chunks turned"
    ANYWHERE = "in chunks that lie otherwise"
    """The same trees, in whatever elements."""


AS_IT_IS = (How.EXACTLY, How.CUT_ELSEWHERE)
"""With the algorithm's own ranks and order of chunks."""


@dataclass(frozen=True)
class Agreement:
    """In what the two are alike, and in what they are not."""

    how: How
    relabelled: tuple[int, ...] | None = None
    """relabelled[r] is the rank that does what the algorithm has r do."""
    turned: tuple[int, ...] | None = None
    """Stretch i has the tree that the algorithm has in stretch turned[i]."""

    @property
    def moved(self) -> int:
        """How many ranks do another one's part; none where it is all the same who does which."""
        if self.relabelled is None or self.how in (How.STARTED, How.OTHER_WAY):
            return 0
        return sum(rank != other for rank, other in enumerate(self.relabelled))


def agreement(theirs: Laid, found: Orders) -> Agreement | None:
    """The best there is between an algorithm and what was revealed; None if there is none."""
    ours = {rank: [(e.start, e.stop, e.tree) for e in each] for rank, each in found.items()}
    if theirs == ours:
        return Agreement(How.EXACTLY)
    trees = {rank: [tree for _, _, tree in each] for rank, each in theirs.items()}
    wanted = {rank: sequence(each) for rank, each in found.items()}
    if trees == wanted:
        return Agreement(How.CUT_ELSEWHERE)
    return _one_way_or_another(_once(trees), _once(wanted)) or _anywhere(trees, wanted)


def _one_way_or_another(theirs: Sequence[Tree], ours: Sequence[Tree | None]) -> Agreement | None:
    """Turned, relabelled, or both."""
    for turn in _turns(len(theirs)):
        if _in_turn(theirs, turn) == ours:
            started = next((p for p in rotations(theirs) if renamed(theirs, p) == ours), None)
            return Agreement(How.STARTED if started else How.TURNED, started, turn)
    if order := plainest(theirs, ours):
        return Agreement(How.RELABELLED, order)
    both = [
        Agreement(How.BOTH, order, turn)
        for turn in _turns(len(theirs))
        if (order := plainest(_in_turn(theirs, turn), ours))
    ]
    best = min(both, key=lambda each: (each.moved, each.relabelled or ()), default=None)
    if best and best.relabelled in reflections(theirs) and _all_alike(theirs):
        return replace(best, how=How.OTHER_WAY)
    return best


def _all_alike(theirs: Sequence[Tree]) -> bool:
    """Whether it is all the same which rank stands where: moving all on by one turns chunks."""
    moved_on = renamed(theirs, rotations(theirs)[0])
    return any(_in_turn(theirs, turn) == moved_on for turn in _turns(len(theirs)))


def _in_turn(trees: Sequence[Tree], turn: Sequence[int]) -> list[Tree]:
    return [trees[i] for i in turn]


def _anywhere(
    theirs: Mapping[int, Sequence[Tree]], ours: Mapping[int, Sequence[Tree | None]]
) -> Agreement | None:
    sets = [{rank: set(each) for rank, each in trees.items()} for trees in (theirs, ours)]
    return Agreement(How.ANYWHERE) if sets[0] == sets[1] else None


def _once(trees: Mapping[int, Sequence[T]]) -> Sequence[T]:
    """One rank's, where all have the same; else all, one after another."""
    first, *others = trees.values()
    if all(each == first for each in others):
        return first
    return [tree for each in trees.values() for tree in each]


def _turns(many: int) -> Iterator[tuple[int, ...]]:
    """Starting elsewhere, and backwards."""
    places = tuple(range(many))
    for way in (places, places[::-1]):
        yield from (turned for k in range(many) if (turned := way[k:] + way[:k]) != places)
