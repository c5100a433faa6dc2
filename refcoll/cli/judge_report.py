"""What `refcoll judge` tells: how far it is, then the report."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.progress import Progress, TaskID

from refcoll.cli.output import console, table, write_json
from refcoll.errors import ArgumentError
from refcoll.oracle.judging import Judgement
from refcoll.oracle.reporting.as_json import as_json, counts
from refcoll.oracle.reporting.groups import Group
from refcoll.oracle.reporting.markdown import as_markdown
from refcoll.oracle.reporting.report import OUTCOMES, Report

MOST = 12
"""Groups of findings that are shown; the rest is in the JSON."""
_EVERY = 2.0
"""Seconds between lines of progress, where there is no terminal."""


class Telling:
    """Told each judgement; at the end it prints, and writes files."""

    report: Report

    def __init__(self, json: Path | None, markdown: Path | None) -> None:
        self.show = True
        self._json, self._markdown = json, markdown
        self._bar: Progress | None = None
        self._told = time.monotonic()

    def begin(self, report: Report, total: int) -> None:
        """So many calls are to come."""
        self.report, self._total = report, total
        if self.show and sys.stderr.isatty():
            self._bar = Progress(console=Console(stderr=True))
            self._bar.add_task("judging", total=total)
            self._bar.start()

    def judged(self, judgement: Judgement) -> None:
        """One more."""
        self.report.judgements.append(judgement)
        done = len(self.report.judgements)
        if self._bar is not None:
            self._bar.update(TaskID(0), completed=done)
        elif time.monotonic() - self._told > _EVERY:
            self._told = time.monotonic()
            print(f"judging: {done} of {self._total} calls", file=sys.stderr, flush=True)

    def end(self) -> bool:
        """Print and write everything; whether it holds."""
        if self._bar is not None:
            self._bar.stop()
        if self.show:
            self._write()
        return self.report.holds

    def _write(self) -> None:
        if str(self._json) != "-":
            print(self.report.verdict, flush=True)
            _print(self.report)
        write_json(self._json, as_json(self.report))
        if self._markdown is not None:
            try:
                self._markdown.write_text(as_markdown(self.report))
            except OSError as error:
                raise ArgumentError(
                    f"markdown={str(self._markdown)!r} cannot be written: {error}"
                ) from error


def _print(report: Report) -> None:
    out = console()
    rows = [[name, *map(str, of.values())] for name, of in counts(report).items()]
    out.print(table(None, ("collective", "calls", *OUTCOMES), rows))
    verdicts = [[name, str(times) if times else "-"] for name, times in report.verdicts().items()]
    out.print()
    out.print(table(None, ("verdict", "calls that fail in it"), verdicts))
    for line in _lines(report):
        out.print(line, markup=False, highlight=False)
    sys.stdout.flush()


def _lines(report: Report) -> Iterator[str]:
    groups = report.groups()
    for number, group in enumerate(groups[:MOST], 1):
        yield from _finding(report, group, f"{number}.")
    if len(groups) > MOST:
        yield f"\nand {len(groups) - MOST} diagnoses more: see --json"
    for group in report.groups(declared=True)[:MOST]:
        yield from _finding(report, group, "As declared:")
    for pattern in report.xfails.unneeded(report.judgements):
        yield f"\nXPASS: line {pattern.line}, {pattern}: nothing fails there any more"
    yield from _unsupported(report)
    if report.traffic is not None:
        yield from ("", *report.traffic.lines())


def _finding(report: Report, group: Group, title: str) -> Iterator[str]:
    smallest = group.smallest
    yield f"\n{title} {smallest.verdict}: {smallest.call}, {smallest.probe} inputs"
    yield f"   {smallest.diagnosis}"
    if group.others():
        yield f"   {group.others()}"
    yield f"   {report.reproducer(smallest)}"


def _unsupported(report: Report) -> Iterator[str]:
    reasons = Counter(each.skipped for each in report.judgements if each.skipped)
    if reasons:
        yield "\nNot supported:"
    for why, times in reasons.most_common():
        yield f"   {times} calls: {why}"
