"""Which algorithms of refcoll's library add in an order that was revealed, the plainest first.

Several often do.  In front stands the one of which the fewest ranks do another one's part; of
such the best known; of such the one that agrees best.  So a ring that starts at another rank, or
runs the other way, comes before an algorithm that few know and that happens to have the same
order on so many ranks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from refcoll.oracle.revealing.agreeing import AS_IT_IS, Agreement, How, agreement
from refcoll.oracle.revealing.candidates import Candidate, candidates, laid
from refcoll.oracle.revealing.orders import Orders
from refcoll.oracle.revealing.trees import Tree
from refcoll.oracle.revealing.wording import in_short, in_words


@dataclass(frozen=True)
class Name:
    """An algorithm that agrees."""

    said: str
    """Its name, with the options with which it agrees."""
    agreement: Agreement
    first: Tree
    """Its own, of the first element that it has."""
    adds_alike: Mapping[str, str] = field(default_factory=dict)
    """By library, its names for what adds so; only where the algorithm agrees as it is."""

    @property
    def how(self) -> How:
        """In which way it agrees."""
        return self.agreement.how

    @property
    def short(self) -> str:
        """With how it agrees, unless it does exactly."""
        return in_short(self.said.partition(" (")[0], self.agreement)

    @property
    def words(self) -> str:
        """How it agrees, at length."""
        return in_words(self.agreement, self.first)


def names(collective: str, size: int, root: int, count: int, found: Orders) -> list[Name]:
    """All that agree, the plainest first; ``count`` as ``Call`` has it."""
    tried = candidates(collective, size, root)
    options = Counter(each.base for each in tried)
    agreeing: dict[tuple[str, Agreement], list[Candidate]] = {}
    for candidate in tried:
        placed = {rank: laid(candidate, rank, count) for rank in found}
        if (how := agreement(placed, found)) is not None:
            agreeing.setdefault((candidate.base, how), []).append(candidate)
    ordered = sorted(agreeing.items(), key=lambda item: _plainness(item[0][1], item[1][0]))
    return [
        _name(those, how, _titled(those, options[base]), _first(those[0], count, found))
        for (base, how), those in ordered
    ]


def _name(those: Sequence[Candidate], how: Agreement, said: str, first: Tree) -> Name:
    return Name(said, how, first, those[0].adds_alike if how.how in AS_IT_IS else {})


def _plainness(how: Agreement, of: Candidate) -> tuple[bool, int, int, int]:
    """Less is plainer."""
    best_first = list(How).index(how.how)
    return how.how is How.ANYWHERE, how.moved, of.familiarity, best_first


def _titled(those: Sequence[Candidate], tried: int) -> str:
    """With the options that agree, if not all do that were tried."""
    options = [each.options for each in those if each.options]
    if not options:
        return those[0].base
    what = options[0].partition("=")[0] if "=" in options[0] else "nodes"
    alike = f"any {what}" if len(options) == tried > 1 else "; ".join(options)
    return f"{those[0].base} ({alike})"


def _first(candidate: Candidate, count: int, found: Orders) -> Tree:
    return next(tree for rank in found for _, _, tree in laid(candidate, rank, count))
