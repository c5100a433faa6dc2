"""Judge on threads of this process, or as one process of a job."""

from __future__ import annotations

import faulthandler
from dataclasses import dataclass
from functools import partial

from refcoll.cli.judge_calls import Asked
from refcoll.cli.judge_report import Telling
from refcoll.errors import ArgumentError
from refcoll.launching import launched_size
from refcoll.oracle.adapters.own import Own
from refcoll.oracle.courts import in_process
from refcoll.oracle.implementation import Factory, factory, named, takes_comm
from refcoll.oracle.monitoring import monitor, traffic
from refcoll.oracle.reporting.report import Report, Setting
from refcoll.oracle.xfails import Xfails
from refcoll.registry import algorithms
from refcoll.spawning import spawn

_RANKS = 4


@dataclass(frozen=True)
class Trial:
    """Who is judged, and how."""

    implementation: str
    algorithm: str | None
    ranks: int | None
    seed: int
    timeout: float
    xfails: Xfails

    def make(self) -> Factory:
        """Raises ArgumentError where there is no such implementation."""
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

    def setting(self, name: str, size: int, launched: bool) -> Setting:
        """For the report."""
        options = () if self.algorithm is None else ("-a", self.algorithm)
        return Setting(self.implementation, name, size, launched, self.seed, options)


def tried(trial: Trial, asked: Asked, telling: Telling) -> bool:
    """Whether it holds; ``telling`` has told all of it."""
    if launched_size() is None:
        return _on_threads(trial, asked, telling)
    if trial.ranks is not None:
        raise ArgumentError(f"ranks={trial.ranks} is for threads; mpirun -n sets the ranks here")
    return _in_a_job(trial, asked, telling)


def _on_threads(trial: Trial, asked: Asked, telling: Telling) -> bool:
    size, make = trial.ranks or _RANKS, trial.make()
    if trial.algorithm is None and not takes_comm(trial.implementation):
        raise ArgumentError(
            f"implementation={trial.implementation!r} takes no communicator, so its ranks are "
            f"processes: mpirun -n {size} refcoll judge {trial.implementation}"
        )
    calls = asked.on(size)
    name = spawn(1, lambda comm: named(make(comm)))[0]
    telling.begin(Report(trial.setting(name, size, False), trial.xfails), len(calls))
    in_process(
        make, size, calls,
        seed=trial.seed, timeout=min(trial.timeout, 2.0), on_judgement=telling.judged,
    )  # fmt: skip
    return telling.end()


def _in_a_job(trial: Trial, asked: Asked, telling: Telling) -> bool:
    from refcoll.oracle.processes import Jury

    faulthandler.enable()  # a library that crashes takes this process with it
    make = trial.make()
    if trial.implementation == "mpi":
        monitor()
    jury = Jury(
        make, seed=trial.seed, timeout=trial.timeout,
        on_judgement=telling.judged, on_end=telling.end,
    )  # fmt: skip
    size, calls = jury.comm.size, asked.on(jury.comm.size)
    name = named(jury.implementation)
    telling.show = jury.comm.rank == 0
    report = Report(trial.setting(name, size, True), trial.xfails)
    telling.begin(report, len(calls))
    report.judgements[:] = jury.judge(calls)
    if trial.implementation == "mpi":
        report.traffic = traffic(jury.implementation)
    jury.close()
    return telling.end()
