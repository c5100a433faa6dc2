"""Which of its calls before a finding needs: tried when all have been judged."""

from __future__ import annotations

from collections.abc import Callable

from refcoll.cli.judge_report import MOST
from refcoll.oracle.calls import Call
from refcoll.oracle.making import NotMadeError
from refcoll.oracle.replaying import Anew, needed
from refcoll.oracle.reporting.report import Report
from refcoll.oracle.verdicts import Finding

Note = Callable[[Finding, tuple[Call, ...] | None], object]


def replay(report: Report, anew: Anew, note: Note, raised: bool = True) -> None:
    """Have it noted, of the findings that are shown.  Collective.

    Not of hangs, which leave ranks behind; and of calls that raised only if ``raised``.  Where
    several need more than one call before, it is not tried with the others which one is enough.
    """
    groups = report.groups()[:MOST]
    if any(group.hangs for group in groups):
        return
    earlier = [judgement.call for judgement in report.judgements]
    for finding in (group.simplest for group in groups):
        if raised or finding.verdict != "finished":
            hopeless = list(report.needs.values()).count(None) >= _HOPELESS
            before = [] if hopeless else earlier[: report.number(finding) - 1]
            try:
                note(finding, needed(finding, before, report.setting.size, anew))
            except NotMadeError:  # once is no matter of course
                return


_HOPELESS = 3
"""Findings."""
