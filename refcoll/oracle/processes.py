"""A court for jobs: every process is a rank, of the judge and of the implementation."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import NoReturn, Self

from refcoll.connecting import connect
from refcoll.errors import ArgumentError, PoisonedError, TransportError
from refcoll.oracle.bell import GATHERING, Bell, end
from refcoll.oracle.calls import Call
from refcoll.oracle.hanging import hang, places, said_making
from refcoll.oracle.implementation import Factory, Implementation
from refcoll.oracle.judging import Judge, Judgement
from refcoll.oracle.verdicts import Standing
from refcoll.oracle.watchdog import LastResort, Watch, under
from refcoll.words import ranked

Told = Callable[[Judgement], object]
OnHang = Callable[[Judgement | None, str], object]


def ignore(*_: object) -> None:
    """What is told."""


class Jury:
    """This process's rank, of a job whose ranks judge one implementation together."""

    def __init__(
        self,
        *,
        seed: int = 0,
        timeout: float = 30.0,
        on_judgement: Told = ignore,
        on_hang: OnHang = ignore,
        last_resort: LastResort | None = None,
    ) -> None:
        """``timeout``: seconds after which a call hangs.  On rank 0 ``on_judgement`` is told
        each judgement, and ``on_hang``, before a hang ends the job, the judgement, or None while
        the implementation is made, and in words where the ranks are.  Collective.
        """
        # The judge waits for others while these are in a trial, which is three calls.
        self.comm = connect("mpi", timeout=3 * timeout + 2 * GATHERING)
        self._seed, self._timeout = seed, timeout
        self._on_judgement, self._on_hang = on_judgement, on_hang
        self.hurt = False
        """Whether a call has failed, so that messages of its own may still be under way."""
        self._call: Call | None = None
        self._watch, self._talking = Watch(), threading.Lock()
        self._bell = Bell(self.comm, self._watch, timeout, self._hangs, last_resort)

    def require(self, error: ArgumentError | None) -> None:
        """Raise ArgumentError on all ranks where there is an error on any.  Collective."""
        record = {"collective": "judge", "error": error and str(error)}
        everyone = self.comm.agreement.collect(record, (), self.comm.timeout)
        ranks: dict[str, list[int]] = {}
        for rank, each in enumerate(everyone):
            if each["error"] is not None:
                ranks.setdefault(each["error"], []).append(rank)
        if error is not None and ranks == {str(error): [*range(self.comm.size)]}:
            raise error
        if ranks:
            raise ArgumentError(
                "; ".join(f"{ranked(those)}: {said}" for said, those in ranks.items())
            )

    def begin(self, make: Factory) -> Implementation:
        """Have all ranks make their implementation; this one's.

        Collective.  Raises NotMadeError, or an ArgumentError that all raise, on all ranks.
        """
        try:
            self._judge = Judge(self.comm, partial(self._made, make), self._seed, self._watch)
        except (TransportError, PoisonedError):  # the judge's own messages
            self._bell.ring()
        finally:
            self._forgive()
        return self._judge.implementation

    @property
    def implementation(self) -> Implementation:
        """This rank's, as it is now."""
        return self._judge.implementation

    def anew(self, make: Factory, calls: Iterable[Call]) -> list[Judgement]:
        """The verdicts on an implementation that is made anew, told to nobody.  Collective."""
        told, self._on_judgement = self._on_judgement, ignore
        try:
            self.begin(make)
            return self.judge(calls)
        finally:
            self._on_judgement = told

    def judge(self, calls: Iterable[Call]) -> list[Judgement]:
        """The verdicts, the same on all ranks.  Collective; does not return after a hang."""
        found, listed = list[Judgement](), list(calls)
        for number, self._call in enumerate(listed, 1):
            name = f"rank {self.comm.rank}, call {number} of {len(listed)}: {self._call}"
            found.append(under(name, partial(self._judged, self._call)))
            if self.comm.rank == 0:
                with self._talking:
                    self._on_judgement(found[-1])
            if found[-1].last:
                break
        return found

    def _judged(self, call: Call) -> Judgement:
        try:
            judgement = self._judge.judge(call)
        except (TransportError, PoisonedError):  # the judge's own messages
            self._bell.ring()
        if any(finding.verdict == "finished" for finding in judgement.findings):
            self.hurt = True
            self._forgive()
        return judgement

    def _made(self, make: Factory) -> Implementation:
        """An implementation on a communicator that nothing has failed on yet."""
        return make(connect("mpi", timeout=self._timeout / 2))

    def _forgive(self) -> None:
        """What failed was the implementation's; all ranks have met since, and the job goes on."""
        getattr(self.comm.transport, "forgive", ignore)()

    def _hangs(self, standing: Sequence[Standing]) -> int:
        """On rank 0, in the bell's thread."""
        self._talking.acquire()  # for good: nothing more is told
        judgement, what = None, said_making(self._timeout, standing)
        if self._call is not None:
            judgement = hang(self._call, self._seed, self._timeout, standing)
            what = str(judgement.findings[0])
        self._on_hang(judgement, "\n".join([what, *places(standing)]))
        return 2 if judgement is None else 1

    def end(self, status: int) -> NoReturn:
        """End the job when all ranks have come here: MPI's own end might wait for messages that
        nobody receives.  Collective."""
        self.comm.agreement.collect({"collective": "end"}, (), self.comm.timeout)
        if self.comm.rank == 0:
            end(status)
        while True:
            time.sleep(GATHERING)

    def close(self) -> None:
        """There are no more calls."""
        self._bell.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()
