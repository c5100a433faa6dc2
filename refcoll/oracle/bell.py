"""A bell that ranks of a job ring when the implementation does not return.

    rank 2: rings            ->  rank 0: where is everybody?  ->  ranks 1-3: here
                                 rank 0: tells it, and ends the job

Each rank has a thread that looks at its watch, and listens.  The threads talk on a communicator
of their own; where MPI lets one thread only call it, each rank knows of itself alone.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, NoReturn

from refcoll.communicator import Communicator
from refcoll.oracle.endings import SILENT
from refcoll.oracle.verdicts import Standing
from refcoll.oracle.watchdog import LastResort, Watch

GATHERING = 3.0
"""Seconds in which ranks may answer; where all do, no more is waited."""
_ENDING = 2.0
"""Seconds in which MPI may end the job."""
_GRACE = 10.0
"""Seconds after which a rank that has rung ends by itself, if rank 0 has not ended the job."""
_NAP = 0.1
_NOT_ASKED = "was not asked: this MPI lets one thread only call it"


class Bell:
    """One rank's."""

    def __init__(
        self,
        comm: Communicator,
        watch: Watch,
        limit: float,
        on_hang: Callable[[Sequence[Standing]], int],
        last_resort: LastResort | None = None,
    ) -> None:
        """``on_hang`` is called on rank 0, from a thread of the bell's, with what is known of
        all ranks; it returns the status that the job ends with.  Collective over ``comm``."""
        self._mpi = import_module("mpi4py.MPI")
        self._watch, self._limit, self._on_hang = watch, limit, on_hang
        self._rank, self._size, self._last = comm.rank, comm.size, last_resort
        end: Any = comm.transport
        self._comm = end.comm.Dup()
        self._threads = self._mpi.Query_thread() == self._mpi.THREAD_MULTIPLE
        self._sent: list[Any] = []
        self._rung, self._closed = threading.Event(), threading.Event()
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def ring(self) -> NoReturn:
        """The judge's own messages have failed: a rank is late, or gone."""
        self._rung.set()
        while True:
            time.sleep(_GRACE)

    def close(self) -> None:
        """Nobody hangs any more."""
        self._closed.set()
        self._listener.join()
        if self._last is not None:
            self._last.stop()

    def _listen(self) -> None:
        while not self._closed.wait(_NAP):
            if self._last is not None:
                self._last.beat()
            if self._rung.is_set() or self._watch.hangs(self._limit):
                self._raise_alarm()
            elif self._heard() is not None:
                self._answer()

    def _raise_alarm(self) -> NoReturn:
        self._answer()
        until = time.monotonic() + _GRACE
        while time.monotonic() < until:  # rank 0 asks where all are, then ends the job
            time.sleep(_NAP)
            if self._heard() is not None:
                self._answer()
        sys.stderr.write(f"rank {self._rank}: {self._watch.standing().status}, and rank 0 silent\n")
        end(1)

    def _answer(self) -> None:
        """On rank 0, whatever it has heard: ask the others."""
        if self._rank == 0:
            end(self._on_hang(self._gathered()))
        self._send((self._rank, self._watch.standing()), 0)

    def _gathered(self) -> list[Standing]:
        """Where all ranks are, as far as they say."""
        for rank in range(1, self._size):
            self._send("where?", rank)
        heard = {0: self._watch.standing()}
        until = time.monotonic() + GATHERING
        while self._threads and len(heard) < self._size and time.monotonic() < until:
            said = self._heard()
            if said is None:
                time.sleep(_NAP / 10)
            else:
                heard[said[0]] = said[1]
        unheard = Standing(SILENT if self._threads else _NOT_ASKED)
        return [heard.get(rank, unheard) for rank in range(self._size)]

    def _send(self, what: object, to: int) -> None:
        if self._threads:
            self._sent.append(self._comm.isend(what, to))

    def _heard(self) -> Any:
        """What another rank has said, or None."""
        return self._comm.recv() if self._threads and self._comm.iprobe() else None


def end(status: int) -> NoReturn:
    """End the job, at once.  MPI may be waiting for what hangs: then end this process alone, for
    which launchers end the others."""
    sys.stdout.flush()
    sys.stderr.flush()
    world = import_module("mpi4py.MPI").COMM_WORLD
    threading.Thread(target=world.Abort, args=(status,), daemon=True).start()
    time.sleep(_ENDING)
    os._exit(status)
