"""The report for people who read it in an issue."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from refcoll.oracle.reporting.as_json import counts
from refcoll.oracle.reporting.groups import Group
from refcoll.oracle.reporting.report import OUTCOMES, Report


def as_markdown(report: Report) -> str:
    """Verdict, environment, counts, and what was found, with how to see it again."""
    return "\n".join([f"**{report.verdict}**", "", *_sections(report)]) + "\n"


def _sections(report: Report) -> Iterator[str]:
    yield from _table(("", ""), list(report.setting.environment().items()))
    rows = [(name, *map(str, of.values())) for name, of in counts(report).items()]
    yield from _table(("collective", "calls", *OUTCOMES), rows)
    yield from _table(
        ("verdict", "calls that fail in it"),
        [(name, str(times)) for name, times in report.verdicts().items()],
    )
    for number, group in enumerate(report.groups(), 1):
        yield from _finding(report, group, f"### {number}. {group.smallest.verdict}")
    for group in report.groups(declared=True):
        yield from _finding(report, group, f"### As declared: {group.smallest.verdict}")
    for pattern in report.xfails.unneeded(report.judgements):
        yield f"- XPASS: `{pattern}` is declared, and does not fail any more\n"
    if report.traffic is not None:
        yield from ("```text", *report.traffic.lines(), "```", "")
    missing = Counter(each.skipped for each in report.judgements if each.skipped)
    if missing:
        yield from _table(
            ("not supported", "calls"), [(why, str(times)) for why, times in missing.items()]
        )


def _finding(report: Report, group: Group, title: str) -> Iterator[str]:
    smallest = group.smallest
    yield from (title, "", f"`{smallest.call}`, {smallest.probe} inputs:", "")
    yield from (f"> {smallest.diagnosis}", "")
    if group.others():
        yield from (f"({group.others()})", "")
    yield from ("```sh", report.reproducer(smallest), "```", "")


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    for cells in (header, ["---"] * len(header), *rows):
        yield f"| {' | '.join(each.replace('|', '/') for each in cells)} |"
    yield ""
