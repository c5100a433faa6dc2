"""Prove one instance of a program right, or show by an example that it is wrong.

    verdict        what it says
    bounds         every action names ranks and chunks that exist
    race           no step writes what it also sends by Copy, or overwrites what it received,
                   and no two steps side by side touch a chunk that one of them writes
    matching       every send has its receive, of the same chunks' lengths
    deadlock       no rank waits for ever, however much a channel holds
    undefined      nothing is sent or reduced into before it holds a value
    result         every chunk ends with the contributors that the collective asks for,
                   each exactly once
    agreement      ranks that end with the same result have merged it in the same way, so that
                   rounding gives all of them the same bits
    order          operands meet in rank order, if the program claims so

The proof covers all inputs, lengths and timings: contributors are tracked as expression
trees, not as numbers, and without races no event's outcome depends on when it happens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import isinf
from numbers import Real

from refcoll.errors import ArgumentError
from refcoll.interpreters import uniform_proof
from refcoll.interpreters.delivery import (
    CAPACITIES,
    DeadlockError,
    UnmatchedError,
)
from refcoll.interpreters.expression import Expression
from refcoll.interpreters.legality import Failure, illegalities
from refcoll.interpreters.postcondition import judge
from refcoll.interpreters.proving import proof
from refcoll.interpreters.symbolic_run import SymbolicRun
from refcoll.interpreters.uniform import MANY
from refcoll.programs import Program, require_program
from refcoll.schedule import ScheduleError

VERDICTS = (
    "bounds", "race", "matching", "deadlock", "undefined", "result", "agreement", "order",
)  # fmt: skip
_SHOWN = 8
"""Failures that a report lists; one fault often shows in many places."""


@dataclass
class Report:
    """What ``check`` found."""

    title: str
    failures: list[Failure] = field(default_factory=list)
    capacity: float = 0
    """The least number of messages that a channel must hold, so that nothing deadlocks."""
    aligned: bool = True
    """Whether both ends of every message have the same step number."""
    in_rank_order: bool = True
    """Whether every wanted result has its operands in rank order."""
    program: Program | None = field(default=None, repr=False)

    @cached_property
    def values(self) -> list[dict[int, Expression]]:
        """Per rank, what each chunk ends with."""
        if self.program is None:
            return []
        run = SymbolicRun(self.program)
        run.play(self.capacity)
        return run.memory

    def __str__(self) -> str:
        if self.ok:
            return f"{self.title} is right"
        shown = [str(failure) for failure in self.failures[:_SHOWN]]
        more = len(self.failures) - len(shown)
        lines = [*shown, *([f"... and {more} more like these"] if more else [])]
        return "\n  ".join([f"{self.title} is wrong:", *lines])

    @property
    def ok(self) -> bool:
        """Whether every verdict holds."""
        return not self.failures

    def failed(self, verdict: str) -> bool:
        """Whether the verdict of that name does not hold."""
        return any(failure.verdict == verdict for failure in self.failures)

    def raise_for_failures(self) -> None:
        """Raise ScheduleError with the first failures, if there are any."""
        if self.failures:
            raise ScheduleError(str(self))


def check(program: Program, capacities: Sequence[float] = CAPACITIES) -> Report:
    """Check ``program`` under each channel capacity until one suffices.

    A program that needs buffering is reported under ``capacity`` and fails as a deadlock
    if the first capacity given, by default rendezvous, does not suffice.  Raises ArgumentError
    for what is no program, and for no capacities.
    """
    require_program(program)
    _require_capacities(capacities)
    ordered = None
    if capacities[0] == 0:
        ordered = uniform_proof.proof(program) if program.size >= MANY else None
        ordered = proof(program) if ordered is None else ordered
    if ordered is not None:
        return Report(program.title, in_rank_order=ordered, program=program)
    report = Report(program.title, list(illegalities(program)))
    if report.failed("bounds"):
        return report
    stuck: list[Failure] = []
    for capacity in capacities:
        report.capacity = capacity
        run = SymbolicRun(program)
        try:
            run.play(capacity)
        except DeadlockError as error:
            room = "any number of" if isinf(capacity) else f"{capacity:g}"
            stuck.append(Failure("deadlock", f"with room for {room} messages: {error}"))
            continue
        except UnmatchedError as error:
            run.failures.append(Failure("matching", str(error)))
        judge(run)
        report.failures += stuck[:1] + run.failures
        report.aligned, report.program = run.aligned, program
        report.in_rank_order = run.in_rank_order
        return report
    report.failures += stuck[-1:]
    return report


def _require_capacities(capacities: Sequence[float]) -> None:
    """Raise ArgumentError for what are no numbers of messages."""
    whole = isinstance(capacities, Sequence) and all(
        isinstance(each, Real) and each >= 0 and (isinf(each) or each == int(each))
        for each in capacities
    )
    if not whole or not capacities:
        raise ArgumentError(
            f"capacities={capacities!r:.80} must be a list of numbers of messages that a channel "
            "holds, such as (0, 1, math.inf)"
        )
