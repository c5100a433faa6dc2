"""Figures that others measured, reported or specify, each with its source: published.tsv.

One row a figure.  ``subject`` is "machine" for what a preset is made of (``quantity`` is then
the figure's name, such as "between_nodes.latency"), a collective for its times, or a way to
train.  ``kind`` says how it is known:

    vendor      a data sheet          measured    in a published table, or computed from one
    model       a constant of a library's own cost model
    reported    someone's account, without a table
    assumed     nothing better was found
    narrative   the story that this project began with

A ``machine`` "NAME, another run" was measured again, and is no part of the preset NAME.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

KINDS = ("vendor", "measured", "model", "reported", "assumed", "narrative")


@dataclass(frozen=True)
class Row:
    """One figure.  What does not apply is None, or empty."""

    subject: str
    machine: str
    nodes: int | None
    ranks: int | None
    algorithm: str
    bytes: int | None
    quantity: str
    value: float
    unit: str
    kind: str
    source: str
    note: str

    @property
    def said_source(self) -> str:
        """Source and note in one line."""
        said = f"{self.kind}: {self.source}"
        return f"{said} ({self.note})" if self.note else said


@cache
def _rows() -> tuple[Row, ...]:
    text = files("refcoll.planning").joinpath("published.tsv").read_text(encoding="utf-8")
    return tuple(_row(each) for each in csv.DictReader(text.splitlines(), delimiter="\t"))


def _row(cells: dict[str, str]) -> Row:
    def whole(name: str) -> int | None:
        return int(cells[name]) if cells[name] else None

    numbers: dict[str, Any] = {name: whole(name) for name in ("nodes", "ranks", "bytes")}
    numbers["value"] = float(cells["value"])
    return Row(**{**cells, **numbers})


def published(**wanted: object) -> list[Row]:
    """The rows whose columns are as ``wanted``: published(subject="all_reduce", ranks=8)."""
    return [
        row for row in _rows() if all(getattr(row, name) == value for name, value in wanted.items())
    ]
