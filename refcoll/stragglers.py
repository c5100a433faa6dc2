"""Who came late, and how long the others waited for it.

    with comm.watch() as seen:
        ...                             # calls and runs of plans of this communicator
    print(seen.report())                # collective

A rank's time in a call is waiting, as far as it would have been there too if messages took no
time at all, and transfer for the rest.  How long that would be follows from when the ranks
entered and from the schedule, by its logical clock (``interpreters.clock``): in an
all-reduce everybody waits for the last one, in a chain only those behind it.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Self

import numpy as np

from refcoll.clocks import offsets
from refcoll.errors import ArgumentError
from refcoll.interpreters.clock import finish_times
from refcoll.programs import Program
from refcoll.rates import Rates
from refcoll.words import said_seconds

if TYPE_CHECKING:
    from refcoll.group import Group

Times = tuple[float, ...]


@dataclass(frozen=True)
class CallTimes:
    """One call, on all ranks.  Seconds, on rank 0's clock."""

    number: int
    """Of the call, or of the call that made the plan."""
    title: str
    entered: Times
    left: Times
    waited: Times
    """By rank, for others to enter."""

    @property
    def late_rank(self) -> int:
        """The one that entered last."""
        return self.entered.index(max(self.entered))

    @property
    def late_by(self) -> float:
        """How long after the median that was."""
        return max(self.entered) - median(self.entered)

    @property
    def transferred(self) -> Times:
        """By rank, the time in the call that was not waiting."""
        times = zip(self.entered, self.left, self.waited, strict=True)
        return tuple(left - entered - waited for entered, left, waited in times)

    def __str__(self) -> str:
        return (
            f"rank {self.late_rank} entered {_said(self.late_by)} after the median; "
            f"the rest waited {sum(self.waited):.3g} rank-seconds"
        )


@dataclass(frozen=True)
class RankTimes:
    """One rank over all calls.  Seconds."""

    rank: int
    last: int
    """In how many calls it was the last to enter."""
    late: float
    """How long after the median it entered, where it did, in all."""
    waited: float
    transferred: float


@dataclass(frozen=True)
class Stragglers:
    """What was seen of some calls."""

    calls: tuple[CallTimes, ...]
    clock_error: float
    """Seconds by which times of ranks on different nodes may be wrong; 0 on one node."""

    @property
    def worst(self) -> CallTimes:
        """The call in which ranks waited most."""
        return max(self.calls, key=lambda call: sum(call.waited))

    @property
    def ranks(self) -> list[RankTimes]:
        """Sums over calls, by rank."""
        return [self._rank(rank) for rank in range(len(self.calls[0].entered))]

    def _rank(self, rank: int) -> RankTimes:
        late = [max(0.0, call.entered[rank] - median(call.entered)) for call in self.calls]
        return RankTimes(
            rank,
            sum(call.late_rank == rank for call in self.calls),
            sum(late),
            sum(call.waited[rank] for call in self.calls),
            sum(call.transferred[rank] for call in self.calls),
        )

    def __str__(self) -> str:
        worst = self.worst
        place = f"number {self.calls.index(worst) + 1} of {len(self.calls)} calls"
        lines = [f"{worst} (in {place}, {worst.title})"]
        latest = max(self.ranks, key=lambda each: each.late)
        if latest.rank != worst.late_rank or latest.last > 1:
            lines.append(
                f"rank {latest.rank} entered last in {latest.last} of {len(self.calls)} calls, "
                f"{_said(latest.late)} late in all"
            )
        if self.clock_error:
            lines.append(
                f"times of different nodes are compared to within {_said(self.clock_error)}"
            )
        lines.append("rank  last in     late   waited  transferred")
        lines += [
            f"{each.rank:4}  {each.last:7}  {_said(each.late):>7}  {_said(each.waited):>7}  "
            f"{_said(each.transferred):>11}"
            for each in self.ranks
        ]
        return "\n".join(lines)


class Watch:
    """Notes when this rank enters and leaves the calls of ``comm``; see ``Group.watch``."""

    def __init__(self, comm: Group) -> None:
        self._comm = comm
        self._noted: list[tuple[Program, int, bool, float, float]] = []

    def __enter__(self) -> Self:
        self._comm.watching = (*self._comm.watching, self)
        return self

    def __exit__(self, *error: object) -> None:
        self._comm.watching = tuple(each for each in self._comm.watching if each is not self)

    def note(self, program: Program, number: int, compared: bool, entered: float) -> None:
        """A call has ended; ``compared`` says whether all ranks have met in it."""
        self._noted.append((program, number, compared, entered, time.monotonic()))

    def report(self) -> Stragglers:
        """What all ranks have noted.  Collective: all of them call it.

        Calls in the background are waited for.  Raises ArgumentError where nothing was noted,
        and DisagreementError where ranks have noted different numbers of calls.
        """
        comm, watching = self._comm, self._comm.watching
        comm.watching = ()
        try:
            return comm._do(self._report)
        finally:
            comm.watching = watching

    def _report(self) -> Stragglers:
        comm, noted = self._comm, self._noted
        said = {"collective": "report", "watched calls": len(noted)}
        comm.agreement.require(said, None, comm.timeout, comm._next())
        if not noted:
            raise ArgumentError("no calls were made while watched: put them in `with comm.watch()`")
        ahead, error = offsets(comm)
        mine = np.array([each[3:] for each in noted]) - ahead[comm.rank]
        arrays = comm.transport.arrays
        everyone = comm.plan("all_gather", arrays.from_host(mine)).run()
        times = arrays.to_host(everyone).reshape(comm.size, len(noted), 2)
        calls = [
            call_times(program, number, compared, times[:, i, 0].tolist(), times[:, i, 1].tolist())
            for i, (program, number, compared, _, _) in enumerate(noted)
        ]
        return Stragglers(tuple(calls), error)


def call_times(
    program: Program, number: int, compared: bool, entered: Sequence[float], left: Sequence[float]
) -> CallTimes:
    """From when ranks entered and left to how long they waited."""
    start = min(entered)
    since = [each - start for each in entered]
    free = finish_times(program, program.layout(0), Rates(), since)
    if compared:
        free = [max(since)] * len(since)
    waited = tuple(
        max(0.0, min(could, end - start) - begin)
        for could, begin, end in zip(free, since, left, strict=True)
    )
    return CallTimes(number, program.title, tuple(entered), tuple(left), waited)


def _said(seconds: float) -> str:
    return said_seconds(seconds, 3)
