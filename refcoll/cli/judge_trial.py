"""Who is judged, by which calls, and what is known of it: the command line, as it is meant."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from refcoll.errors import ArgumentError
from refcoll.oracle.adapters.own import Own
from refcoll.oracle.calls import Call
from refcoll.oracle.implementation import Factory, factory
from refcoll.oracle.reporting.report import Report
from refcoll.oracle.reporting.setting import Setting
from refcoll.oracle.xfails import Xfails
from refcoll.registry import algorithms

PATIENCE = 2.0
"""Seconds: how long ranks wait for others that are in the same call, at most, and how much later
than its limit a call is ended by force."""


@dataclass(frozen=True)
class Case:
    """What the command line comes to, once it is known to be right."""

    calls: Sequence[Call]
    known: Xfails


Prepare = Callable[[int], Case]
"""For so many ranks.  Raises ArgumentError."""


@dataclass(frozen=True)
class Trial:
    """Who is judged, and how; as typed."""

    implementation: str | None
    algorithm: str | None
    ranks: int | None
    seed: int
    timeout: float

    def make(self) -> Factory:
        """Raises ArgumentError where there is no such implementation."""
        if self.implementation is None:
            raise ArgumentError(
                "implementation is missing: use mpi, torch:gloo, refcoll, or module:function"
            )
        if self.algorithm is None:
            return factory(self.implementation)
        if self.implementation != "refcoll":
            raise ArgumentError(
                f"algorithm={self.algorithm!r} is for refcoll's own collectives: "
                f"refcoll judge refcoll -a {self.algorithm}"
            )
        if "+" not in self.algorithm and not algorithms(None, self.algorithm):
            raise ArgumentError(f"algorithm={self.algorithm!r} does not exist; see `refcoll list`")
        return partial(Own, algorithm=self.algorithm)

    def report(self, name: str, size: int, launched: bool, known: Xfails) -> Report:
        """An empty one, of what calls itself so."""
        options = () if self.algorithm is None else ("-a", self.algorithm)
        return Report(
            Setting(
                str(self.implementation), name, size, launched, self.seed, options,
                sys.argv[1:],
            ),
            known,
        )  # fmt: skip

    def not_made(self, why: object) -> ArgumentError:
        """In a line."""
        return ArgumentError(f"implementation={self.implementation!r} cannot be made: {why}")
