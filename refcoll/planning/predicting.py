"""What a collective takes on a machine, by every algorithm that it could use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from refcoll.algorithms.declaration import Algorithm
from refcoll.collectives import collective as find_collective
from refcoll.errors import ArgumentError, integer
from refcoll.planning.bus import BUS
from refcoll.planning.candidates import Candidate, candidates
from refcoll.planning.library import own_algorithms
from refcoll.planning.machine import Machine
from refcoll.planning.tables import LIBRARY, Table
from refcoll.registry import algorithms, find


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """One algorithm at one size on one machine."""

    collective: str
    algorithm: str
    """A name of refcoll's; of a measured table, the library's: "NCCL"."""
    ranks: int
    nbytes: int
    """Of the whole vector: S."""
    seconds: float
    basis: str
    """ "rounds", "schedule" or "bound" (``candidates``); "measured", which is interpolated, or
    "extrapolated" from what was measured."""
    latency: float | None = None
    """Seconds that it takes however short the vector is, overhead included."""
    sent: int | None = None
    """Bytes, by the rank that sends most; not known of a library."""
    received: int | None = None
    options: Mapping[str, int] = field(default_factory=dict)
    title: str = ""
    """The algorithm with those options that it could have otherwise."""
    source: str = ""
    """Of what was measured."""

    @property
    def measured(self) -> bool:
        """Whether it stands on measured times, not on the model."""
        return self.basis in ("measured", "extrapolated")

    @property
    def algbw(self) -> float:
        """S / time, in bytes per second."""
        return self.nbytes / self.seconds if self.seconds else 0.0

    @property
    def busbw(self) -> float | None:
        """That times nccl-tests' factor, such as 2(N-1)/N, where it has one."""
        factor = BUS.get(self.collective)
        return factor and self.algbw * factor(self.ranks)


class Planner:
    """A collective on a machine: asked for one size after another."""

    def __init__(self, machine: Machine, collective: str) -> None:
        find_collective(collective)
        self.machine, self.collective = machine, collective
        self._made: dict[str, list[Candidate]] = {}
        shape = collective, machine.ranks, machine.nodes
        self._tables = [
            table for table in machine.tables
            if (table.collective, table.ranks, table.nodes) == shape
        ]  # fmt: skip

    def models(self, nbytes: int) -> list[Prediction]:
        """Every algorithm, with the best of the options tried; best first."""
        return self._best(self._all(), _size(nbytes))

    def of(self, algorithm: str, nbytes: int) -> Prediction:
        """One algorithm, or pair A+B, by the model; or "NCCL": what it was measured to take, or
        else the fastest of its own algorithms by the model.

        Raises ArgumentError for one that does not exist, or cannot run there.
        """
        nbytes = _size(nbytes)
        if algorithm == LIBRARY:
            told = [each for each in self.measured(nbytes) if each.algorithm == LIBRARY]
            found = told or self._best(
                self._all(own_algorithms(self.machine, self.collective)), nbytes
            )
        else:
            found = self._best(self._named(algorithm), nbytes)
        if not found:
            raise ArgumentError(
                f"algorithm={algorithm!r} cannot run on {self.machine.title}{self._why(algorithm)}"
                "; see `refcoll plan` without it"
            )
        return found[0]

    def _why(self, algorithm: str) -> str:
        """Why nothing is known of it there, where that can be said."""
        each = None if algorithm == LIBRARY else find(self.collective, algorithm)
        if each is not None and not each.sizes.holds(self.machine.ranks):
            return f": it is for {each.sizes.said}"
        if each is not None and each.needs_helpers:
            return ": it needs switches that add, or servers, and none are told of"
        return ", or nothing is known of it there"

    def measured(self, nbytes: int) -> list[Prediction]:
        """What was measured there, interpolated or extrapolated."""
        return [self._told(table, nbytes) for table in self._tables]

    def fastest(self, nbytes: int, *, by_ranks_alone: bool = False) -> str:
        """The algorithm of least predicted time, with its options."""
        every = algorithms(self.collective)
        alone = [each for each in every if not each.needs_helpers]
        found = self._all(alone if by_ranks_alone else every)
        return min(found, key=lambda each: _order(each.clock.seconds(nbytes), each)).title

    def _all(self, some: Sequence[Algorithm] | None = None) -> list[Candidate]:
        every = algorithms(self.collective) if some is None else some
        return [made for each in every for made in self._named(each.name)]

    def _named(self, name: str) -> list[Candidate]:
        if name not in self._made:
            found = find(self.collective, name)
            self._made[name] = list(candidates(self.machine, found))
        return self._made[name]

    def _best(self, found: list[Candidate], nbytes: int) -> list[Prediction]:
        quickest: dict[str, tuple[float, Candidate]] = {}
        for each in found:
            taken, name = each.clock.seconds(nbytes), each.algorithm.name
            if name not in quickest or taken < quickest[name][0]:
                quickest[name] = taken, each
        ordered = sorted(quickest.values(), key=lambda pair: _order(*pair))
        return [self._predicted(each, nbytes, taken) for taken, each in ordered]

    def _predicted(self, each: Candidate, nbytes: int, taken: float) -> Prediction:
        sent, received = each.traffic(nbytes)
        return Prediction(
            collective=self.collective, algorithm=each.algorithm.name, ranks=each.ranks,
            nbytes=nbytes, seconds=taken, basis=each.basis, latency=each.clock.seconds(0),
            sent=sent, received=received, options=each.options, title=each.title,
        )  # fmt: skip

    def _told(self, table: Table, nbytes: int) -> Prediction:
        return Prediction(
            collective=self.collective, algorithm=table.algorithm, ranks=table.ranks,
            nbytes=nbytes, seconds=table.seconds(nbytes), source=table.source,
            title=table.algorithm, basis="measured" if table.covers(nbytes) else "extrapolated",
        )  # fmt: skip


def _order(seconds: float, each: Candidate) -> tuple[float, bool]:
    """Fastest first; of equals, but for rounding, the one that has no option to be set."""
    return float(f"{seconds:.9g}"), "," in each.title


@lru_cache(maxsize=64)
def planner(machine: Machine, collective: str) -> Planner:
    """A planner, kept for the next size."""
    return Planner(machine, collective)


def predict(
    machine: Machine, collective: str, nbytes: int, algorithm: str | None = None
) -> Prediction:
    """What ``algorithm`` takes for a vector of ``nbytes`` on all ranks of the machine.

    By default what its library was measured to take, where such a table is there, or else the
    algorithm of least predicted time.  Raises ArgumentError for what does not exist.
    """
    plans = planner(machine, collective)
    if algorithm is not None:
        return plans.of(algorithm, nbytes)
    return predictions(machine, collective, nbytes)[0]


def predictions(machine: Machine, collective: str, nbytes: int) -> list[Prediction]:
    """What a library chose by itself and was measured to take; then all algorithms by the
    model, best first; then what was measured of one of them, where that covers the size."""
    plans, size = planner(machine, collective), _size(nbytes)
    models, measured = plans.models(size), plans.measured(size)
    names = {each.algorithm for each in models}
    chosen = [each for each in measured if each.algorithm not in names]
    forced = [each for each in measured if each.algorithm in names and each.basis == "measured"]
    return [*chosen, *models, *forced]


_MOST = 1 << 62
"""Bytes: beyond, sums of them do not fit where schedules are played."""


def _size(nbytes: int) -> int:
    if integer(nbytes, "nbytes") < 0:
        raise ArgumentError(f"nbytes={nbytes} must not be negative")
    if nbytes > _MOST:
        raise ArgumentError(f"nbytes={nbytes!r:.40} must be at most {_MOST}, 4 EiB")
    return nbytes
