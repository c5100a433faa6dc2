"""From an algorithm to a program: its options bound, its root turned, its claims beside it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

from refcoll.algorithms.declaration import Algorithm, Lengths
from refcoll.collectives import COLLECTIVES
from refcoll.programs import Claims, Program
from refcoll.schedule import Schedule, on_ranks, renumbered
from refcoll.times import TimeClaim, links_of
from refcoll.topology import Topology


@lru_cache(maxsize=512)
def made(
    algorithm: Algorithm, size: int, root: int, where: Topology, given: tuple[tuple[str, int], ...]
) -> Program:
    """The program; ``given`` are the options that are numbers, right by now."""
    options: dict[str, Any] = dict(given)
    options |= {
        key: getattr(where, key) for key in ("nodes", "switches") if key in algorithm.options
    }
    kind = COLLECTIVES[algorithm.collective]
    schedule = partial(algorithm.schedule, **options)
    turned = _Turned(root, size, kind.scattered, schedule)

    return Program(
        algorithm.name,
        kind,
        size,
        turned.steps,
        algorithm.chunks(size, **options),
        root=root,
        helpers=algorithm.helpers(size, **options),
        areas=algorithm.areas(size, **options),
        result_area=algorithm.result_area,
        weights=algorithm.weights(size, **options) if algorithm.weights else None,
        idea=_idea(algorithm),
        topology=where,
        claims=_claims(algorithm, turned, where, options),
    )


def _claims(
    algorithm: Algorithm, turned: _Turned, where: Topology, options: dict[str, Any]
) -> Claims:
    size = turned.size

    def claimed(of: Callable[..., int]) -> Callable[[int, Lengths], int]:
        return lambda rank, lengths: of(
            turned.place(rank), size, turned.lengths(lengths), **options
        )

    time = _time(algorithm, size, where, options)
    exact = time.of_one_speed and algorithm.time_exact.holds(size, **options)
    return Claims(
        steps=lambda rank: algorithm.steps(turned.place(rank), size, **options),
        depth=algorithm.depth(size, **options),
        sent=claimed(algorithm.sent),
        received=claimed(algorithm.received),
        in_rank_order=algorithm.in_rank_order and turned.root == 0,
        bounds=algorithm.bounds if exact else (*algorithm.bounds, "time"),
        time=time,
    )


def _time(algorithm: Algorithm, size: int, where: Topology, options: dict[str, Any]) -> TimeClaim:
    return TimeClaim(
        size,
        options,
        several=algorithm.time,
        one=algorithm.one_port or algorithm.time,
        links=links_of(where, algorithm.helpers(size, **options), algorithm.options),
        source=algorithm.time_source,
    )


@dataclass(frozen=True)
class _Turned:
    """A schedule written for root 0, with another root: ranks, and chunks that are some
    rank's own, are renumbered."""

    root: int
    size: int
    scattered: bool
    schedule: Callable[[int, int], Schedule]

    def steps(self, rank: int) -> Schedule:
        """What ``rank`` does."""
        if self.root == 0:
            return self.schedule(rank, self.size)
        order = [(self.root + place) % self.size for place in range(self.size)]
        turned = on_ranks(order, self.schedule, rank)
        return renumbered(turned, order) if self.scattered else turned

    def place(self, rank: int) -> int:
        """The rank's number in the schedule."""
        return rank if rank >= self.size else (rank - self.root) % self.size

    def lengths(self, lengths: Lengths) -> Lengths:
        """The chunks' lengths in the schedule's order."""
        if not self.scattered or self.root == 0:
            return lengths
        return [*lengths[self.root :], *lengths[: self.root]]


def _idea(algorithm: Algorithm) -> str:
    """The first lines of the file, and of the function, that describe the algorithm."""
    described = sys.modules[algorithm.schedule.__module__], algorithm.schedule
    lines = ((each.__doc__ or "").partition("\n")[0] for each in described)
    return "\n".join(line for line in lines if not line.startswith("Chunks:"))
