"""What `refcoll judge` tells: how far it is, then the report."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import typer

from refcoll.cli.judge_progress import Bar
from refcoll.cli.output import console, table, write_json
from refcoll.errors import ArgumentError
from refcoll.oracle.hanging import places
from refcoll.oracle.judging import Judgement
from refcoll.oracle.reporting.as_json import as_json
from refcoll.oracle.reporting.groups import Group
from refcoll.oracle.reporting.markdown import as_markdown
from refcoll.oracle.reporting.report import Report
from refcoll.oracle.reporting.summary import counts_tried, not_supported, verdicts_failed

MOST = 12
"""Groups of findings that are shown; the rest is in the JSON."""


class Telling:
    """Told each judgement; at the end it prints, and writes files."""

    report: Report

    def __init__(self, json: Path | None, markdown: Path | None) -> None:
        self.show = True
        self._json, self._markdown = json, markdown
        self._bar: Bar | None = None

    def begin(self, report: Report, total: int) -> None:
        """So many calls are to come."""
        self.report, report.asked = report, total
        if self.show:
            self._bar = Bar("calls", [1.0] * total)

    def judged(self, judgement: Judgement) -> None:
        """One more."""
        self.report.judgements.append(judgement)
        if self._bar is not None and not judgement.last:
            self._bar.show(len(self.report.judgements))

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
    if report.stopped is not None:
        print(report.stopped)
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
