"""One training on all ranks, as a report: the same way of looking at every way to train."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean
from typing import Any

import numpy as np

from refcoll.communicator import Communicator
from refcoll.dataparallel.timeline import Timeline, gather
from refcoll.dataparallel.training import How, Listener, Outcome, Task, alone, train
from refcoll.stragglers import Stragglers

WITHIN = {"float32": 1e-4, "float64": 1e-10}
"""Relative distance from the loss curve of one process that rounding alone may explain.

Rounding in another order moves a loss by about the unit roundoff, 6e-8 or 1e-16; training carries
it on from step to step.  A mean of the wrong thing is off by far more.
"""


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
    last_step: list[Timeline]
    """By rank."""
    stragglers: Stragglers | None

    @property
    def least(self) -> float:
        """2(N-1)/N S, bytes that an all-reduce has some rank send."""
        return 2 * (self.ranks - 1) / self.ranks * self.nbytes

    @property
    def hidden(self) -> float:
        """The share of communication that backward has hidden."""
        return max(0.0, 1 - self.exposed / self.communication) if self.communication else 1.0

    @property
    def holds(self) -> bool:
        """Replicas alike to the bit, and, where that can be said, the loss curve right."""
        return not self.differing and (self.within is None or self.gap <= self.within)

    def as_json(self) -> dict[str, Any]:
        """Numbers and words alone."""
        names = (
            "way", "ranks", "losses", "accuracies", "gap", "within", "differing", "nbytes", "sent",
            "least", "samples_per_second", "communication", "exposed", "hidden", "holds",
        )  # fmt: skip
        return {name: getattr(self, name) for name in names}


def reference(comm: Communicator, task: Task) -> list[float]:
    """The loss curve of one process: rank 0 computes it, and tells the others."""
    curve = np.array(alone(task) if comm.rank == 0 else [0.0] * task.epochs)
    told: list[float] = comm.broadcast(curve).tolist()
    return told


def trial(
    comm: Communicator,
    task: Task,
    how: How,
    curve: list[float],
    *,
    exact: bool = True,
    listener: Listener | None = None,
    watch: bool = False,
) -> Trial:
    """Train, and gather what all ranks have seen.  Collective.

    ``curve`` is what ``reference`` gives; ``exact`` says that the way computes the same, but
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
        max(abs(a - b) / b for a, b in zip(outcome.losses, curve, strict=True)),
        WITHIN[str(task.train.x.dtype)] if exact else None,
        outcome.differing,
        nbytes,
        max(each["sent"] for each in seen),
        task.epochs * len(task.train) / max(each["seconds"] for each in seen),
        fmean(each["communication"] for each in seen),
        fmean(each["exposed"] for each in seen),
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
    }
