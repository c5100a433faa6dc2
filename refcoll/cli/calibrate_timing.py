"""Every algorithm timed at every size, as far as the time allows."""

from __future__ import annotations

import sys
import time
from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from refcoll.algorithms.declaration import Algorithm
from refcoll.benchmarking import Timing, timings
from refcoll.choosing import choose
from refcoll.cli.units import said_bytes
from refcoll.communicator import Communicator
from refcoll.contenders import Contender
from refcoll.planning.calibration_errors import Predictor
from refcoll.registry import algorithms
from refcoll.topology import topology
from refcoll.tuning import Best

_WORTH = 0.95
"""Another algorithm than the model's choice must take at most so much of its time: less of a
difference may be chance."""
_FEWEST, _MOST = 3, 200
"""Runs of which the median is taken; as ``timings`` chooses where there is time."""
_BESIDES = 4
"""Runs of each that warm it up, or compare its result."""


class Allowance:
    """How often each algorithm may run at a size, so that all sizes are done in time.

    Runs are thought to take what the machine's formulas say, times what those before took more.
    """

    def __init__(
        self, comm: Communicator, predictor: Predictor | None, cells: int, seconds: float
    ) -> None:
        self._comm, self._predictor, self._left = comm, predictor, cells
        self._pace, self._end = 1.0, time.monotonic() + seconds

    def runs(self, collective: str, nbytes: int) -> int | None:
        """Runs of each algorithm; 0 where there is no time left, None for as many as usual."""
        remaining = self._agreed(self._end - time.monotonic(), "min")
        share, self._left = remaining / self._left, self._left - 1
        if remaining <= 0:
            return 0
        if self._predictor is None:
            return None
        self._expected = self._agreed(self._once(collective, nbytes), "max")
        once = self._pace * self._expected
        if once * (_FEWEST + _BESIDES) > remaining:
            return 0
        usual = max(7, min(_MOST, (64 << 20) // max(1, nbytes)))
        return int(max(_FEWEST, min(usual, share / once - _BESIDES)))

    def took(self, seconds: float, runs: int) -> None:
        """What so many runs of each have taken."""
        if self._predictor is not None:
            once = self._agreed(seconds, "max") / (runs + _BESIDES)
            self._pace = max(1.0, once / self._expected)

    def _once(self, collective: str, nbytes: int) -> float:
        """Seconds for each algorithm to run once, and a barrier before it."""
        assert self._predictor is not None
        barrier = self._predictor.formula("barrier", "dissemination", 0)
        return sum(
            barrier + self._predictor.formula(collective, each.name, nbytes)
            for each in taking_part(collective, self._comm.size)
        )

    def _agreed(self, seconds: float, how: str) -> float:
        return float(self._comm.all_reduce(np.array([seconds]), how)[0])


def taking_part(collective: str, size: int) -> list[Algorithm]:
    """The algorithms that run on so many ranks, and on no others."""
    return [
        each for each in algorithms(collective) if each.sizes.holds(size) and not each.needs_helpers
    ]


def timed(comm: Communicator, collective: str, nbytes: int, iterations: int | None) -> list[Timing]:
    """All algorithms at one size, in place where there is an in place.

    Raises RuntimeError where one gives wrong elements.
    """
    contenders = [
        Contender(each.name, lambda case, name=each.name: case.plan(name))  # type: ignore[misc]
        for each in taking_part(collective, comm.size)
    ]
    in_place = collective in ("all_reduce", "broadcast")
    if comm.rank == 0:
        print(f"calibrate: {collective}, {said_bytes(nbytes)}", file=sys.stderr, flush=True)
    rows = list(timings(comm, collective, [nbytes], contenders, (), iterations, (in_place,)))
    for row in rows:
        if row.wrong:
            raise RuntimeError(f"{row.contender} {collective}: {row.wrong} wrong elements")
    return rows


def fastest(some: Sequence[Timing], others: Sequence[Timing]) -> list[Timing]:
    """Of two rows of each contender the one of less time."""
    pairs = zip(some, others, strict=True)
    return [min(pair, key=lambda row: row.time_us) for pair in pairs]


def best(comm: Communicator, collective: str, rows: Sequence[Timing]) -> list[Best]:
    """By size: the model's choice, unless another is clearly better."""
    by_size: dict[int, dict[str, float]] = defaultdict(dict)
    for row in rows:
        by_size[row.size][row.contender] = row.time_us * 1e-6
    found: list[Best] = []
    for size, taken in by_size.items():
        model, first = model_choice(comm, collective, size), min(taken, key=taken.__getitem__)
        name = first if taken[first] < _WORTH * taken[model] else model
        found.append(Best(size, name, taken[name]))
    return found


def model_choice(comm: Communicator, collective: str, nbytes: int) -> str:
    """What "auto" takes without measurements."""
    return choose(collective, comm.size, nbytes, 0, topology(comm.nodes, comm.size), False)
