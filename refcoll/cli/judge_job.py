"""Judge as one process of a job."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from refcoll.cli.judge_heir import Heir
from refcoll.cli.judge_replay import replay
from refcoll.cli.judge_report import Telling, said_once
from refcoll.cli.judge_trial import PATIENCE, Case, Trial
from refcoll.errors import ArgumentError
from refcoll.launching import launched_rank
from refcoll.oracle.implementation import Factory, Implementation, named
from refcoll.oracle.judging import Judgement
from refcoll.oracle.making import NotMadeError
from refcoll.oracle.monitoring import monitor, traffic
from refcoll.oracle.watchdog import LastResort

if TYPE_CHECKING:
    from refcoll.oracle.processes import Jury

_LATER = 4
"""After so many times the limit, ranks whose Python stands still end by themselves: the others,
if they can, have ended the job before."""


def in_a_job(trial: Trial, prepare: Callable[[], Case], telling: Telling) -> bool:
    """Whether it holds; an heir of rank 0's tells if the job crashes."""
    from refcoll.oracle.processes import Jury

    if launched_rank() == 0:
        telling.heir = Heir(telling)
    if trial.implementation == "mpi":
        monitor()
    asked, error = _attempt(trial, prepare)
    with Jury(
        seed=trial.seed, timeout=trial.timeout,
        on_judgement=telling.judged, on_hang=partial(_hung, trial, telling),
        last_resort=LastResort(_LATER * trial.timeout + PATIENCE),
    ) as jury:  # fmt: skip
        telling.show = jury.comm.rank == 0
        make, case, made = _begun(jury, trial, asked, error)
        report = trial.report(named(made), jury.comm.size, True, case.known)
        telling.begin(report, case.calls)
        report.judgements[:] = jury.judge(case.calls)
        replay(report, partial(jury.anew, make), telling.needed, raised=False)
        if trial.implementation == "mpi" and report.stopped is None:
            report.traffic = traffic(jury.implementation)
        holds = telling.end()
        if jury.hurt and not holds:
            jury.end(1)
    return holds


def _begun(
    jury: Jury, trial: Trial, asked: tuple[Factory, Case] | None, error: ArgumentError | None
) -> tuple[Factory, Case, Implementation]:
    """The same on all ranks, or an error on all of them."""
    with said_once(jury.comm.rank):
        jury.require(error)
        assert asked is not None
        make, case = asked
        try:
            return make, case, jury.begin(make)
        except NotMadeError as why:
            raise trial.not_made(why) from why


def _attempt(
    trial: Trial, prepare: Callable[[], Case]
) -> tuple[tuple[Factory, Case] | None, ArgumentError | None]:
    try:
        return (trial.make(), prepare()), None
    except ArgumentError as error:
        return None, error


def _hung(trial: Trial, telling: Telling, judgement: Judgement | None, said: str) -> None:
    if judgement is None:
        sys.stderr.write(f"refcoll: {trial.not_made(said)}\n")
    else:
        telling.judged(judgement)
        telling.end()
