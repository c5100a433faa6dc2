"""Why are four nodes not four times as fast: what takes the missing part.

    scaling = nodes x (seconds per micro-batch on one node) / (seconds on all nodes)

One thing after another is added to a step that only computes, and what the step takes more is
that thing's share, on one node and on all:

    compute        forward and backward
    bandwidth      exposed communication, were every message's latency nothing
    latency        what latencies, overheads of calls and gaps expose more
    interference   computing that is slower while a bucket is being reduced
    straggler      waiting for a rank that is later than ranks of one node are

The order is part of the answer: what one cause hides another cannot show again.  Times are the
model's: measured tables are left aside, since they do not tell latency from bandwidth.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations, pairwise
from math import comb
from typing import Any

from refcoll.errors import ArgumentError
from refcoll.planning.machine import Machine
from refcoll.planning.predicting import Prediction
from refcoll.planning.timeline import Step, calls, timed
from refcoll.planning.timeline_training import Training

CAUSES = ("compute", "bandwidth", "latency", "interference", "straggler")
_MOST = 6
"""Changes whose orders are all tried."""


@dataclass(frozen=True)
class Setup:
    """A training on a machine."""

    training: Training
    machine: Machine

    @cached_property
    def step(self) -> Step:
        """All causes together."""
        return self._step(latency=True, interference=True, late=True)

    @cached_property
    def causes(self) -> Mapping[str, float]:
        """Seconds for each micro-batch, by cause; their sum is the step's."""
        compute = self.training.compute / self.training.accumulate
        steps = [
            self._step(latency=False, interference=False, late=False),
            self._step(latency=True, interference=False, late=False),
            self._step(latency=True, interference=True, late=False),
            self.step,
        ]
        totals = [0.0, compute, *(each.per_micro_batch for each in steps)]
        shares = [more - less for less, more in pairwise(totals)]
        return dict(zip(CAUSES, shares, strict=True))

    @property
    def on_one_node(self) -> Setup:
        """The same on one of its nodes, where no rank is later than usual."""
        return Setup(replace(self.training, late=0.0), self.machine.shaped(nodes=1))

    def _step(self, *, latency: bool, interference: bool, late: bool) -> Step:
        told = self.training
        made = calls(told, self.machine.shaped(tables=()))

        def seconds(each: Prediction) -> float:
            return each.seconds - (0.0 if latency else each.latency or 0.0)

        changed = replace(
            told,
            interference=told.interference if interference else 1.0,
            late=told.late if late else 0.0,
        )
        lengths = [seconds(each) for each in made.buckets]
        gather = sum(seconds(each) for each in made.gathers)
        return timed(changed, self.machine.ranks, lengths, gather)


@dataclass(frozen=True)
class Change:
    """Something done differently, as in "2 micro-batches a step"."""

    title: str
    training: Mapping[str, Any] = field(default_factory=dict)
    machine: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, setup: Setup) -> Setup:
        """With it."""
        changed = replace(setup.training, **self.training)
        return Setup(changed, setup.machine.shaped(**self.machine))


@dataclass(frozen=True)
class Gain:
    """What a change adds to the scaling."""

    change: Change
    scaling: float
    """With it and those before it."""
    in_turn: float
    alone: float
    """As the only change."""
    mean: float
    """Over all orders in which the changes could be made (Shapley, 1953); they add up."""


@dataclass(frozen=True)
class Why:
    """From one node to all, then from change to change.  The one node stays as it was."""

    setup: Setup
    changes: Sequence[Change] = ()

    def __post_init__(self) -> None:
        if self.setup.machine.nodes < 2:
            raise ArgumentError(f"nodes={self.setup.machine.nodes} must be at least 2 to compare")
        if len(self.changes) > _MOST:
            raise ArgumentError(f"changes={len(self.changes)} are too many: use at most {_MOST}")

    @cached_property
    def one_node(self) -> Setup:
        """What all scaling is measured against."""
        return self.setup.on_one_node

    def scaling(self, setup: Setup) -> float:
        """Samples a second over the one node's."""
        one = self.one_node.step.per_micro_batch
        return setup.machine.nodes * one / setup.step.per_micro_batch

    def waterfall(self, setup: Setup) -> Iterator[tuple[str, float, float, float]]:
        """By cause: seconds for each micro-batch on one node, on all; the scaling with what is
        missing up to it.  It begins at the number of nodes and ends at ``scaling(setup)``."""
        one = self.one_node.step.per_micro_batch
        total = one
        for cause in CAUSES:
            here, there = self.one_node.causes[cause], setup.causes[cause]
            total += there - here
            yield cause, here, there, setup.machine.nodes * one / total

    @cached_property
    def changed(self) -> Setup:
        """With all changes."""
        return self._with(range(len(self.changes)))

    @cached_property
    def gains(self) -> list[Gain]:
        """What each change brings."""
        many = range(len(self.changes))
        value = {
            some: self.scaling(self._with(some))
            for count in range(len(self.changes) + 1)
            for some in combinations(many, count)
        }
        return [self._gain(place, value) for place in many]

    def _gain(self, place: int, value: Mapping[tuple[int, ...], float]) -> Gain:
        count = len(self.changes)
        mean = sum(
            (value[tuple(sorted((*some, place)))] - before) / (count * comb(count - 1, len(some)))
            for some, before in value.items()
            if place not in some
        )
        before, after = value[tuple(range(place))], value[tuple(range(place + 1))]
        alone = value[(place,)] - value[()]
        return Gain(self.changes[place], after, after - before, alone, mean)

    def _with(self, some: Sequence[int]) -> Setup:
        setup = self.setup
        for place in some:
            setup = self.changes[place](setup)
        return setup
