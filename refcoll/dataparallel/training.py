"""Train an MLP on any number of replicas, and measure: what `refcoll train` does.

A step takes one global batch, cuts it into as many parts as there are ranks, each of them into
micro-batches, and gives every sample the same weight; so runs with any number of ranks,
micro-batches and buckets compute the same, but for rounding.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field

import numpy as np

from refcoll.communicator import Communicator
from refcoll.dataparallel.digits import Images
from refcoll.dataparallel.mlp import Parameters, backward, forward, losses
from refcoll.dataparallel.optimizers import Optimizer
from refcoll.dataparallel.parallel import DataParallel
from refcoll.dataparallel.replicas import differing
from refcoll.dataparallel.sharded import Sharded
from refcoll.dataparallel.tasks import How, Task
from refcoll.dataparallel.timeline import Timeline
from refcoll.stragglers import Stragglers
from refcoll.testing.counting import Counting, Traffic


@dataclass
class Outcome:
    """What came of it on one rank."""

    parameters: Parameters
    losses: list[float] = field(default_factory=list)
    """By epoch, the mean over all samples of their losses when they were trained on."""
    accuracies: list[float] = field(default_factory=list)
    """By epoch, on the test images."""
    seconds: float = 0.0
    timelines: list[Timeline] = field(default_factory=list)
    differing: dict[str, list[int]] = field(default_factory=dict)
    """Parameters that are not alike to the bit, and on which ranks."""
    traffic: Traffic | None = None
    """Of the steps after the first, where the transport counts it."""
    stragglers: Stragglers | None = None
    """Of the last epoch, if that was watched."""

    def mean(self, of: Callable[[Timeline], float]) -> float:
        """Over the steps after the first, which builds buckets."""
        later = self.timelines[1:] or self.timelines
        return sum(map(of, later)) / len(later)


class Listener:
    """Hears how far a training has come; what that takes is not timed."""

    def step(self, epoch: int, number: int) -> None:
        """A step is done."""

    def epoch(self, epoch: int, outcome: Outcome) -> None:
        """An epoch is done."""


def train(
    comm: Communicator, task: Task, how: How, listener: Listener | None = None, watch: bool = False
) -> Outcome:
    """Train one replica; all ranks call it.  ``watch`` tells who was late in the last epoch."""
    parameters, optimizer = task.begun()
    with how.replica(comm, parameters, optimizer) as replica:
        run = _Run(task, how, replica, optimizer, Outcome(parameters), listener or Listener())
        for epoch in range(task.epochs):
            last = epoch == task.epochs - 1
            with replica.comm.watch() if watch and last else nullcontext() as seen:
                run.epoch(epoch, comm)
        run.outcome.traffic = run.traffic()
        run.outcome.stragglers = None if seen is None else seen.report()
    run.outcome.differing = differing(comm, parameters)
    return run.outcome


@dataclass
class _Run:
    """One replica's training under way."""

    task: Task
    how: How
    replica: DataParallel | Sharded
    optimizer: Optimizer
    outcome: Outcome
    listener: Listener

    def epoch(self, epoch: int, comm: Communicator) -> None:
        """All steps of it, and what came of them."""
        outcome, task, total = self.outcome, self.task, 0.0
        for number, places in enumerate(task.steps(epoch)):
            began = time.monotonic()
            total += self.step(task.train.take(places))
            outcome.seconds += time.monotonic() - began
            if len(outcome.timelines) == 1:
                self.traffic()  # buckets were built anew; from now on steps are alike
            self.listener.step(epoch, number)
        everyone = comm.all_reduce(np.array(total), algorithm="recursive_doubling")
        outcome.losses.append(float(everyone) / len(task.train))
        outcome.accuracies.append(accuracy(outcome.parameters, task.test))
        self.listener.epoch(epoch, outcome)

    def step(self, batch: Images) -> float:
        """One step, on this rank's part of the batch; the sum of its losses."""
        comm = self.replica.comm
        mine = np.array_split(np.arange(len(batch)), comm.size)[comm.rank]
        *earlier, last = np.array_split(mine, self.how.accumulate)
        with self.replica.no_sync():
            total = sum(self.micro_batch(batch.take(part)) for part in earlier)
        total += self.micro_batch(batch.take(last), self.how.delay)
        if isinstance(self.replica, DataParallel):
            self.optimizer.step(self.outcome.parameters, self.replica.wait())
        else:
            self.replica.step()
        assert self.replica.timeline is not None  # a step is over
        self.outcome.timelines.append(self.replica.timeline)
        return total

    def micro_batch(self, batch: Images, delay: float = 0.0) -> float:
        """Forward and backward; the sum of the losses.  There may be no sample in it."""
        parameters = self.outcome.parameters
        values = forward(parameters, batch.x)
        with self.replica.backward(len(batch)) as ready:
            time.sleep(delay)
            for name, gradient in backward(parameters, values, batch.labels):
                ready(name, gradient)
        return float(losses(values[-1], batch.labels).sum(dtype=np.float64))

    def traffic(self) -> Traffic | None:
        """What the replica's transport has counted since it was last asked."""
        end = self.replica.comm.transport
        return end.take() if isinstance(end, Counting) else None


def alone(task: Task, backwards: bool = False) -> list[float]:
    """The loss curve of one process that takes each global batch at once.

    ``backwards`` takes the samples of each batch in the opposite order: the same sums, added
    up in another order.
    """
    parameters, optimizer = task.begun()
    curve = []
    for epoch in range(task.epochs):
        total = 0.0
        for places in task.steps(epoch):
            batch = task.train.take(places[::-1] if backwards else places)
            values = forward(parameters, batch.x)
            total += float(losses(values[-1], batch.labels).sum(dtype=np.float64))
            optimizer.step(parameters, dict(backward(parameters, values, batch.labels)))
        curve.append(total / len(task.train))
    return curve


def accuracy(parameters: Parameters, images: Images) -> float:
    """The share of images whose label gets the largest logit."""
    logits = forward(parameters, images.x)[-1]
    return float((logits.argmax(axis=1) == images.labels).mean())
