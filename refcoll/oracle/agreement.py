"""Do ranks, and calls, agree with each other, whatever is right?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from refcoll.operators import Array
from refcoll.oracle.calls import CONTIGUOUS, Call
from refcoll.words import ranked

AGREEING = ("all_reduce", "broadcast", "all_gather")
"""All ranks get the same."""
Record = dict[str, Any]
"""What a rank says of a run: see ``run.Seen.said``."""


def groups(run: Sequence[Record], key: str) -> dict[str, list[int]]:
    """Ranks by what they say; None is nothing said."""
    found: dict[str, list[int]] = {}
    for rank, each in enumerate(run):
        if each[key] is not None:
            found.setdefault(each[key], []).append(rank)
    return found


def parted(ranks: Sequence[Sequence[int]], values: Sequence[Array | None]) -> str:
    """Which ranks have which bits, and where, with one element as an example."""
    some = [value for value in (values[each[0]] for each in ranks) if value is not None]
    width = some[0].dtype.itemsize
    raw = [np.ascontiguousarray(x).view(np.uint8).reshape(-1, width) for x in some]
    differ = np.flatnonzero(np.any([(x != raw[0]).any(axis=1) for x in raw[1:]], axis=0))
    place = int(differ[0])
    said = ", ".join(
        f"{ranked(each)}: {x[place]!s}" for each, x in zip(ranks[:4], some[:4], strict=True)
    )
    return (
        f"the ranks have not the same bits: they differ in {len(differ)} of {some[0].size} "
        f"elements; element {place} is, on {said}"
    )


@dataclass
class NaNRules:
    """By which rule NaN went in earlier calls: those that differ in root, place and layout only
    are to go by the same."""

    known: dict[Call, tuple[frozenset[str], Call]] = field(default_factory=dict)

    def broken(self, call: Call, runs: Iterable[Sequence[Record]]) -> str | None:
        """How ranks, runs or calls go by different rules, each of which alone would be right."""
        common: frozenset[str] | None = None
        for run in runs:
            rules = [frozenset(each["rules"]) for each in run if each["rules"] is not None]
            if not rules:
                return None
            if not (fitting := frozenset.intersection(*rules)):
                return _by_rank(run)
            if common is not None and not common & fitting:
                return f"a NaN {_one(common)} in one call, and {_one(fitting)} in the next"
            common = fitting if common is None else common & fitting
        return None if common is None else self._by_call(call, common)

    def _by_call(self, call: Call, common: frozenset[str]) -> str | None:
        alike = replace(call, root=0, in_place=False, layout=CONTIGUOUS)
        before, first = self.known.get(alike, (common, call))
        if not before & common:
            return f"a NaN {_one(common)}, but {_one(before)} in {first}"
        # What fits both rules tells nothing: the call that tells is the one to name.
        self.known[alike] = (before & common, call if len(common) < len(before) else first)
        return None


def _by_rank(run: Sequence[Record]) -> str:
    """Ranks whose results tell by which rule they go."""
    by_rule: dict[str, list[int]] = {}
    for rank, each in enumerate(run):
        if each["rules"] is not None and len(each["rules"]) == 1:
            by_rule.setdefault(each["rules"][0], []).append(rank)
    said = ", ".join(f"it {rule} on {ranked(ranks)}" for rule, ranks in by_rule.items())
    return f"NaN goes by another rule on each side: {said}"


def _one(rules: frozenset[str]) -> str:
    return min(rules)
