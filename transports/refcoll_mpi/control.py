"""Words between ranks beside their messages: that one has failed, and where each one stands.

    failed   "rank 2 failed: ..."                  whoever waits gives up
    ask      "I have waited long: where are you?"  whoever waits answers
    answer   "in step 2, waiting for rank 1"

Words are small MPI messages with a tag of their own.  They are read while a rank waits, so
one that does not wait, or that is stopped or gone, gives no answer: that is an answer too.
A process that has come to its end goes on answering until all have (``ending``).

One Control serves all communicators of the same processes, made by one ``connect`` or by
several, and their parts: words name the communicator by its context (``lanes``).
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from threading import Lock
from typing import Any

import numpy as np
from mpi4py import MPI

from refcoll.transport import Known, Standing, silent
from refcoll_mpi import processes
from refcoll_mpi.processes import Process
from refcoll_mpi.telling import ENDED, Failure, Wait, Word, cut, heard, told

_TAG = 1


class Control:
    """One process's end.  Ranks here are those of ``comm``, which it owns."""

    def __init__(self, comm: MPI.Intracomm) -> None:
        comm.Set_errhandler(MPI.ERRORS_RETURN)
        self.comm = comm
        self.waits: dict[int, Wait] = {}
        """By context."""
        self.failures: dict[int | None, Failure] = {}
        """By context; None is for all of them."""
        self._answers: dict[int, dict[int, Standing | str]] = {}
        """By context, by rank."""
        self.ended: dict[int, float] = {}
        """Ranks that have come to their end, and when that was heard."""
        self.leaving = False
        """Whether this process has."""
        self._sent: list[tuple[MPI.Request, Any]] = []
        self._lock = Lock()
        self.processes = _seen(comm)

    @contextmanager
    def waiting(self, context: int, wait: Wait) -> Iterator[None]:
        """Meanwhile, tell this to those that ask."""
        self.waits[context] = wait
        try:
            yield
        finally:
            del self.waits[context]

    def poll(self) -> None:
        """Hear what has come, and let MPI go on."""
        try:
            self._poll()
        except MPI.Exception:  # of words to or from a rank that is gone: nothing to hear there
            return

    def _poll(self) -> None:
        while self.comm.Iprobe(MPI.ANY_SOURCE, _TAG):
            with self._lock:
                status = MPI.Status()
                found = self.comm.Improbe(MPI.ANY_SOURCE, _TAG, status)
                if found is None:  # another thread has it
                    return
                data = bytearray(status.Get_count(MPI.BYTE))
                found.Recv([data, MPI.BYTE])
            self._hear(status.source, json.loads(data))

    def fail(self, context: int | None, failure: Failure, ranks: Iterable[int]) -> None:
        """Tell ``ranks`` that a communicator has failed, or, if ``context`` is None, all."""
        self.failures.setdefault(context, failure)
        word = {"failed": context, "reason": cut(failure.reason), "culprit": failure.culprit}
        self._tell(word, ranks)

    def failure(self, contexts: Sequence[int]) -> tuple[Failure, int | None] | None:
        """How the first of these that has failed did, if one has; and which one that is."""
        for context in (*contexts, None):
            if context in self.failures:
                return self.failures[context], context
        return None

    def ask(self, context: int, ranks: Iterable[int]) -> None:
        """Ask ranks where they stand, as those of communicator ``context``."""
        self._tell({"ask": context}, ranks)

    def answered(self, context: int, ranks: Sequence[int]) -> dict[int, Standing | str]:
        """What has been answered since, by number in ``ranks``; -1 - r is a rank r that is not
        there."""
        found: dict[int, Standing | str] = {}
        for rank, answer in list(self._answers.get(context, {}).items()):
            if isinstance(answer, Standing) and answer.elsewhere:
                here = (ranks.index(r) if r in ranks else -1 - r for r in answer.awaits)
                answer = replace(answer, awaits=tuple(here))
            found[ranks.index(rank)] = answer
        return found

    def known(self, context: int, ranks: Sequence[int]) -> Known:
        """The same, and what the system tells of processes of this node."""
        found = self.answered(context, ranks)
        for number, rank in enumerate(ranks):
            process = self.processes[rank]
            if process and (trouble := process.trouble()):
                found[number] = trouble
            elif process:
                runs = silent(f"busy elsewhere, and waits for nobody ({process} runs)")
                found.setdefault(number, runs)
        return found

    def forget_answers(self, context: int) -> None:
        """Those to what was asked in an earlier wait."""
        self._answers.pop(context, None)

    def forget(self, context: int) -> None:
        """A communicator is no more."""
        self.failures.pop(context, None)
        self.forget_answers(context)

    def _tell(self, word: Word, ranks: Iterable[int]) -> None:
        data = np.frombuffer(json.dumps(word).encode(), np.uint8)
        with self._lock:
            self._sent = [each for each in self._sent if not finished(each[0])]
            for rank in ranks:
                if rank != self.comm.rank:
                    with suppress(MPI.Exception):  # it may be gone
                        self._sent.append((self.comm.Isend([data, MPI.BYTE], rank, _TAG), data))

    def _hear(self, source: int, word: Word) -> None:
        if "failed" in word:
            said = Failure(word["reason"], word["culprit"])
            self.failures.setdefault(word["failed"], said)
        elif "ask" in word:
            self._tell({"answer": word["ask"], **self._here(word["ask"])}, [source])
        else:
            where = word["where"]
            answer = where if isinstance(where, str) else heard(where)
            self._answers.setdefault(word["answer"], {})[source] = answer
            if answer == ENDED:
                self.ended.setdefault(source, time.monotonic())

    def _here(self, context: int) -> Word:
        """Where this process stands, as those of communicator ``context`` want to know."""
        if self.leaving:
            return {"where": ENDED}
        if (here := self.waits.get(context)) is not None:
            return {"where": told(here.standing())}
        elsewhere = [wait.elsewhere() for wait in list(self.waits.values())]
        if elsewhere:
            return {"where": told(elsewhere[0])}
        for other in controls():
            for wait in list(other.waits.values()):
                doing = cut(wait.doing())
                return {"where": f"waits for another rank, in {doing} of another communicator"}
        return {"where": "is about to go on"}


def finished(request: MPI.Request) -> bool:
    """Whether it has come to an end, be it by a rank that is gone."""
    try:
        return request.Test()
    except MPI.Exception:
        return True


def _seen(comm: MPI.Intracomm) -> list[Process | None]:
    """The processes that this one can watch: of its node, and of its process namespace."""
    mine = processes.own()
    said = comm.allgather((MPI.Get_processor_name(), mine))
    here = said[comm.rank][0]
    return [
        process
        if process and mine and node == here and process.space == mine.space
        and not process.ended() else None
        for node, process in said
    ]  # fmt: skip


_made: dict[tuple[int, ...], Control] = {}
"""By the processes' ranks in COMM_WORLD."""


def control(comm: MPI.Intracomm) -> Control:
    """The Control of the processes of ``comm``, in its order.  Collective over ``comm``."""
    mine, world = comm.Get_group(), MPI.COMM_WORLD.Get_group()
    ranks = tuple(mine.Translate_ranks(None, world))
    mine.Free()
    world.Free()
    if MPI.UNDEFINED in ranks:  # started later, by another job: not known by their numbers
        return Control(comm.Dup())
    if ranks not in _made:
        _made[ranks] = Control(comm.Dup())
    return _made[ranks]


def controls() -> list[Control]:
    """All there are."""
    return list(_made.values())
