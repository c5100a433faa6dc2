"""The same training with one thing changed, over many values: where is the optimum?

Small buckets pay latency again and again, large ones are ready too late to hide: between them
is the lowest point of a U.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import takewhile
from math import isclose
from typing import TypeAlias

from refcoll.errors import ArgumentError
from refcoll.planning.above import pattern
from refcoll.planning.machine import Machine
from refcoll.planning.tables import LIBRARY
from refcoll.planning.timeline import Step, step
from refcoll.planning.timeline_training import Training
from refcoll.registry import algorithms

MIB = 1 << 20
_CLOSE = 1.01
"""Within one per cent of the best is as good."""

Value: TypeAlias = float | str


@dataclass(frozen=True)
class Sweep:
    """A step for each value."""

    kind: str
    unit: str
    points: tuple[tuple[Value, Step], ...]

    @property
    def best(self) -> tuple[Value, Step]:
        """With the least time for each micro-batch; of equals the first."""
        return min(self.points, key=lambda point: point[1].per_micro_batch)

    @property
    def equals(self) -> tuple[Value, ...]:
        """The best value, and those that take as long but for rounding."""
        least = self.best[1].per_micro_batch
        return tuple(
            value for value, each in self.points
            if isclose(each.per_micro_batch, least, rel_tol=1e-9)
        )  # fmt: skip

    @property
    def enough(self) -> tuple[Value, Step]:
        """The first within one per cent of it."""
        least = self.best[1].per_micro_batch
        return next(each for each in self.points if each[1].per_micro_batch <= _CLOSE * least)


def sweep(kind: str, training: Training, machine: Machine) -> Sweep:
    """Over "bucket", "accumulate", "algorithm", "compress" or "rails".  Raises ArgumentError."""
    if kind not in SWEEPS:
        raise ArgumentError(f"sweep={kind!r} is not known: use one of {', '.join(SWEEPS)}")
    unit, changed = SWEEPS[kind]
    points = [(value, step(trained, on)) for value, trained, on in changed(training, machine)]
    if not points:
        raise ArgumentError(f"sweep={kind!r}: nothing can run on {machine.title}")
    return Sweep(kind, unit, tuple(points))


_Changed: TypeAlias = Iterable[tuple[Value, Training, Machine]]


def _buckets(training: Training, machine: Machine) -> _Changed:
    """From a quarter of a MiB until one holds everything, three a decade."""
    whole = sum(each.nbytes for each in training.model)
    caps = (1 << 18, 1 << 19, *(mib * ten * MIB for ten in (1, 10, 100, 1000, 10**4)
                                for mib in (1, 2, 5)))  # fmt: skip
    below = list(takewhile(lambda cap: cap < whole, caps))
    for cap in [*below, whole]:
        yield cap / MIB, replace(training, cap_bytes=cap), machine


def _accumulated(training: Training, machine: Machine) -> _Changed:
    for count in (1, 2, 4, 8, 16, 32):
        yield count, replace(training, accumulate=count), machine


def _compressed(training: Training, machine: Machine) -> _Changed:
    for factor in (1, 2, 4, 8, 16, 32, 64, 128):
        yield factor, replace(training, compress=float(factor)), machine


def _railed(training: Training, machine: Machine) -> _Changed:
    for rails in sorted({1, 2, 4, 8, machine.rails}):
        yield rails, training, machine.shaped(rails=rails)


def _algorithms(training: Training, machine: Machine) -> _Changed:
    """NCCL's choice, and what can be seen from above."""
    wanted = ("reduce_scatter", "all_gather") if training.zero2 else ("all_reduce",)
    names = [each.name for each in algorithms(wanted[0])]
    for name in [LIBRARY, *names]:
        closed = all(pattern(each, name, machine.ranks) for each in wanted)
        if name == LIBRARY or closed:
            changed = replace(training, algorithm=name)
            if _runs(changed, machine):
                yield name, changed, machine


def _runs(training: Training, machine: Machine) -> bool:
    try:
        step(training, machine)
    except ArgumentError:
        return False
    return True


SWEEPS: Mapping[str, tuple[str, Callable[[Training, Machine], _Changed]]] = {
    "bucket": ("MiB", _buckets),
    "accumulate": ("micro-batches", _accumulated),
    "algorithm": ("", _algorithms),
    "compress": ("times", _compressed),
    "rails": ("rails a node", _railed),
}
"""By kind: the values' unit, and what makes the steps."""
