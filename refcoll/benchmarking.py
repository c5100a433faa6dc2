"""Time collectives side by side: refcoll's algorithms, and whatever else is given.

All contenders run in one job, in alternation, in an order that is drawn anew each time, so
that none always follows the same other one and a slow moment strikes all alike.  A time is
the median over iterations of the slowest rank's, each after a barrier.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
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
Run = Callable[[], object]
"""A collective once, on arrays that were given when it was made."""


@dataclass(frozen=True)
class Contender:
    """What takes part: ``make`` gives its run of a case."""

    name: str
    make: Callable[[Case], Run]
    empty: bool = False
    """Whether its arrays lie in memory from ``comm.empty``."""
    right: bool = True
    """Whether it gives the collective's result: a copy, which shows a limit, does not."""


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
    wrong: int | None
    """Elements, over all ranks, that are not what numpy says they must be."""
    ratios: Mapping[str, float] = field(default_factory=dict)
    """Time / a peer's time in the same run, by peer."""


class Case:
    """What is timed: a collective on ``count`` elements of float32 in all."""

    def __init__(
        self, comm: Communicator, collective: str, count: int, in_place: bool, empty: bool = False
    ) -> None:
        """``empty`` asks for arrays from ``comm.empty`` instead of numpy's own."""
        self.comm, self.collective, self.count, self.in_place = comm, collective, count, in_place
        size, rank, dtype = comm.size, comm.rank, np.dtype(np.float32)
        share = count // size
        mine = slice(rank * share, (rank + 1) * share)
        whole = rank_input(rank, count, dtype, "sum")
        self.input = whole[mine] if collective == "all_gather" else whole
        match collective:
            case "all_reduce" | "reduce_scatter":
                total = merged(size, count, dtype, "sum")
                self.wanted = total if collective == "all_reduce" else total[mine]
            case "all_gather":
                parts = [rank_input(r, count, dtype, "sum") for r in range(size)]
                cuts = [slice(r * share, (r + 1) * share) for r in range(size)]
                self.wanted = np.concatenate([p[c] for p, c in zip(parts, cuts, strict=True)])
            case _:
                self.wanted = rank_input(0, count, dtype, "sum")
        make: Callable[..., Any] = comm.empty if empty else np.empty
        self.x = make(self.input.size, dtype)
        self.x[:] = self.input
        alike = self.x.size == self.wanted.size
        self.out = self.x if in_place and alike else make(self.wanted.size, dtype)

    @property
    def merges(self) -> bool:
        """Whether the collective merges."""
        return self.collective in ("all_reduce", "reduce_scatter")

    def plan(self, algorithm: str) -> Run:
        """refcoll's own, planned."""
        made = self.comm.plan(self.collective, self.x, out=self.out, algorithm=algorithm)
        return made.run

    def one_off(self, algorithm: str) -> Run:
        """refcoll's own, called anew each time."""
        call, x, out = getattr(self.comm, self.collective), self.x, self.out
        return lambda: call(x, out=out, algorithm=algorithm)

    def wrong(self, run: Run) -> int:
        """How many elements one run gets wrong on this rank."""
        self.out[:] = 0
        self.x[:] = self.input
        run()
        return int(np.count_nonzero(self.out != self.wanted))

    def reset(self) -> None:
        """The input again, where the last run has overwritten it."""
        if self.out is self.x:
            self.x[:] = self.input


def limits() -> list[Contender]:
    """What the machine allows: every rank copies, or adds, as many bytes as the case has."""

    def copied(case: Case) -> Run:
        source, to = np.ones(case.count, np.float32), np.ones(case.count, np.float32)
        return lambda: np.copyto(to, source)

    def added(case: Case) -> Run:
        source, to = np.ones(case.count, np.float32), np.ones(case.count, np.float32)
        return lambda: np.add(to, source, to)

    return [Contender("copy", copied, right=False), Contender("add", added, right=False)]


def timings(
    comm: Communicator,
    collective: str,
    sizes: Sequence[int],
    contenders: Sequence[Contender],
    peers: Sequence[str] = (),
    iterations: int | None = None,
    in_place: Sequence[bool] = (False, True),
) -> Iterator[Timing]:
    """Rows for every size in bytes, out of place and in place; the same on all ranks.

    ``peers`` names the contenders that ratios are of.  Called by all ranks.  Raises
    ArgumentError for a collective that it cannot time.
    """
    if collective not in BUS_FACTORS:
        raise ArgumentError(f"collective={collective!r}: there are {', '.join(BUS_FACTORS)}")
    for nbytes in sizes:
        unit = 4 * comm.size  # every rank has a share of the same length
        count = max(1, nbytes // unit) * comm.size
        for place in in_place:
            cases = [Case(comm, collective, count, place, empty) for empty in (False, True)]
            if place and cases[0].out is not cases[0].x:
                continue
            entered = [(each, cases[each.empty]) for each in contenders]
            yield from _rows(entered, peers, iterations or _iterations(nbytes))


def _iterations(nbytes: int) -> int:
    """So many that a median means something, and so few that it ends."""
    return max(7, min(200, (64 << 20) // max(1, nbytes)))


def _rows(
    entered: Sequence[tuple[Contender, Case]], peers: Sequence[str], iterations: int
) -> Iterator[Timing]:
    comm = entered[0][1].comm
    runs = [each.make(case) for each, case in entered]
    wrong = [
        case.wrong(run) if each.right else 0
        for (each, case), run in zip(entered, runs, strict=True)
    ]
    wrong_anywhere = comm.all_reduce(np.array(wrong, np.int64))
    medians = _medians([case for _, case in entered], runs, iterations)
    named = {each.name: t for (each, _), t in zip(entered, medians, strict=True)}
    for (each, case), bad in zip(entered, wrong_anywhere, strict=True):
        seconds, nbytes = named[each.name], 4 * case.count
        algbw = nbytes / seconds / 1e9
        yield Timing(
            contender=each.name,
            size=nbytes,
            count=case.count,
            type="float",
            redop="sum" if case.merges else "none",
            root=0 if case.collective == "broadcast" else -1,
            in_place=case.in_place,
            time_us=seconds * 1e6,
            algbw=algbw,
            busbw=algbw * BUS_FACTORS[case.collective](comm.size),
            wrong=int(bad) if each.right else None,
            ratios={peer: seconds / named[peer] for peer in peers if peer in named},
        )


def _medians(cases: Sequence[Case], runs: Sequence[Run], iterations: int) -> list[float]:
    """Seconds, by contender: the median over iterations of the slowest rank."""
    comm = cases[0].comm
    barrier: Any = comm.plan("barrier")
    order = np.random.default_rng(cases[0].count)  # alike on all ranks
    taken = np.zeros((iterations, len(runs)))
    for _ in range(2):
        for run in runs:
            run()
    for iteration in range(iterations):
        for place in order.permutation(len(runs)):
            cases[place].reset()
            barrier.run()
            started = time.perf_counter()
            runs[place]()
            taken[iteration, place] = time.perf_counter() - started
    slowest = comm.all_reduce(taken, "max")
    return [float(each) for each in np.median(slowest, axis=0)]
