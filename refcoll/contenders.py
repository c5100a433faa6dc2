"""What is timed: a collective on arrays whose result is known, and who takes part."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from refcoll.communicator import Communicator
from refcoll.operators import Array
from refcoll.testing.values import rank_input

_FLOAT = np.dtype(np.float32)
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


class Case:
    """What is timed: a collective on ``count`` elements of float32 in all."""

    def __init__(
        self, comm: Communicator, collective: str, count: int, in_place: bool, empty: bool = False
    ) -> None:
        """``empty`` asks for arrays from ``comm.empty`` instead of numpy's own."""
        self.comm, self.collective, self.count, self.in_place = comm, collective, count, in_place
        size, rank, dtype = comm.size, comm.rank, _FLOAT
        share = count // size
        mine = slice(rank * share, (rank + 1) * share)
        whole = rank_input(rank, count, dtype, "sum")
        self.input = whole[mine] if collective == "all_gather" else whole
        wanted = _wanted(collective, size, count)
        self.wanted = wanted[mine] if collective == "reduce_scatter" else wanted
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


@lru_cache(maxsize=1)
def _wanted(collective: str, size: int, count: int) -> Array:
    """What comes of all ranks' inputs, in whole numbers that float32 adds exactly.

    One rank's input after the other, so that many ranks do not need as much memory.
    """
    inputs = (rank_input(rank, count, _FLOAT, "sum") for rank in range(size))
    if collective == "broadcast":
        return next(inputs)
    wanted, share = np.zeros(count, _FLOAT), count // size
    for rank, whole in enumerate(inputs):
        if collective == "all_gather":
            mine = slice(rank * share, (rank + 1) * share)
            wanted[mine] = whole[mine]
        else:
            wanted += whole
    return wanted


def limits() -> list[Contender]:
    """What the machine allows: every rank copies, or adds, as many bytes as the case has."""

    def copied(case: Case) -> Run:
        source, to = np.ones(case.count, np.float32), np.ones(case.count, np.float32)
        return lambda: np.copyto(to, source)

    def added(case: Case) -> Run:
        source, to = np.ones(case.count, np.float32), np.ones(case.count, np.float32)
        return lambda: np.add(to, source, to)

    return [Contender("copy", copied, right=False), Contender("add", added, right=False)]
