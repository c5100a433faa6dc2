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
from refcoll.contenders import Case, Contender, Run
from refcoll.errors import ArgumentError

BUS_FACTORS: Mapping[str, Callable[[int], float]] = {
    "all_reduce": lambda n: 2 * (n - 1) / n,
    "reduce_scatter": lambda n: (n - 1) / n,
    "all_gather": lambda n: (n - 1) / n,
    "broadcast": lambda n: 1.0,
}
"""Bus bandwidth per algorithm bandwidth, as nccl-tests defines it (doc/PERFORMANCE.md)."""


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


def require_timed(*collectives: str) -> None:
    """Raise ArgumentError for a collective that ``timings`` cannot time."""
    for each in collectives:
        if each not in BUS_FACTORS:
            raise ArgumentError(f"collective={each!r}: there are {', '.join(BUS_FACTORS)}")


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
    require_timed(collective)
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
