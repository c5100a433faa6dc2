"""A training step on a machine that need not be there: what of it communication takes.

step = (k - 1) micro-batches   forward   backward ||| exposed   (parameters gathered)
       without reducing                 buckets are reduced meanwhile
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from refcoll.dataparallel.timeline import BucketTimes, Timeline
from refcoll.planning.machine import Machine
from refcoll.planning.predicting import Prediction, planner
from refcoll.planning.timeline_overlap import Computing, Reduced, reduced
from refcoll.planning.timeline_training import Training, work

FASTEST = "fastest"
"""As an algorithm: for each bucket the one that the model expects to be the fastest."""


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
    late, slowdown = training.late, training.interference
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
