"""docs/validation.md: what validate has found, as a page."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from refcoll.cli.validate_named import Section, named, short
from refcoll.cli.validate_words import GROUPS, HELD_OUT, ROWS, group_row, held_out_row, row_cells
from refcoll.planning.validation import USES
from refcoll.planning.validation_report import Validation

_WIDTH = 125

_HEAD = """\
Every figure of [published.tsv](../refcoll/planning/published.tsv), which others measured or
reported, beside what the planner says of it. {verdict}.

`refcoll validate -o docs/validation.md` writes this page; without `-o` it prints the errors, with
`--rows` every figure, with `--json FILE` all digits ([json.md](json.md)). An error is (predicted -
measured) / measured: below 0 the model is too fast, or where rates are compared too slow.

`predicted`: the model has not seen the figure. `fitted`: a constant of a preset was computed from
it, so that nearness says nothing. `input`: predictions are made of it. `chosen`: inputs without a
source were chosen so that it comes out. `beyond`: the model cannot speak of it."""

_MODEL = """\
NCCL's algorithms by presets without their measured tables (the fastest of ring, double trees and,
within a node, NVLink SHARP), and training steps. Median: of the errors' sizes; with sign: the
median error."""

_HELD_OUT = """\
Where a table exists it is interpolated (a straight line between two sizes on log-log paper) and,
beyond its ends, extrapolated by alpha-beta: a + b bytes through the last two sizes. Each point is
told here by those that the method is left with. Interpolating is off by a few per cent, and by a
quarter where a library switches; an octave beyond the table is still good, four octaves are not:
one alpha and one beta do not hold from 32 KiB to 16 GiB."""

_ROWS = """\
Figures of presets are inputs; so are those that a prediction begins with."""


def page(made: Validation) -> str:
    """The whole of it."""
    return "\n".join(_said(each) for each in _sections(made)).rstrip("\n") + "\n"


def _sections(made: Validation) -> Iterator[Section]:
    yield "# How far off is the model?", _HEAD.format(verdict=made.verdict), (), ()
    yield "## In short", short(made), (), ()
    groups = [group_row(each) for each in made.groups]
    yield "## The model, on figures that it has not seen", _MODEL, GROUPS, groups
    yield from named(made)
    held_out = [held_out_row(name, each) for name, each in made.held_out]
    yield "## Measured tables, told by themselves", _HELD_OUT, HELD_OUT, held_out
    every = [row_cells(each) for use in USES for each in made.rows if each.use == use]
    yield "## Every figure", _ROWS, ROWS, every


def _said(section: Section) -> str:
    title, text, header, rows = section
    paragraphs = "\n\n".join(_filled(each) for each in text.split("\n\n"))
    return f"{title}\n{paragraphs}\n" + (f"\n{_table(header, rows)}\n" if rows else "")


def _filled(paragraph: str) -> str:
    """At one width, points of a list each by itself."""
    words = " ".join(paragraph.split())
    items = words.split(" * ") if words.startswith("* ") else [words]
    indent = "  " if len(items) > 1 else ""
    return "\n".join(
        textwrap.fill(each, _WIDTH, subsequent_indent=indent, break_on_hyphens=False)
        for each in (f"- {item.removeprefix('* ')}" if indent else item for item in items)
    )


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
