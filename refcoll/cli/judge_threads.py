"""Judge on threads, in a process of their own, which may crash."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from refcoll.cli.judge_replay import replay
from refcoll.cli.judge_report import Telling
from refcoll.cli.judge_trial import PATIENCE, Prepare, Trial
from refcoll.errors import ArgumentError
from refcoll.oracle.apart import Say, apart
from refcoll.oracle.calls import Call
from refcoll.oracle.courts import in_process
from refcoll.oracle.hanging import crash
from refcoll.oracle.implementation import named, takes_comm
from refcoll.oracle.judging import Judgement
from refcoll.oracle.making import NotMadeError
from refcoll.oracle.watchdog import LastResort

_RANKS = 4


def on_threads(trial: Trial, prepare: Prepare, telling: Telling) -> bool:
    """Whether it holds.  The library, which may crash, runs in a process of its own, and each
    time that a finding is tried again in another."""
    size = trial.ranks or _RANKS
    case = prepare(size)

    def hear(said: str | Judgement) -> None:
        if isinstance(said, Judgement):
            telling.judged(said)
        else:
            telling.begin(trial.report(said, size, False, case.known), case.calls)

    try:
        how = apart(partial(_judge, trial, size, case.calls), hear)
        if telling.report is None:
            raise NotMadeError(f"its process {how}")
        if how is not None:
            telling.crashed(f"its process {how}")
        telling.rest()
        replay(telling.report, partial(_anew, trial, size), telling.needed)
    except NotMadeError as error:
        raise trial.not_made(error) from error
    return telling.end()


def _judge(trial: Trial, size: int, calls: Sequence[Call], say: Say) -> None:
    """Says what the implementation calls itself, then each judgement."""
    make = trial.make()
    if trial.algorithm is None and not takes_comm(str(trial.implementation)):
        raise ArgumentError(
            f"implementation={trial.implementation!r} takes no communicator, so its ranks are "
            f"processes: mpirun -n {size} refcoll judge {trial.implementation}"
        )
    in_process(
        make, size, calls,
        seed=trial.seed, timeout=min(trial.timeout / 2, PATIENCE), limit=trial.timeout,
        on_judgement=say, on_made=lambda made: say(named(made)),
        last_resort=LastResort(trial.timeout + PATIENCE),
    )  # fmt: skip


def _anew(trial: Trial, size: int, calls: Sequence[Call]) -> list[Judgement]:
    """The verdicts on an implementation that is loaded and made anew."""
    said: list[Any] = []
    how = apart(partial(_judge, trial, size, calls), said.append)
    found = [each for each in said if isinstance(each, Judgement)]
    if how is not None and len(found) < len(calls):
        found.append(crash(calls[len(found)], trial.seed, f"its process {how}"))
    return found
