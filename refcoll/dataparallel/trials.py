"""One training on all ranks, as a report: the same way of looking at every way to train."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isfinite
from statistics import fmean
from typing import Any

import numpy as np

from refcoll.communicator import Communicator
from refcoll.dataparallel.tasks import How, Task
from refcoll.dataparallel.timeline import Timeline, gather
from refcoll.dataparallel.training import Listener, Outcome, alone, train
from refcoll.stragglers import Stragglers

DTYPES = ("float32", "float64")
MARGIN = 30
MOST = 0.01
"""Where rounding may move the loss by more than this, its curve tells right from wrong no more."""


@dataclass(frozen=True)
class Reference:
    """What one process does, and how much rounding matters to it."""

    curve: tuple[float, ...]
    """Loss by epoch."""
    spread: float
    """How far that moves, relatively, if the samples of each batch are added in another order."""

    @property
    def within(self) -> float:
        """The relative distance from the curve that rounding may explain.

        Training carries a rounding on from step to step, some networks more than others: so it
        is ``MARGIN`` times what another order of adding does to one process.
        """
        return MARGIN * self.spread

    def gap(self, losses: Sequence[float]) -> float:
        """The greatest relative distance of other losses from the curve."""
        with np.errstate(all="ignore"):
            curve = np.array(self.curve)
            return float(np.max(np.abs(np.array(losses) - curve) / np.abs(curve)))


def reference(comm: Communicator, task: Task) -> Reference:
    """Rank 0 trains alone, twice, and tells the others.  Collective."""
    curves = np.zeros((2, task.epochs))
    if comm.rank == 0:
        curves[:] = alone(task), alone(task, backwards=True)
    curve, other = comm.broadcast(curves).tolist()
    unit = float(np.finfo(task.train.x.dtype).eps)
    made = Reference(tuple(curve), 0.0)
    return replace(made, spread=max(made.gap(other), unit))


@dataclass(frozen=True)
class Trial:
    """What came of a training."""

    way: str
    ranks: int
    losses: list[float]
    accuracies: list[float]
    gap: float
    """The greatest relative distance from the loss curve of one process."""
    within: float | None
    """The most that this may be; None where the way changes what is computed."""
    differing: dict[str, list[int]]
    nbytes: int
    """Of all gradients: S."""
    sent: float
    """Bytes a step, of the rank that sent most."""
    samples_per_second: float
    communication: float
    """Seconds a step, mean over ranks, as are the others."""
    exposed: float
    """From the end of backward to that of the last reduction: waiting for late ranks is in it."""
    hidden: float
    """The share of ``communication`` that ran while backward went on."""
    last_step: list[Timeline]
    """By rank."""
    stragglers: Stragglers | None

    @property
    def least(self) -> float:
        """2(N-1)/N S, bytes that an all-reduce has some rank send."""
        return 2 * (self.ranks - 1) / self.ranks * self.nbytes

    @property
    def stable(self) -> bool:
        """Whether the loss is finite, and rounding moves it so little that its curve tells."""
        return isfinite(self.gap) and (self.within is None or self.within <= MOST)

    @property
    def holds(self) -> bool:
        """Replicas alike to the bit, and, unless compressed, the loss curve right."""
        if self.differing or self.within is None:
            return not self.differing
        return self.stable and self.gap <= self.within

    def as_json(self) -> dict[str, Any]:
        """Numbers and words alone."""
        names = (
            "way", "ranks", "losses", "accuracies", "gap", "within", "differing", "nbytes", "sent",
            "least", "samples_per_second", "communication", "exposed", "hidden", "holds",
        )  # fmt: skip
        return {name: getattr(self, name) for name in names}


def trial(
    comm: Communicator,
    task: Task,
    how: How,
    alone: Reference,
    *,
    exact: bool = True,
    listener: Listener | None = None,
    watch: bool = False,
) -> Trial:
    """Train, and gather what all ranks have seen.  Collective.

    ``alone`` is what ``reference`` gives; ``exact`` says that the way computes the same, but
    for rounding.
    """
    outcome = train(comm, task, how, listener, watch)
    seen = comm.agreement.collect({"collective": "trial", **_numbers(outcome)}, (), comm.timeout)
    nbytes = sum(each.nbytes for each in outcome.parameters.values())
    return Trial(
        how.name,
        comm.size,
        outcome.losses,
        outcome.accuracies,
        alone.gap(outcome.losses),
        alone.within if exact else None,
        outcome.differing,
        nbytes,
        max(each["sent"] for each in seen),
        task.epochs * len(task.train) / max(each["seconds"] for each in seen),
        fmean(each["communication"] for each in seen),
        fmean(each["exposed"] for each in seen),
        fmean(each["hidden"] for each in seen),
        gather(comm, outcome.timelines[-1]),
        outcome.stragglers,
    )


def _numbers(outcome: Outcome) -> dict[str, float]:
    steps = len(outcome.timelines) - 1
    counted = outcome.traffic.sent_bytes if outcome.traffic is not None else 0
    return {
        "sent": counted / steps if steps else 0.0,
        "seconds": outcome.seconds,
        "communication": outcome.mean(lambda each: each.communication),
        "exposed": outcome.mean(lambda each: each.total_exposed),
        "hidden": outcome.mean(lambda each: each.hidden),
    }
