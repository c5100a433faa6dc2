"""A court for jobs: every process is a rank, of the judge and of the implementation.

A call that does not return cannot be interrupted, only told of.  Whoever hangs says so, lets
rank 0 know by a message of its own communicator, and goes on hanging for a while; rank 0
listens in a thread of its own, since it may hang too, waits until all that hang have said so,
hands on what it knows, and the job ends.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any, NoReturn

from refcoll.communicator import Communicator
from refcoll.connecting import connect
from refcoll.errors import PoisonedError, TransportError
from refcoll.oracle.calls import Call
from refcoll.oracle.implementation import Factory, Implementation
from refcoll.oracle.judging import Finding, Judge, Judgement
from refcoll.words import ranked

GATHERING = 1.0
"""Seconds in which ranks that hang in the same call may all say so."""
_GRACE = 10.0
"""Seconds after which a rank that hangs ends by itself, if rank 0 has not ended the job."""
_NAP = 0.1

Told = Callable[[Judgement], object]


class Jury:
    """This process's rank, of a job whose ranks judge one implementation together."""

    def __init__(
        self,
        make: Factory,
        *,
        seed: int = 0,
        timeout: float = 30.0,
        on_judgement: Told = lambda judgement: None,
        on_hang: Callable[[], object] = lambda: None,
        on_end: Callable[[], object] = lambda: None,
    ) -> None:
        """``timeout``: seconds after which a call hangs.  On rank 0 ``on_judgement`` is told
        each judgement, and ``on_end`` is called before a hang ends the job.  ``on_hang`` is
        called where one is told of, before that is printed.  Collective.
        """
        # The judge waits for others while these are in a trial, which is three calls.
        self.comm = connect("mpi", timeout=3 * timeout + 2 * GATHERING)
        self._make, self._timeout = make, timeout
        self._on_judgement, self._on_end = on_judgement, on_end
        self._call: Call | None = None
        self._seed = seed
        self._bell = _Bell(self.comm, on_hang, self._ended)
        self._judge = Judge(self.comm, self._made, seed, timeout, self._bell.ring)

    @property
    def implementation(self) -> Implementation:
        """This rank's, as it is now."""
        return self._implementation

    def judge(self, calls: Iterable[Call]) -> list[Judgement]:
        """The verdicts, the same on all ranks.  Collective; does not return after a hang."""
        found = []
        for call in calls:
            self._call = call
            found.append(self._judged(call))
            self._tell(found[-1])
        return found

    def close(self) -> None:
        """There are no more calls."""
        self._bell.close()

    def _judged(self, call: Call) -> Judgement:
        try:
            return self._judge.judge(call)
        except (TransportError, PoisonedError) as error:
            # The judge's own communicator: a rank is late, or gone.
            time.sleep(GATHERING)  # those who hang know better
            self._bell.ring(f"after {call}: {error}")
            time.sleep(2 * _GRACE)
            raise

    def _made(self) -> Implementation:
        """An implementation on a communicator that nothing has failed on yet."""
        self._implementation = self._make(connect("mpi", timeout=self._timeout / 2))
        return self._implementation

    def _tell(self, judgement: Judgement) -> None:
        if self.comm.rank == 0:
            self._on_judgement(judgement)

    def _ended(self, words: str) -> None:
        """On rank 0, in the bell's thread."""
        assert self._call is not None
        finding = Finding(self._call, "any", self._seed, "finished", words)
        self._tell(Judgement(self._call, findings=[finding]))
        self._on_end()


class _Bell:
    """What ranks that hang ring, and rank 0 hears."""

    def __init__(
        self,
        comm: Communicator,
        on_hang: Callable[[], object],
        on_end: Callable[[str], None],
    ) -> None:
        self._mpi, self._on_hang = import_module("mpi4py.MPI"), on_hang
        self._rank, self._size, self._on_end = comm.rank, comm.size, on_end
        end: Any = comm.transport
        self._comm = end.comm.Dup()
        self._threads = self._mpi.Query_thread() == self._mpi.THREAD_MULTIPLE
        self._heard: dict[int, str] = {}
        self._closed = threading.Event()
        self._listener = threading.Thread(target=self._listen, daemon=True)
        if self._rank == 0:
            self._listener.start()

    def ring(self, words: str) -> None:
        """This rank hangs, in these words."""
        self._on_hang()
        sys.stderr.write(f"rank {self._rank}: {words}\n")  # in one piece: others write, too
        sys.stderr.flush()
        if self._rank == 0:
            self._heard[0] = words
        elif self._threads:
            self._comm.isend((self._rank, words), 0)
        threading.Thread(target=_end, args=(_GRACE,), daemon=True).start()

    def close(self) -> None:
        """Nobody hangs any more."""
        self._closed.set()
        if self._rank == 0:
            self._listener.join()

    def _listen(self) -> None:
        while not self._hear():
            if self._closed.wait(_NAP):
                return
        until = time.monotonic() + GATHERING
        while time.monotonic() < until and len(self._heard) < self._size:
            time.sleep(_NAP / 10)
            self._hear()
        self._on_end(_together(self._heard))
        _end(0)

    def _hear(self) -> bool:
        """Whether anybody has rung."""
        while self._threads and self._comm.iprobe():
            rank, words = self._comm.recv()
            self._heard[rank] = words
        return bool(self._heard)


def _together(heard: dict[int, str]) -> str:
    """The words of all, each said once."""
    ranks: dict[str, list[int]] = {}
    for rank, words in sorted(heard.items()):
        ranks.setdefault(words, []).append(rank)
    return "; ".join(f"{ranked(those)}: {words}" for words, those in ranks.items())


def _end(after: float) -> NoReturn:
    """End the process, and thereby the job: MPI's own end would wait for what hangs."""
    time.sleep(after)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(1)
