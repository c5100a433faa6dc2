"""From wrong values to what went wrong, in words.

Each hypothesis is a function that says, of one rank, what explains all its wrong elements, or
None.  They are asked in order, the most telling first; ranks with the same answer are put
together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from refcoll.oracle.contributors import contributed
from refcoll.oracle.evidence import Evidence
from refcoll.oracle.meanings import MEANINGS, nan_rules, signedness
from refcoll.oracle.movements import MOVEMENTS
from refcoll.words import spans

__all__ = ["Evidence", "Hypothesis", "diagnosed"]

Hypothesis = Callable[[Evidence, int], str | None]

HYPOTHESES: Sequence[Hypothesis] = (nan_rules, signedness, *MOVEMENTS, *MEANINGS)
"""The last resort, asking the implementation again, is ``contributors``."""


def diagnosed(evidence: Evidence) -> str:
    """What explains the wrong elements of all ranks.  Collective: it may ask again."""
    said = {rank: _explained(evidence, rank) for rank in evidence.wrong}
    if any(each is None for each in said.values()):
        asked = contributed(evidence)  # on all ranks, whichever of them it is needed for
        said = {
            rank: each or asked.get(rank) or _plain(evidence, rank) for rank, each in said.items()
        }
    groups: dict[str, list[int]] = {}
    for rank, each in said.items():
        groups.setdefault(str(each), []).append(rank)
    return "; ".join(f"{_on(ranks, evidence)} {words}" for words, ranks in list(groups.items())[:4])


def _explained(evidence: Evidence, rank: int) -> str | None:
    return next((words for each in HYPOTHESES if (words := each(evidence, rank)) is not None), None)


def _plain(evidence: Evidence, rank: int) -> str:
    """What is there, and what should be, when nothing explains it."""
    places = evidence.wrong[rank]
    place = int(places[0])
    return (
        f"{evidence.where(places)} wrong, the first is {evidence.got(rank)[place]!r} and should be "
        f"{evidence.wanted(rank)[place]!r}"
    )


def _on(ranks: Sequence[int], evidence: Evidence) -> str:
    if len(ranks) == evidence.size:
        return "on all ranks:"
    return f"on rank{'s' if len(ranks) > 1 else ''} {spans(ranks)}:"
