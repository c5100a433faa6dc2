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
from refcoll.interpreters import uniform
from refcoll.interpreters.delivery import (
    CAPACITIES,
    DeadlockError,
    Place,
    Started,
    UnmatchedError,
)
from refcoll.interpreters.expression import MIXED, Expression
from refcoll.interpreters.legality import Failure, illegalities
from refcoll.interpreters.proving import proof
from refcoll.interpreters.replay import Symbols, replay
from refcoll.programs import Program, require_program
from refcoll.schedule import Copy, Reduce, ScheduleError, Send, indices

VERDICTS = (
    "bounds", "race", "matching", "deadlock", "undefined", "result", "agreement", "order",
)  # fmt: skip


_MANY = 16
"""From so many ranks on it pays to look whether the schedule is uniform."""
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
        run = _Run(self.program)
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
        ordered = uniform.proof(program) if program.size >= _MANY else None
        ordered = proof(program) if ordered is None else ordered
    if ordered is not None:
        return Report(program.title, in_rank_order=ordered, program=program)
    report = Report(program.title, list(illegalities(program)))
    if report.failed("bounds"):
        return report
    stuck: list[Failure] = []
    for capacity in capacities:
        report.capacity = capacity
        run = _Run(program)
        try:
            run.play(capacity)
        except DeadlockError as error:
            room = "any number of" if isinf(capacity) else f"{capacity:g}"
            stuck.append(Failure("deadlock", f"with room for {room} messages: {error}"))
            continue
        except UnmatchedError as error:
            run.failures.append(Failure("matching", str(error)))
        run.judge()
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


# ---- with values -----------------------------------------------------------------------


class _Run(Symbols):
    """One play of the program in which chunks hold expressions."""

    def __init__(self, program: Program) -> None:
        super().__init__(program)
        self.failures: list[Failure] = []
        self.aligned = True
        self.in_rank_order = True
        self.heard = [1 << rank for rank in range(program.ranks)]
        self.told: dict[tuple[int, int], int] = {}
        """Per node, whom its rank had heard of when it started."""

    def play(self, capacity: float) -> None:
        for event in replay(self.program, self, capacity):
            if isinstance(event, Started):
                self.told[event.rank, event.node] = self.heard[event.rank]
            else:
                actions = self.program.graphs[event.rank][event.node].actions
                for action, origin in zip(actions, event.partners, strict=True):
                    if not isinstance(action, Send) and origin is not None:
                        self.heard[event.rank] |= self.told[origin[:2]]
                        self._compare_ends(event.rank, event.node, action, origin)

    def read(self, place: Place, chunk: int) -> Expression | None:
        value = super().read(place, chunk)
        if value is None:
            self._fail_at(place, "undefined", f"sends chunk {chunk}, still empty")
        return value

    def merge(self, place: Place, chunk: int, value: Expression | None, on_left: bool) -> None:
        if chunk not in self.memory[place[0]]:
            self._fail_at(place, "undefined", f"reduces into chunk {chunk}, still empty")
        super().merge(place, chunk, value, on_left)

    def _fail_at(self, place: Place, verdict: str, message: str) -> None:
        rank, index, position = place
        action = self.program.graphs[rank][index].actions[position]
        self._fail(verdict, rank, index, f"{action} {message}")

    def _compare_ends(self, rank: int, index: int, action: Copy | Reduce, origin: Place) -> None:
        source, node, position = origin
        other = self.program.graphs[source][node]
        sent = other.actions[position]
        c = 1 if self.program.collective.transposes else self.program.chunks
        if [i % c for i in indices(action.chunks)] != [i % c for i in indices(sent.chunks)]:
            self._fail(
                "matching",
                rank,
                index,
                f"{action} meets {sent} of rank {source} step {other.number + 1}",
            )
        self.aligned &= other.number == self.program.graphs[rank][index].number

    def _fail(self, verdict: str, rank: int, index: int, message: str) -> None:
        number = self.program.graphs[rank][index].number
        self.failures.append(Failure(verdict, f"rank {rank} step {number + 1}: {message}"))

    # ---- the post-condition ------------------------------------------------------------

    def judge(self) -> None:
        """Compare what every rank ends with to what the collective asks for."""
        for rank in range(self.program.size):
            for chunk in range(self.program.chunks):
                wanted = self.program.after(rank, chunk)
                if wanted is not None:
                    self._judge_chunk(rank, chunk, wanted)
        if not self.failures:
            self._judge_agreement()
        if self.program.collective.synchronises:
            self._judge_barrier()
        claims = self.program.claims
        if claims and claims.in_rank_order and not self.in_rank_order:
            self.failures.append(Failure("order", "operands do not meet in rank order"))

    def _judge_chunk(self, rank: int, chunk: int, wanted: frozenset[int]) -> None:
        value = self.memory[rank].get(self.program.result_area * self.program.chunks + chunk)
        origin = self.program.origin(rank, chunk)
        if value is None:
            where = self._place(chunk, rank)
            self.failures.append(Failure("result", f"{where} is empty"))
            return
        bits = sum(1 << who for who in wanted)
        if value.members != bits or value.repeated or value.chunk != origin:
            wrong = _wrong(value, wanted, origin)
            where = self._place(chunk, rank)
            self.failures.append(Failure("result", f"at the end {where} {wrong}"))
        self.in_rank_order &= value.in_rank_order

    def _place(self, chunk: int, rank: int) -> str:
        """A place of a result, in words; an area is named only where there are several."""
        area = f" of area {self.program.result_area}" if self.program.areas > 1 else ""
        what = "place" if self.program.collective.transposes else "chunk"
        return f"{what} {chunk}{area} on rank {rank}"

    def _judge_agreement(self) -> None:
        """Ranks that end with the same contributors of a chunk hold the same bits.

        One expression is one object, so the same bits for any input are the same object.
        """
        program = self.program
        first: dict[tuple[int, frozenset[int]], tuple[int, Expression]] = {}
        for rank in range(program.size):
            for chunk in range(program.chunks):
                wanted = program.after(rank, chunk)
                if wanted is None or program.collective.transposes:
                    continue
                value = self.memory[rank][program.result_area * program.chunks + chunk]
                other, held = first.setdefault((chunk, wanted), (rank, value))
                if value is not held:
                    said = f"chunk {chunk} is {value} on rank {rank}"
                    failure = Failure("agreement", f"{said}, but {held} on rank {other}")
                    self.failures.append(failure)

    def _judge_barrier(self) -> None:
        everyone = (1 << self.program.size) - 1
        for rank in range(self.program.size):
            if missing := everyone & ~self.heard[rank]:
                unheard = [r for r in range(self.program.size) if missing >> r & 1]
                self.failures.append(
                    Failure("result", f"rank {rank} ends without having heard of {unheard}")
                )


def _wrong(value: Expression, wanted: frozenset[int], chunk: int) -> str:
    """What is wrong with a value, in words: who is missing, doubled, or does not belong."""
    of = f" of rank {value.first}" if value.left is None else ""
    if value.chunk == MIXED:
        return f"mixes different chunks: {value}"
    if value.chunk != chunk:
        return f"holds chunk {value.chunk}{of}, not chunk {chunk}"
    held = value.contributors()
    said = [f"lacks rank {who}" for who in sorted(wanted - held.keys())]
    said += [f"has rank {who} {times} times" for who, times in sorted(held.items()) if times > 1]
    said += [f"has rank {who}, which is not asked for" for who in sorted(held.keys() - wanted)]
    return ", ".join(said)
