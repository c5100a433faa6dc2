"""A court of threads: the ranks of the judge, and of the implementation, are this process's.

The implementation has ranks of its own, and the judge others beside them: whatever the one
does to its communicator, the other's goes on.  A rank that hangs cannot be ended: its thread is
left behind, and so are those that wait for it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from queue import Empty, SimpleQueue

from refcoll.calls import DEFAULT_TIMEOUT
from refcoll.communicator import Communicator
from refcoll.oracle.calls import Call
from refcoll.oracle.hanging import hang, places, said_making
from refcoll.oracle.implementation import Factory, Implementation
from refcoll.oracle.judging import Judge, Judgement
from refcoll.oracle.making import NotMadeError
from refcoll.oracle.watchdog import LastResort, Watch, under
from refcoll.spawning import spawn
from refcoll.testing.inprocess import InProcess, World

LIMIT = 60.0
"""Seconds after which a call hangs."""
_NAP = 0.05


def in_process(
    make: Factory,
    size: int,
    calls: Iterable[Call],
    *,
    seed: int = 0,
    timeout: float = 2.0,
    limit: float = LIMIT,
    first_only: bool = False,
    on_judgement: Callable[[Judgement], object] = lambda judgement: None,
    on_made: Callable[[Implementation], object] = lambda implementation: None,
    last_resort: LastResort | None = None,
) -> list[Judgement]:
    """Judge ``make(comm)`` on ``size`` ranks, threads of this process.

    ``timeout`` is that of the communicators which the implementation gets, anew after it has
    raised; a call that takes longer than ``limit`` seconds hangs, and is the last one.
    ``first_only`` ends with the first call that is wrong; ``on_judgement`` is told each as it
    comes, ``on_made`` first of all rank 0's implementation, on the caller's thread.
    ``last_resort`` is for callers to whom the process belongs.

    Raises NotMadeError where ``make`` fails on some ranks, and ArgumentError if on all by one.
    """
    court = _Court(size, list(calls), seed, first_only, on_judgement, on_made)
    if not court.ended(_makers(make, size, timeout), limit, last_resort):
        court.hang(limit)
    return court.found


@dataclass
class _Court:
    """The ranks' threads, and what they say to the one that called them."""

    size: int
    calls: Sequence[Call]
    seed: int
    first_only: bool
    on_judgement: Callable[[Judgement], object]
    on_made: Callable[[Implementation], object]

    def __post_init__(self) -> None:
        self.found: list[Judgement] = []
        self._watches = [Watch() for _ in range(self.size)]
        self._said = SimpleQueue[Callable[[], object]]()
        self._heard_it = threading.Semaphore(0)
        self._open, self._over = False, False
        self._error: BaseException | None = None

    def ended(
        self, makers: Sequence[Callable[[], Implementation]], limit: float, last: LastResort | None
    ) -> bool:
        """Run all ranks, and do what they say.  Whether they ended: False if one hangs.

        Raises what they raised.
        """
        threading.Thread(target=self._run, args=(makers, limit), daemon=True).start()
        while not self._over:
            if last is not None:
                last.beat()
            said = self._heard()
            if said is not None:
                said()
                self._heard_it.release()
            elif any(watch.hangs(limit) for watch in self._watches):
                return False
        if self._error is not None:
            raise self._error
        return True

    def hang(self, limit: float) -> None:
        """Tell where the ranks are.  Raises NotMadeError where that is before any judging."""
        standing = [watch.standing() for watch in self._watches]
        if not self._open:
            raise NotMadeError("\n".join([said_making(limit, standing), *places(standing)]))
        self._tell(hang(self.calls[len(self.found)], self.seed, limit, standing))

    def _heard(self) -> Callable[[], object] | None:
        try:
            return self._said.get(timeout=_NAP)
        except Empty:
            return None

    # ---- on the ranks' threads -------------------------------------------------------------

    def _run(self, makers: Sequence[Callable[[], Implementation]], limit: float) -> None:
        try:
            # The judge waits for others while these are in a trial, which is three calls or more.
            spawn(self.size, self._on_rank, makers, timeout=4 * limit + DEFAULT_TIMEOUT)
        except BaseException as error:
            self._error = error
        self._said.put(self._end)

    def _on_rank(self, comm: Communicator, makers: Sequence[Callable[[], Implementation]]) -> None:
        judge = Judge(comm, makers[comm.rank], self.seed, self._watches[comm.rank])
        self._say(comm.rank, partial(self._begin, judge.implementation))
        for number, call in enumerate(self.calls, 1):
            name = f"rank {comm.rank}, call {number} of {len(self.calls)}: {call}"
            judgement = under(name, partial(judge.judge, call))
            self._say(comm.rank, partial(self._tell, judgement))
            if judgement.last or (self.first_only and judgement.findings):
                break

    def _say(self, rank: int, what: Callable[[], object]) -> None:
        """Have rank 0's ``what`` called by the thread that called the ranks, before any rank is
        in the next call: that may crash."""
        if rank == 0:
            self._said.put(what)
            self._heard_it.acquire()

    # ---- on that one's ---------------------------------------------------------------------

    def _begin(self, implementation: Implementation) -> None:
        self._open = True
        self.on_made(implementation)

    def _tell(self, judgement: Judgement) -> None:
        self.found.append(judgement)
        self.on_judgement(judgement)

    def _end(self) -> None:
        self._over = True


def _makers(make: Factory, size: int, timeout: float) -> list[Callable[[], Implementation]]:
    """By rank; each makes an implementation, every time in a new world."""
    worlds = _Worlds(size)
    return [_Maker(make, worlds, rank, timeout) for rank in range(size)]


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
    """Of one rank."""

    def __init__(self, make: Factory, worlds: _Worlds, rank: int, timeout: float) -> None:
        self._make, self._worlds, self._rank, self._timeout = make, worlds, rank, timeout
        self._number = -1

    def __call__(self) -> Implementation:
        self._number += 1
        end = InProcess(self._worlds.get(self._number), self._rank)
        return self._make(Communicator(end, self._timeout))
