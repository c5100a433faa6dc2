"""The report for people who read it in an issue."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from refcoll.oracle.hanging import places
from refcoll.oracle.reporting.groups import Group
from refcoll.oracle.reporting.report import Report
from refcoll.oracle.reporting.summary import counts_tried, not_supported, verdicts_failed


def as_markdown(report: Report) -> str:
    """Verdict, command line, environment, counts, and what was found, with how to see it again."""
    return "\n".join([f"**{_plain(report.verdict)}**", "", *_sections(report)]) + "\n"


def _sections(report: Report) -> Iterator[str]:
    if report.stopped is not None:
        yield from (f"It {report.stopped}.", "")
    if report.cut is not None:
        yield from (f"{report.cut[0].upper()}{report.cut[1:]}.", "")
    yield from _code("sh", report.setting.command_typed())
    yield from _table(("", ""), [list(row) for row in report.setting.environment().items()])
    yield from _table(*counts_tried(report))
    yield from _table(("verdict", "calls that fail in it"), verdicts_failed(report))
    if report.onset is not None:
        yield from (_plain(f"{report.onset[0].upper()}{report.onset[1:]}."), "")
    for number, group in enumerate(report.groups(), 1):
        yield from _finding(report, group, f"### {number}. {group.simplest.verdict}")
    for group in report.groups(declared=True):
        yield from _finding(report, group, f"### As declared: {group.simplest.verdict}")
    for pattern in report.xfails.unneeded(report.judgements):
        yield f"- XPASS: `{pattern}` is declared, and does not fail any more\n"
    if report.traffic is not None:
        yield from _code("text", *report.traffic.lines())
    missing = not_supported(report)
    if missing is not None:
        yield from (f"{missing[0].upper()}{missing[1:]}", "")


def _finding(report: Report, group: Group, title: str) -> Iterator[str]:
    simplest = group.simplest
    yield from (title, "", f"`{simplest.call}`, {simplest.probe} inputs:", "")
    yield from (f"> {_plain(simplest.diagnosis)}", "")
    if simplest.standing:
        yield from _code("text", *places(simplest.standing))
    if group.others():
        yield from (f"({group.others()})", "")
    if (needed := report.needed(simplest)) is not None:
        yield from (f"{needed[0].upper()}{needed[1:]}", "")
    yield from _code("sh", report.reproducer(simplest))


def _plain(text: str) -> str:
    """Words of an error's own, such as "<Mine object>" or "__init__", are no markup."""
    return re.sub(r"([\\`*<]|(?<![a-z0-9])_)", r"\\\1", text)


def _code(language: str, *lines: str) -> Iterator[str]:
    yield from (f"```{language}", *lines, "```", "")


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Nothing where there are no rows."""
    for cells in (header, ["---"] * len(header), *rows) if rows else ():
        yield f"| {' | '.join(each.replace('|', '/') for each in cells)} |"
    if rows:
        yield ""
