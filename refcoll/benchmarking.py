"""Time collectives side by side: refcoll's algorithms, and whatever else is given.

All contenders run in one job, in alternation, in an order that is drawn anew each time, so
that none always follows the same other one and a slow moment strikes all alike.  A time is
the median over iterations of the slowest rank's, each after a barrier.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from refcoll.communicator import Communicator
from refcoll.errors import ArgumentError
from refcoll.testing.values import merged, rank_input

BUS_FACTORS: Mapping[str, Callable[[int], float]] = {
    "all_reduce": lambda n: 2 * (n - 1) / n,
    "reduce_scatter": lambda n: (n - 1) / n,
    "all_gather": lambda n: (n - 1) / n,
    "broadcast": lambda n: 1.0,
}
"""Bus bandwidth per algorithm bandwidth, as nccl-tests defines it (doc/PERFORMANCE.md)."""
Contender = Callable[[], object]
"""One run of a collective on arrays that were given when it was made."""


@dataclass(frozen=True)
class Timing:
    """One row, in nccl-tests' terms: S is the larger of what is put in and what comes out."""

    contender: str
    size: int
    """Bytes."""
    count: int
    type: str
    redop: str
    root: int
    in_place: bool
    time_us: float
    algbw: float
    """Size / time, in GB/s (1e9)."""
    busbw: float
    wrong: int
    """Elements, over all ranks, that are not what numpy says they must be."""
    ratio: float | None = None
    """Time / the baseline's time in the same run."""


@dataclass
class Case:
    """What is timed: a collective on ``count`` elements of float32 in all."""

    comm: Communicator
    collective: str
    count: int
    in_place: bool

    def __post_init__(self) -> None:
        size, rank, dtype = self.comm.size, self.comm.rank, np.dtype(np.float32)
        share = self.count // size
        mine = slice(rank * share, (rank + 1) * share)
        whole = rank_input(rank, self.count, dtype, "sum")
        total = merged(size, self.count, dtype, "sum") if self.merges else whole
        gathered = [rank_input(r, self.count, dtype, "sum")[r * share : (r + 1) * share]
                    for r in range(size)]  # fmt: skip
        match self.collective:
            case "all_reduce":
                self.input, self.wanted = whole, total
            case "reduce_scatter":
                self.input, self.wanted = whole, total[mine]
            case "all_gather":
                self.input, self.wanted = whole[mine], np.concatenate(gathered)
            case _:
                self.input, self.wanted = whole, rank_input(0, self.count, dtype, "sum")
        self.x = self.input.copy()
        alike = self.x.size == self.wanted.size
        self.out = self.x if self.in_place and alike else np.empty(self.wanted.size, dtype)

    @property
    def merges(self) -> bool:
        """Whether the collective merges."""
        return self.collective in ("all_reduce", "reduce_scatter")

    def plan(self, algorithm: str) -> Contender:
        """refcoll's own."""
        made = self.comm.plan(self.collective, self.x, out=self.out, algorithm=algorithm)
        return made.run

    def wrong(self, run: Contender) -> int:
        """How many elements one run gets wrong on this rank."""
        self.out[:] = 0
        self.x[:] = self.input
        run()
        return int(np.count_nonzero(self.out != self.wanted))

    def reset(self) -> None:
        """The input again, where the last run has overwritten it."""
        if self.out is self.x:
            self.x[:] = self.input


def timings(
    comm: Communicator,
    collective: str,
    sizes: Sequence[int],
    contenders: Mapping[str, Callable[[Case], Contender]],
    baseline: str | None = None,
    iterations: int | None = None,
    in_place: Sequence[bool] = (False, True),
) -> Iterator[Timing]:
    """Rows for every size in bytes, out of place and in place; the same on all ranks.

    ``contenders`` makes each a run of a case; ``baseline`` names the one that ratios are of.
    Called by all ranks.  Raises ArgumentError for a collective that it cannot time.
    """
    if collective not in BUS_FACTORS:
        raise ArgumentError(f"collective={collective!r}: there are {', '.join(BUS_FACTORS)}")
    for nbytes in sizes:
        unit = 4 * comm.size  # every rank has a share of the same length
        count = max(1, nbytes // unit) * comm.size
        for place in in_place:
            case = Case(comm, collective, count, place)
            if place and case.out is not case.x:
                continue
            yield from _rows(case, contenders, baseline, iterations or _iterations(nbytes))


def _iterations(nbytes: int) -> int:
    """So many that a median means something, and so few that it ends."""
    return max(7, min(300, (64 << 20) // max(1, nbytes)))


def _rows(
    case: Case,
    contenders: Mapping[str, Callable[[Case], Contender]],
    baseline: str | None,
    iterations: int,
) -> Iterator[Timing]:
    comm = case.comm
    runs = [make(case) for make in contenders.values()]
    wrong = np.array([case.wrong(run) for run in runs], np.int64)
    wrong = comm.all_reduce(wrong)
    medians = _medians(case, runs, iterations)
    named = dict(zip(contenders, medians, strict=True))
    nbytes = 4 * case.count
    for name, bad in zip(contenders, wrong, strict=True):
        seconds = named[name]
        algbw = nbytes / seconds / 1e9
        yield Timing(
            contender=name,
            size=nbytes,
            count=case.count,
            type="float",
            redop="sum" if case.merges else "none",
            root=0 if case.collective == "broadcast" else -1,
            in_place=case.in_place,
            time_us=seconds * 1e6,
            algbw=algbw,
            busbw=algbw * BUS_FACTORS[case.collective](comm.size),
            wrong=int(bad),
            ratio=seconds / named[baseline] if baseline in named else None,
        )


def _medians(case: Case, runs: Sequence[Contender], iterations: int) -> list[float]:
    """Seconds, by contender: the median over iterations of the slowest rank."""
    comm = case.comm
    barrier: Any = comm.plan("barrier")
    order = np.random.default_rng(case.count)  # alike on all ranks
    taken = np.zeros((iterations, len(runs)))
    for _ in range(2):
        for run in runs:
            run()
    for iteration in range(iterations):
        for place in order.permutation(len(runs)):
            case.reset()
            barrier.run()
            started = time.perf_counter()
            runs[place]()
            taken[iteration, place] = time.perf_counter() - started
    slowest = comm.all_reduce(taken, "max")
    return [float(each) for each in np.median(slowest, axis=0)]
