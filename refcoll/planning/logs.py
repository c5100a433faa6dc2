"""Samples: what logs of benchmarks are read into, and how what is wrong with one is told.

Lines before, between and after the tables, such as those of a launcher, are passed over.  What
belongs to a table, but is not as that benchmark writes it, is refused with file and line: half
a log would make half a machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from refcoll.errors import ArgumentError

LATENCY, BANDWIDTH = "latency", "bandwidth"
"""Instead of a collective: a message from one rank to another and back, or many in flight."""


@dataclass(frozen=True, kw_only=True)
class Sample:
    """A time."""

    log: str
    """The file's name."""
    where: str
    """File and line."""
    collective: str
    """Or ``LATENCY``, or ``BANDWIDTH``."""
    contender: str
    """An algorithm of refcoll's, or the library that chose one: "NCCL", "MPI"."""
    ranks: int
    nodes: int
    nbytes: int
    """Of the whole vector; of one message where two ranks talk."""
    seconds: float
    in_place: bool | None = None
    """Whether input and result are one array; None where that is not said."""


@dataclass(frozen=True)
class Given:
    """What the caller says of a log that does not say it itself."""

    collective: str | None = None
    ranks: int | None = None
    nodes: int | None = None


@dataclass(frozen=True)
class Lines:
    """A file, line by line, whose errors are told with their place."""

    path: Path
    lines: Sequence[str]

    def place(self, number: int) -> str:
        """Of a line, counted from 1."""
        return f"{self.path}:{number}"

    def refuse(self, number: int, problem: str, remedy: str) -> NoReturn:
        """Raise ArgumentError at this line."""
        raise ArgumentError(f"from-log: {self.place(number)}: {problem}; {remedy}")


def number(log: Lines, line: int, name: str, text: str) -> float:
    """A column that must be a number, not below 0."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        whole = "give the whole log, as it was printed"
        log.refuse(line, f"{name}={text!r:.40} is no number that can be", whole)
    return value
