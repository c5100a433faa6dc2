"""From wrong values to what went wrong, in words.

Each hypothesis is a function that says, of one rank, what explains all its wrong elements, or
None.  They are asked in order, the most telling first.  What remains is asked of the
implementation, with inputs that tell ranks apart (``contributors``); what still remains may be
rounding, whose bounds are so wide that it comes last.  Ranks with the same answer are put
together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from refcoll.operators import Array
from refcoll.oracle.diagnosing.absent import absent
from refcoll.oracle.diagnosing.contributors import contributed
from refcoll.oracle.diagnosing.evidence import Evidence
from refcoll.oracle.diagnosing.forms import FORMS, flipped_bit, not_a_bool
from refcoll.oracle.diagnosing.halves import one_part
from refcoll.oracle.diagnosing.integers import INTEGERS, low_bits_right
from refcoll.oracle.diagnosing.leftovers import LEFTOVERS, stale_inputs
from refcoll.oracle.diagnosing.losses import LOSSES
from refcoll.oracle.diagnosing.meanings import MEANINGS, saturated, signedness
from refcoll.oracle.diagnosing.movements import MOVEMENTS, elsewhere
from refcoll.oracle.diagnosing.offsets import OFFSETS
from refcoll.oracle.diagnosing.passing import changed_on_the_way
from refcoll.oracle.diagnosing.retyped import retyped
from refcoll.oracle.diagnosing.rounding import ROUNDINGS
from refcoll.oracle.diagnosing.sparse import small_left_out
from refcoll.oracle.diagnosing.specials import infinities, nan_rules, starting_value, zeros_left_out
from refcoll.oracle.diagnosing.strides import other_stride
from refcoll.oracle.diagnosing.views import VIEWS
from refcoll.oracle.guarded import poisoned
from refcoll.words import ranked

__all__ = ["Evidence", "Hypothesis", "diagnosed"]

Hypothesis = Callable[[Evidence, int], str | None]

MERGED: Sequence[Hypothesis] = (
    not_a_bool, nan_rules, zeros_left_out, infinities, signedness, saturated, retyped,
    starting_value, *VIEWS, *LEFTOVERS, *MOVEMENTS, flipped_bit, *LOSSES, *INTEGERS, *MEANINGS,
    *FORMS,
)  # fmt: skip
MOVED: Sequence[Hypothesis] = (
    *VIEWS, *LEFTOVERS, *MOVEMENTS, *FORMS, other_stride, elsewhere,
)  # fmt: skip
AT_LAST: Sequence[Hypothesis] = (
    absent, one_part, stale_inputs, *OFFSETS, low_bits_right, small_left_out, *ROUNDINGS, elsewhere,
)  # fmt: skip
"""Of what is merged, when it is known that nobody's contribution is missing or doubled."""


def diagnosed(evidence: Evidence) -> str:
    """What explains the wrong elements of all ranks.  Collective: it may ask again."""
    with np.errstate(all="ignore"):
        said = _said(evidence)
    groups: dict[str, list[int]] = {}
    for rank, each in said.items():
        groups.setdefault(each, []).append(rank)
    shown = [f"{_on(ranks, evidence)} {words}" for words, ranks in list(groups.items())[:4]]
    rest = len(groups) - len(shown)
    return "; ".join([*shown, f"and {rest} more"] if rest else shown)


def _said(evidence: Evidence) -> dict[int, str]:
    """By rank."""
    apart = {rank: _unwritten_apart(evidence, rank) for rank in evidence.wrong}
    rest = evidence.without({rank: places for rank, (_, places) in apart.items()})
    merges = evidence.call.op is not None
    said = {r: _explained(rest, r, MERGED if merges else MOVED) for r in rest.wrong}
    for ask in (contributed, changed_on_the_way) if merges else ():
        if None in said.values():
            asked = ask(rest)  # on all ranks, whichever of them it is needed for
            said = {r: each or asked.get(r) for r, each in said.items()}
    if merges:
        said = {r: each or _explained(rest, r, AT_LAST) for r, each in said.items()}
    words = {r: each or _plain(rest, r) for r, each in said.items()}
    return {
        rank: "; ".join(each for each in (first, words.get(rank)) if each)
        for rank, (first, _) in apart.items()
    }


def _unwritten_apart(evidence: Evidence, rank: int) -> tuple[str | None, Array]:
    """What was never written says nothing of why the rest is wrong."""
    places = evidence.wrong[rank]
    left = places[poisoned(evidence.got(rank)[places])]
    by_chance = len(places) / 256.0 ** evidence.got(rank).itemsize
    if len(left) <= 4 * by_chance or len(left) == len(places):
        return None, left[:0]
    return f"{evidence.where(left)} not written at all", left


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
    return f"on {ranked(ranks)}:"
