"""What `refcoll judge` tells: how far it is, then the report."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from refcoll.cli.judge_progress import Bar
from refcoll.cli.output import console, table, write_json
from refcoll.errors import ArgumentError
from refcoll.oracle.calls import Call
from refcoll.oracle.hanging import crash, places
from refcoll.oracle.reporting.as_json import as_json
from refcoll.oracle.reporting.groups import Group
from refcoll.oracle.reporting.markdown import as_markdown
from refcoll.oracle.reporting.report import Report
from refcoll.oracle.reporting.summary import counts_tried, not_supported, verdicts_failed
from refcoll.oracle.verdicts import Finding, Judgement

if TYPE_CHECKING:
    from refcoll.cli.judge_heir import Heir

MOST = 12
"""Groups of findings that are shown; the rest is in the JSON."""


class Telling:
    """Told each judgement; at the end it prints, and writes files."""

    def __init__(self, json: Path | None, markdown: Path | None) -> None:
        self.show = self.bars = True
        self.report: Report | None = None
        self.heir: Heir | None = None
        """Who hears the same."""
        self._json, self._markdown = json, markdown
        self._calls: Sequence[Call] = ()
        self._bar: Bar | None = None

    def begin(self, report: Report, calls: Sequence[Call]) -> None:
        """These are to come."""
        self.report, self._calls, report.asked = report, calls, len(calls)
        if self.heir is not None:
            self.heir.say("begin", report.elsewhere(), calls)
        if self.show and self.bars:
            self._bar = Bar("calls", [1.0] * len(calls))

    def judged(self, judgement: Judgement) -> None:
        """One more."""
        report = self._begun()
        report.judgements.append(judgement)
        if self.heir is not None:
            self.heir.say("judged", judgement)
        if self._bar is not None and not judgement.last:
            self._bar.show(len(report.judgements))

    def needed(self, finding: Finding, calls: tuple[Call, ...] | None) -> None:
        """Which calls it needs before, as ``Report.needs`` has them."""
        self._begun().needs[finding] = calls
        if self.heir is not None:
            self.heir.say("needed", finding, calls)

    def crashed(self, said: str) -> None:
        """It ended during the next call; or when all had been judged."""
        report, done = self._begun(), len(self._begun().judgements)
        if done < len(self._calls):
            self.judged(crash(self._calls[done], report.setting.seed, said))
        else:
            report.cut = "it ended while findings were tried again: commands are untried"

    def rest(self) -> None:
        """All is judged."""
        if self._bar is not None:
            self._bar.stop()

    def end(self) -> bool:
        """Print and write everything; whether it holds."""
        self.rest()
        if self.show:
            self._write(self._begun())
        if self.heir is not None:
            self.heir.say("end")
        return self._begun().holds

    def _begun(self) -> Report:
        assert self.report is not None, "begin() comes first"
        return self.report

    def _write(self, report: Report) -> None:
        """Files first: where a job has crashed, nobody may be left to read what is printed."""
        try:
            self._write_files(report)
        finally:
            if str(self._json) != "-":
                print(report.verdict, flush=True)
                _print(report)

    def _write_files(self, report: Report) -> None:
        write_json(self._json, as_json(report))
        if self._markdown is not None:
            try:
                self._markdown.write_text(as_markdown(report))
            except OSError as error:
                raise ArgumentError(
                    f"markdown={str(self._markdown)!r} cannot be written: {error}"
                ) from error


def _print(report: Report) -> None:
    out = console()
    print(*(f"{each}\n" for each in (report.stopped, report.cut) if each), sep="", end="")
    for header, rows in (
        counts_tried(report),
        (("verdict", "calls that fail in it"), verdicts_failed(report)),
    ):
        if rows:
            out.print()
            out.print(table(None, header, rows))
    for line in _lines(report):
        out.print(line, markup=False, highlight=False)
    sys.stdout.flush()


def _lines(report: Report) -> Iterator[str]:
    groups = report.groups()
    if report.onset is not None:
        yield f"\n{report.onset}"
    for number, group in enumerate(groups[:MOST], 1):
        yield from _finding(report, group, f"{number}.")
    if len(groups) > MOST:
        yield f"\nand {len(groups) - MOST} diagnoses more: see --json"
    for group in report.groups(declared=True)[:MOST]:
        yield from _finding(report, group, "As declared:")
    for pattern in report.xfails.unneeded(report.judgements):
        yield f"\nXPASS: line {pattern.line}, {pattern}: nothing fails there any more"
    missing = not_supported(report)
    if missing is not None:
        yield f"\n{missing}"
    if report.traffic is not None:
        yield from ("", *report.traffic.lines())


def _finding(report: Report, group: Group, title: str) -> Iterator[str]:
    simplest = group.simplest
    yield f"\n{title} {simplest.verdict}: {simplest.call}, {simplest.probe} inputs"
    yield f"   {simplest.diagnosis}"
    yield from (f"   {line}" for line in places(simplest.standing))
    if group.others():
        yield f"   {group.others()}"
    if (needed := report.needed(simplest)) is not None:
        yield f"   {needed}"
    yield f"   {report.reproducer(simplest)}"


@contextmanager
def said_once(rank: int) -> Iterator[None]:
    """What is wrong on all ranks, or told to all, rank 0 says; the others end with its status."""
    try:
        yield
    except ArgumentError:
        if rank == 0:
            raise
        raise typer.Exit(2) from None
