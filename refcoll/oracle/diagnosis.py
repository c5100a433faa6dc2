"""From wrong values to what went wrong, in words.

Each hypothesis is a function that says, of one rank, what explains all its wrong elements, or
None.  They are asked in order, the most telling first.  What remains is asked of the
implementation, with inputs that tell ranks apart (``contributors``); what still remains may be
rounding, whose bounds are so wide that it comes last.  Ranks with the same answer are put
together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from refcoll.oracle.contributors import contributed
from refcoll.oracle.evidence import Evidence
from refcoll.oracle.forms import FORMS
from refcoll.oracle.leftovers import LEFTOVERS, stale_inputs
from refcoll.oracle.losses import LOSSES, ROUNDINGS
from refcoll.oracle.meanings import MEANINGS, infinities, nan_rules
from refcoll.oracle.movements import MOVEMENTS, elsewhere
from refcoll.words import spans

__all__ = ["Evidence", "Hypothesis", "diagnosed"]

Hypothesis = Callable[[Evidence, int], str | None]

MERGED: Sequence[Hypothesis] = (
    nan_rules, infinities, *LEFTOVERS, *MOVEMENTS, *LOSSES, *MEANINGS, *FORMS,
)  # fmt: skip
MOVED: Sequence[Hypothesis] = (*LEFTOVERS, *MOVEMENTS, *FORMS, elsewhere)
AT_LAST: Sequence[Hypothesis] = (stale_inputs, *ROUNDINGS, elsewhere)
"""Of what is merged, when it is known that nobody's contribution is missing or doubled."""


def diagnosed(evidence: Evidence) -> str:
    """What explains the wrong elements of all ranks.  Collective: it may ask again."""
    merges = evidence.call.op is not None
    first = MERGED if merges else MOVED
    said = {rank: _explained(evidence, rank, first) for rank in evidence.wrong}
    if any(each is None for each in said.values()):
        asked = contributed(evidence)  # on all ranks, whichever of them it is needed for
        last = AT_LAST if merges else ()
        said = {
            rank: each or asked.get(rank) or _explained(evidence, rank, last) or _plain(evidence, rank)
            for rank, each in said.items()
        }
    groups: dict[str, list[int]] = {}
    for rank, each in said.items():
        groups.setdefault(str(each), []).append(rank)
    shown = [f"{_on(ranks, evidence)} {words}" for words, ranks in list(groups.items())[:4]]
    rest = len(groups) - len(shown)
    return "; ".join([*shown, f"and {rest} more"] if rest else shown)


def _explained(evidence: Evidence, rank: int, hypotheses: Sequence[Hypothesis]) -> str | None:
    said = (each(evidence, rank) for each in hypotheses)
    return next((words for words in said if words is not None), None)


def _plain(evidence: Evidence, rank: int) -> str:
    """What is there, and what should be, when nothing explains it."""
    places = evidence.wrong[rank]
    place = int(places[0])
    return (
        f"{evidence.where(places)} wrong, the first is {evidence.got(rank)[place]!r} and should be "
        f"{evidence.wanted(rank)[place]!r}"
    )


def _on(ranks: Sequence[int], evidence: Evidence) -> str:
    if len(ranks) == evidence.size > 1:
        return "on all ranks:"
    return f"on rank{'s' if len(ranks) > 1 else ''} {spans(ranks)}:"
