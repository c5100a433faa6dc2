"""Judge on threads of this process, or as one process of a job."""

from __future__ import annotations

import faulthandler
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from refcoll.cli.judge_replay import replay
from refcoll.cli.judge_report import Telling, said_once
from refcoll.errors import ArgumentError
from refcoll.launching import launched_size
from refcoll.oracle.adapters.own import Own
from refcoll.oracle.calls import Call
from refcoll.oracle.courts import in_process
from refcoll.oracle.hanging import leave
from refcoll.oracle.implementation import Factory, Implementation, factory, named, takes_comm
from refcoll.oracle.judging import Judgement
from refcoll.oracle.making import NotMadeError
from refcoll.oracle.monitoring import monitor, traffic
from refcoll.oracle.reporting.report import Report
from refcoll.oracle.reporting.setting import Setting
from refcoll.oracle.watchdog import LastResort
from refcoll.oracle.xfails import Xfails
from refcoll.registry import algorithms

if TYPE_CHECKING:
    from refcoll.oracle.processes import Jury

_RANKS = 4
_PATIENCE = 2.0
"""Seconds: how long a rank waits, on threads, for others that are in the same call."""
_LATER = 4
"""After so many times the limit, ranks whose Python stands still end by themselves: the others,
if they can, have ended the job before."""


@dataclass(frozen=True)
class Case:
    """What the command line comes to, once it is known to be right."""

    make: Factory
    calls: Sequence[Call]
    known: Xfails


Prepare = Callable[[int], Case]
"""For so many ranks.  Raises ArgumentError."""


@dataclass(frozen=True)
class Trial:
    """Who is judged, and how; as typed."""

    implementation: str | None
    algorithm: str | None
    ranks: int | None
    seed: int
    timeout: float

    def make(self) -> Factory:
        """Raises ArgumentError where there is no such implementation."""
        if self.implementation is None:
            raise ArgumentError(
                "implementation is missing: use mpi, torch:gloo, refcoll, or module:function"
            )
        if self.algorithm is None:
            return factory(self.implementation)
        if self.implementation != "refcoll":
            raise ArgumentError(
                f"algorithm={self.algorithm!r} is for refcoll's own collectives: "
                f"refcoll judge refcoll -a {self.algorithm}"
            )
        if "+" not in self.algorithm and not algorithms(None, self.algorithm):
            raise ArgumentError(f"algorithm={self.algorithm!r} does not exist; see `refcoll list`")
        return partial(Own, algorithm=self.algorithm)

    def report(self, made: Implementation, size: int, launched: bool, known: Xfails) -> Report:
        """An empty one."""
        options = () if self.algorithm is None else ("-a", self.algorithm)
        return Report(
            Setting(
                str(self.implementation), named(made), size, launched, self.seed, options,
                sys.argv[1:],
            ),
            known,
        )  # fmt: skip

    def not_made(self, why: object) -> ArgumentError:
        """In a line."""
        return ArgumentError(f"implementation={self.implementation!r} cannot be made: {why}")


def tried(trial: Trial, prepare: Prepare, telling: Telling) -> bool:
    """Whether it holds; ``telling`` has told all of it."""
    if not faulthandler.is_enabled() and sys.__stderr__ is not None:
        faulthandler.enable(sys.__stderr__)  # a library that crashes takes this process with it
    size = launched_size()
    if size is None:
        return _on_threads(trial, prepare, telling)
    return _in_a_job(trial, partial(prepare, size), telling)


def _on_threads(trial: Trial, prepare: Prepare, telling: Telling) -> bool:
    size = trial.ranks or _RANKS
    case = prepare(size)
    if trial.algorithm is None and not takes_comm(str(trial.implementation)):
        raise ArgumentError(
            f"implementation={trial.implementation!r} takes no communicator, so its ranks are "
            f"processes: mpirun -n {size} refcoll judge {trial.implementation}"
        )

    def begin(made: Implementation) -> None:
        telling.begin(trial.report(made, size, False, case.known), len(case.calls))

    resort = LastResort(trial.timeout + _PATIENCE)
    judging = partial(
        in_process, case.make, size,
        seed=trial.seed, timeout=min(trial.timeout / 2, _PATIENCE), limit=trial.timeout,
        last_resort=resort,
    )  # fmt: skip
    try:
        found = judging(case.calls, on_judgement=telling.judged, on_made=begin)
        replay(telling.report, judging)
    except NotMadeError as error:
        raise trial.not_made(error) from error
    finally:
        resort.stop()
    holds = telling.end()
    if any(each.hangs for each in found):
        leave(1)
    return holds


def _in_a_job(trial: Trial, prepare: Callable[[], Case], telling: Telling) -> bool:
    from refcoll.oracle.processes import Jury

    if trial.implementation == "mpi":
        monitor()
    case, error = _attempt(prepare)
    with Jury(
        seed=trial.seed, timeout=trial.timeout,
        on_judgement=telling.judged, on_hang=partial(_hung, trial, telling),
        last_resort=LastResort(_LATER * trial.timeout + _PATIENCE),
    ) as jury:  # fmt: skip
        telling.show = jury.comm.rank == 0
        case, made = _begun(jury, trial, case, error)
        report = trial.report(made, jury.comm.size, True, case.known)
        telling.begin(report, len(case.calls))
        report.judgements[:] = jury.judge(case.calls)
        replay(report, partial(jury.anew, case.make), raised=False)
        if trial.implementation == "mpi" and report.stopped is None:
            report.traffic = traffic(jury.implementation)
        holds = telling.end()
        if jury.hurt and not holds:
            jury.end(1)
    return holds


def _begun(
    jury: Jury, trial: Trial, case: Case | None, error: ArgumentError | None
) -> tuple[Case, Implementation]:
    """The same on all ranks, or an error on all of them."""
    with said_once(jury.comm.rank):
        jury.require(error)
        assert case is not None
        try:
            return case, jury.begin(case.make)
        except NotMadeError as why:
            raise trial.not_made(why) from why


def _attempt(prepare: Callable[[], Case]) -> tuple[Case | None, ArgumentError | None]:
    try:
        return prepare(), None
    except ArgumentError as error:
        return None, error


def _hung(trial: Trial, telling: Telling, judgement: Judgement | None, said: str) -> None:
    if judgement is None:
        sys.stderr.write(f"refcoll: {trial.not_made(said)}\n")
    else:
        telling.judged(judgement)
        telling.end()
