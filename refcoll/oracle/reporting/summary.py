"""Counts and what is not supported, with nothing in it that is not there: for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from refcoll.oracle.calls import COLLECTIVES
from refcoll.oracle.reporting.report import OUTCOMES, Report
from refcoll.words import counted, listed

_ALWAYS = ("right", "failed")
_ABSENT = "there is no "
_REASONS = 5


def counts(report: Report) -> dict[str, dict[str, int]]:
    """By collective, how many calls had which outcome; of those that were asked for."""
    found = {}
    for collective in COLLECTIVES:
        of = report.outcomes(collective)
        if of.total():
            found[collective] = {"calls": of.total(), **{each: of[each] for each in OUTCOMES}}
    return found


def counts_tried(report: Report) -> tuple[tuple[str, ...], list[list[str]]]:
    """Header and rows: only collectives of which something was tried, and outcomes that occur."""
    tried = {name: of for name, of in counts(report).items() if of["unsupported"] < of["calls"]}
    kept = [each for each in OUTCOMES if each in _ALWAYS or any(of[each] for of in tried.values())]
    rows = [[name, *(str(of[each]) for each in ("calls", *kept))] for name, of in tried.items()]
    return ("collective", "calls", *kept), rows


def verdicts_failed(report: Report) -> list[list[str]]:
    """Rows: verdicts in which any call fails, and how many do."""
    return [[name, str(times)] for name, times in report.verdicts().items() if times]


def not_supported(report: Report) -> str | None:
    """What was not tried, and why, in a line; None where all was."""
    reasons = Counter(each.skipped for each in report.judgements if each.skipped)
    if not reasons:
        return None
    said = listed(list(_reasons(reasons)), _REASONS)
    return f"not supported: {counted(reasons.total(), 'call')}: {said}"


def _reasons(reasons: Counter[str]) -> Iterator[str]:
    """Collectives that are not there together, then the most frequent first."""
    absent = [each for each in reasons if each.startswith(_ABSENT)]
    if absent:
        names = ", ".join(each.removeprefix(_ABSENT) for each in absent)
        yield f"{_ABSENT}{names} ({sum(reasons[each] for each in absent)})"
    yield from (f"{why} ({n})" for why, n in reasons.most_common() if why not in absent)
