"""Where judging takes place: on threads of this process, or in the processes of a job.

The implementation has ranks of its own, and the judge others beside them: whatever the one
does to its communicator, the other's goes on.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable

from refcoll.communicator import Communicator
from refcoll.oracle.calls import Call
from refcoll.oracle.implementation import Factory, Implementation
from refcoll.oracle.judging import Judge, Judgement
from refcoll.spawning import spawn
from refcoll.testing.inprocess import World


def in_process(
    make: Factory,
    size: int,
    calls: Iterable[Call],
    *,
    seed: int = 0,
    timeout: float = 2.0,
    first_only: bool = False,
    on_judgement: Callable[[Judgement], object] = lambda judgement: None,
) -> list[Judgement]:
    """Judge ``make(comm)`` on ``size`` ranks, threads of this process.

    ``timeout`` is that of the communicators which the implementation gets, anew after it has
    raised; ``first_only`` ends with the first call that is wrong; ``on_judgement`` is told each
    as it comes, on rank 0's thread.
    """
    listed, worlds = list(calls), _Worlds(size)

    def on_rank(comm: Communicator) -> list[Judgement]:
        made = _Maker(make, worlds, comm.rank, timeout)
        judge, found = Judge(comm, made, seed), []
        for call in listed:
            found.append(judge.judge(call))
            if comm.rank == 0:
                on_judgement(found[-1])
            if first_only and found[-1].findings:
                break
        return found

    return spawn(size, on_rank)[0]


class _Worlds:
    """The n-th world for whichever rank asks for it."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._made: list[World] = []
        self._lock = threading.Lock()

    def get(self, number: int) -> World:
        with self._lock:
            while len(self._made) <= number:
                self._made.append(World(self._size))
            return self._made[number]


class _Maker:
    """Makes the implementation of one rank, each time in a new world."""

    def __init__(self, make: Factory, worlds: _Worlds, rank: int, timeout: float) -> None:
        self._make, self._worlds, self._rank, self._timeout = make, worlds, rank, timeout
        self._number = -1

    def __call__(self) -> Implementation:
        self._number += 1
        end = self._worlds.get(self._number).transport(self._rank)
        return self._make(Communicator(end, self._timeout))
