"""How long patterns take on these ranks, within a given time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np

from refcoll.communicator import Communicator
from refcoll.interpreters.execute import Plan
from refcoll.operators import operator
from refcoll.planning.calibration_patterns import SHIFT, Pattern
from refcoll.planning.fitting import Observed

SIZES = (4, 256, 4096, 65536, 1 << 18, 1 << 20, 1 << 22)
"""Bytes of a message."""
_LONG = 65536
"""From here on two rounds are enough to tell a step from a call."""
_ROUNDS, _LONG_ROUNDS = 8, 2
_FEWEST, _MOST = 5, 100
"""Runs of which the median is taken."""
_ALWAYS = 4
"""So many sizes are measured however long they take."""
_SPARED = 4
"""Short messages need less than their share of time: one long one may take so many shares."""
_PROBES = 3
_PASSES = 3


@dataclass(frozen=True)
class Measured:
    """The time of one pattern."""

    pattern: Pattern
    rounds: int
    nbytes: int
    """Of each message."""
    seconds: float
    """Of a run: the least of some medians, over runs, of the slowest rank's."""

    @property
    def observed(self) -> Observed:
        """For the fit."""
        counts = self.pattern.counts(self.rounds, self.nbytes)
        return Observed((counts,), self.seconds, self.nbytes)


class Stopwatch:
    """Times runs between barriers, for at most so long each; all ranks agree on how often."""

    def __init__(self, comm: Communicator, limit: float) -> None:
        """``limit``: seconds that one median may take, but for the fewest runs."""
        self._comm, self._limit = comm, limit
        self._barrier: Any = comm.plan("barrier")
        self.last = 0.0
        """Seconds that a run has last taken, on the slowest rank."""

    def median(self, run: Callable[[], object]) -> float:
        """Seconds: the median, over runs, of the slowest rank's, each after a barrier."""
        self._once(run)
        self.last = self.agreed(min(self._once(run) for _ in range(_PROBES)))
        runs = int(max(_FEWEST, min(_MOST, self._limit / max(self.last, 1e-9))))
        taken = np.array([self._once(run) for _ in range(runs)])
        return float(np.median(self._comm.all_reduce(taken, "max")))

    def agreed(self, seconds: float) -> float:
        """The most of all ranks."""
        return float(self._comm.all_reduce(np.array([seconds]), "max")[0])

    def affords(self, times: float) -> bool:
        """Whether the fewest runs, each so many times as long as the last, are within limits."""
        return times * self.last * (_FEWEST + _PROBES + 1) <= _SPARED * self._limit

    def _once(self, run: Callable[[], object]) -> float:
        self._barrier.run()
        started = time.perf_counter()
        run()
        return time.perf_counter() - started


def measured(comm: Communicator, found: list[Pattern], limit: float) -> list[Measured]:
    """Every pattern at every size that its share of ``limit`` seconds allows.

    The median of runs in a row is a slow moment's if all of them fall into one, so all is
    measured several times over, and of the medians the least counts.
    """
    least: dict[tuple[str, int, int], Measured] = {}
    with _apart(comm) as apart:
        channels = count(1)
        for _ in range(_PASSES):
            for each in _once(comm, apart, found, limit / _PASSES, channels):
                key = each.pattern.title, each.rounds, each.nbytes
                if key not in least or each.seconds < least[key].seconds:
                    least[key] = each
    return list(least.values())


def _once(
    comm: Communicator, apart: Communicator, found: list[Pattern], limit: float,
    channels: Iterator[int],
) -> Iterator[Measured]:  # fmt: skip
    watch = Stopwatch(comm, limit / max(1, len(found) * (len(SIZES) + 1)))
    begun = time.perf_counter()
    for pattern in found:
        before = 0
        for place, nbytes in enumerate(SIZES):
            overdue = watch.agreed(time.perf_counter() - begun) > limit
            if place >= _ALWAYS and (overdue or not watch.affords(nbytes / before)):
                break
            for rounds in _rounds(pattern, nbytes):
                run = _run(apart, pattern, rounds, nbytes, next(channels))
                yield Measured(pattern, rounds, nbytes, watch.median(run))
            before = nbytes


def _apart(comm: Communicator) -> Communicator:
    """The same ranks, whose channels nobody else uses."""
    made = comm.split(0)
    assert made is not None
    return made


def _rounds(pattern: Pattern, nbytes: int) -> tuple[int, ...]:
    """One round beside several, once, tells the cost of a call."""
    if nbytes >= _LONG:
        return (_LONG_ROUNDS,)
    return (1, _ROUNDS) if pattern.kind == SHIFT and nbytes == SIZES[0] else (_ROUNDS,)


def _run(
    comm: Communicator, pattern: Pattern, rounds: int, nbytes: int, channel: int
) -> Callable[[], object]:
    program = pattern.program(rounds)
    memory = np.ones(pattern.chunks * (nbytes // 4), np.float32)
    layout = program.layout(memory.size)
    plan = Plan(program, comm.transport, memory, layout, operator("sum"), channel)
    return lambda: plan.run(comm.timeout)
