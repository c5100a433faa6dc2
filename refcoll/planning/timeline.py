"""A training step on a machine that need not be there: what of it communication takes.

    step = (k - 1) micro-batches   forward   backward ||| exposed   (parameters gathered)
           without reducing                 buckets are reduced meanwhile

Gradients become ready in the order in which rules expect them, the last parameter's first, each
after a share of backward as large as its share of the elements.  That is the share of FLOPs
where every weight is used once a token, as in transformers.  Convolutions near the input use
theirs more often: of a convolutional network most gradients are ready earlier than told here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from refcoll.dataparallel.buckets import Rule, assign
from refcoll.dataparallel.rules import Buckets
from refcoll.dataparallel.tensors import Tensor
from refcoll.dataparallel.timeline import BucketTimes, Timeline
from refcoll.errors import ArgumentError, flag, within
from refcoll.planning.machine import Machine, require
from refcoll.planning.predicting import Prediction, planner
from refcoll.planning.tables import LIBRARY
from refcoll.planning.timeline_overlap import Computing, Reduced, reduced

FASTEST = "fastest"
"""As an algorithm: for each bucket the one that the model expects to be the fastest."""


@dataclass(frozen=True, kw_only=True)
class Training:
    """What every rank trains, and how.  Times in seconds.  Raises ArgumentError."""

    model: tuple[Tensor, ...]
    """The gradients, in the order of the model's parameters."""
    backward: float
    """Of one micro-batch, on a rank that does nothing else meanwhile."""
    forward: float | None = None
    """Of one micro-batch, with all else that is computed; None: half of backward."""
    rule: Rule = "ddp"
    cap_bytes: int | None = None
    """At which a bucket is closed, if the rule has such a cap; None: the rule's default."""
    algorithm: str = LIBRARY
    accumulate: int = 1
    """Micro-batches a step."""
    reduce_all: bool = False
    """Whether every micro-batch's gradients are reduced (no ``no_sync``), not the last's alone."""
    compress: float = 1.0
    """How many times fewer bytes of gradients travel."""
    zero2: bool = False
    """Gradients are reduce-scattered, and parameters gathered at the end of the step."""
    late: float = 0.0
    """How much later than the others the last rank begins a backward that is reduced."""
    slowdown: float = 1.0
    """How many times longer computing takes while a bucket is being reduced."""

    def __post_init__(self) -> None:
        require("backward", self.backward, "seconds, above 0", lambda value: value > 0)
        require("forward", self.forward_seconds, "seconds, 0 or more", lambda value: value >= 0)
        require("compress", self.compress, "1 or more", lambda value: value >= 1)
        require("late", self.late, "seconds, 0 or more", lambda value: value >= 0)
        require("slowdown", self.slowdown, "1 or more", lambda value: value >= 1)
        within(self.accumulate, "accumulate", 1)
        flag(self.reduce_all, "reduce_all")
        flag(self.zero2, "zero2")
        if not sum(each.count for each in self.model):
            raise ArgumentError(f"model={self.model!r:.80} has no elements to reduce")

    @property
    def forward_seconds(self) -> float:
        """Backward computes two products where forward computes one."""
        return self.backward / 2 if self.forward is None else self.forward

    @property
    def compute(self) -> float:
        """Seconds of a step without any communication."""
        return self.accumulate * (self.forward_seconds + self.backward)

    @cached_property
    def buckets(self) -> Buckets:
        """In the order in which they are reduced."""
        capped = {} if self.cap_bytes is None else {"cap_bytes": self.cap_bytes}
        options: Any = capped
        return assign(self.model, self.rule, **options)


@dataclass(frozen=True)
class Calls:
    """What the communication of a step was predicted to take."""

    buckets: tuple[Prediction, ...]
    gathers: tuple[Prediction, ...] = ()
    """Of parameters, at the end of a ZeRO-2 step."""


@dataclass(frozen=True)
class Step:
    """One step.  Seconds."""

    training: Training
    ranks: int
    timelines: tuple[Timeline, ...]
    """Of the last micro-batch, from the begin of backward: a rank that is on time and, where one
    is late, that one, as ranks 0 and 1."""
    gather: float
    """In which parameters are gathered, with nothing beside it."""

    @property
    def seconds(self) -> float:
        """The whole step, of every rank."""
        told, last = self.training, self.timelines[0].wait_end
        reducing = told.accumulate if told.reduce_all else 1
        alone = (told.accumulate - reducing) * (told.forward_seconds + told.backward)
        return alone + reducing * (told.forward_seconds + last) + self.gather

    @property
    def per_micro_batch(self) -> float:
        """What decides over samples a second."""
        return self.seconds / self.training.accumulate

    @property
    def efficiency(self) -> float:
        """Computing's share of the step, from 0 to 1."""
        return self.training.compute / self.seconds


def calls(training: Training, machine: Machine) -> Calls:
    """Every collective of a step.  Raises ArgumentError for an algorithm that cannot run."""
    sizes = [round(each.nbytes / training.compress) for each in training.buckets]
    if not training.zero2:
        return Calls(_predicted(machine, "all_reduce", training.algorithm, sizes))
    whole = [each.nbytes for each in training.buckets]  # parameters are not compressed
    return Calls(
        _predicted(machine, "reduce_scatter", training.algorithm, sizes),
        _predicted(machine, "all_gather", training.algorithm, whole),
    )


def _predicted(
    machine: Machine, collective: str, algorithm: str, sizes: Sequence[int]
) -> tuple[Prediction, ...]:
    plans = planner(machine, collective)

    def one(nbytes: int) -> Prediction:
        if algorithm == FASTEST:
            return plans.models(nbytes)[0]
        return plans.of(algorithm, nbytes)

    known = {nbytes: one(nbytes) for nbytes in set(sizes)}
    return tuple(known[nbytes] for nbytes in sizes)


def work(training: Training) -> list[float]:
    """Seconds of backward before each bucket, after the one before it, by elements."""
    made = training.buckets
    arrival = {each.name: place for place, each in enumerate(training.model[::-1])}
    order = [each.count for each in training.model[::-1]]
    behind = [0]
    for count in order:
        behind.append(behind[-1] + count)
    ready = [behind[1 + max(arrival[each.name] for each in bucket.tensors)] for bucket in made]
    in_turn = [max(ready[: place + 1]) for place in range(len(ready))]
    shares = zip(in_turn, [0, *in_turn], strict=False)
    return [training.backward * (now - before) / behind[-1] for now, before in shares]


def step(training: Training, machine: Machine) -> Step:
    """What the model predicts."""
    made = calls(training, machine)
    gather = sum(each.seconds for each in made.gathers)
    lengths = [each.seconds for each in made.buckets]
    return timed(training, machine.ranks, lengths, gather)


def timed(training: Training, ranks: int, lengths: Sequence[float], gather: float = 0.0) -> Step:
    """With buckets that take ``lengths``, and a gather that takes as long as given."""
    needed = work(training)
    after = training.backward - sum(needed)
    late, slowdown = training.late, training.slowdown
    buckets, last = reduced(needed, lengths, begin=late, slowdown=slowdown, after=after)
    computing = Computing(0.0, slowdown, buckets)
    ready = [computing.advance(each) for each in needed]
    on_time = _timeline(0, 0.0, computing.advance(after), ready, buckets, training)
    if not late:
        return Step(training, ranks, (on_time,), gather)
    ready = [each.ready for each in buckets]
    return Step(
        training, ranks, (on_time, _timeline(1, late, last, ready, buckets, training)), gather
    )


def _timeline(
    rank: int, begin: float, end: float, ready: Sequence[float], buckets: Sequence[Reduced],
    training: Training,
) -> Timeline:  # fmt: skip
    sizes = [round(each.nbytes / training.compress) for each in training.buckets]
    told = tuple(
        BucketTimes(place, nbytes, when, each.start, each.end)
        for place, (nbytes, when, each) in enumerate(zip(sizes, ready, buckets, strict=True))
    )
    return Timeline(rank, begin, end, end, max([end, *(each.end for each in buckets)]), told)
