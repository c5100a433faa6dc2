"""What could run on a machine: every algorithm, ready to say how long any vector takes.

Three ways, the first that there is:

    rounds      seen from above (``rounds``): closed, for any number of ranks
    schedule    played under the clock (``simulating``), up to 64 ranks
    bound       the algorithm's own formula, as if every message took the slowest link and
                every rank of a node used its rails at once: at most so long
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

from refcoll.algorithms.declaration import Algorithm
from refcoll.chunks import Layout, balanced, proportional
from refcoll.planning.above import pattern
from refcoll.planning.in_network import Streamed, adds_up
from refcoll.planning.machine import SPINE, Machine
from refcoll.planning.rounds import Shape, Timed
from refcoll.planning.simulating import rates, simulated
from refcoll.programs import Program
from refcoll.registry import DEFAULT_RADIX, DEFAULT_SEGMENTS, DEFAULT_SHARDS, program
from refcoll.times import TimeClaim
from refcoll.topology import Topology

PLAYED = 64
"""Up to so many ranks a schedule is played where nothing faster is known."""
_SEGMENTS, _RADICES = (1, DEFAULT_SEGMENTS, 64, 512), (2, DEFAULT_RADIX, 8)
_VARIED = {
    "double_binary_tree": "segments", "recursive_multiplying": "radix", "bcube": "radix",
}  # fmt: skip
"""Algorithms that take the best of these; others have their defaults."""
_FIXED = {"segments": DEFAULT_SEGMENTS, "radix": DEFAULT_RADIX, "shards": DEFAULT_SHARDS}


class Clock(Protocol):
    """How long it takes."""

    def seconds(self, nbytes: float) -> float:
        """For a vector of so many bytes."""


@dataclass(frozen=True)
class Candidate:
    """One algorithm, with the values of its options."""

    algorithm: Algorithm
    options: Mapping[str, int]
    clock: Clock
    basis: str
    """ "rounds", "schedule" or "bound"."""
    ranks: int
    where: Topology

    @property
    def title(self) -> str:
        """As in "double_binary_tree, segments 64": with options that it could have otherwise."""
        varied = _VARIED.get(self.algorithm.name)
        return f"{self.algorithm.name}{f', {varied} {self.options[varied]}' if varied else ''}"

    def traffic(self, nbytes: int) -> tuple[int, int]:
        """Bytes sent, and received, by a rank: of a few ranks, the most that one does."""
        each, ranks = self.algorithm, self.ranks
        options = {**self.options, **_placed(each, self.where)}
        lengths = _layout(each, ranks, nbytes, options).lengths
        some = range(ranks) if ranks <= PLAYED else sorted({0, 1, ranks // 2, ranks - 1})
        sent, received = (
            max(count(rank, ranks, lengths, **options) for rank in some)
            for count in (each.sent, each.received)
        )
        return sent, received


def _placed(each: Algorithm, where: Topology) -> dict[str, Any]:
    return {key: getattr(where, key) for key in ("nodes", "switches") if key in each.options}


def _layout(each: Algorithm, ranks: int, nbytes: int, options: Mapping[str, Any]) -> Layout:
    if each.weights is None:
        return balanced(nbytes, each.chunks(ranks, **options))
    return proportional(nbytes, each.weights(ranks, **options))


def candidates(machine: Machine, each: Algorithm) -> Iterator[Candidate]:
    """The algorithm with all options that are worth trying; none if it cannot run there."""
    where = machine.topology()
    if each.name == "in_network" and adds_up(machine):
        options = {"radix": machine.ranks}
        yield Candidate(each, options, Streamed(machine), "rounds", machine.ranks, where)
    if each.needs_helpers or not each.sizes.holds(machine.ranks):
        return
    for options in _tried(machine, each):
        if (found := _clock(machine, each, options, where)) is not None:
            yield Candidate(each, options, *found, machine.ranks, where)


def _tried(machine: Machine, each: Algorithm) -> Iterator[dict[str, int]]:
    """Values of its options."""
    fixed = {key: value for key, value in _FIXED.items() if key in each.options}
    match _VARIED.get(each.name):
        case "segments":
            yield from ({**fixed, "segments": value} for value in _SEGMENTS)
        case "radix":
            fitting = [value for value in _RADICES if value <= machine.ranks]
            yield from ({**fixed, "radix": value} for value in fitting or _RADICES[:1])
        case _:
            yield fixed


def _clock(
    machine: Machine, each: Algorithm, options: Mapping[str, int], where: Topology
) -> tuple[Clock, str] | None:
    seen = pattern(each.collective, each.name, machine.ranks)
    if seen is not None:
        return Timed(machine, seen(Shape.of(machine), **options)), "rounds"
    made = program(each.collective, each.name, machine.ranks, nodes=where, **options)
    if machine.ranks <= PLAYED and not machine.shares_uplinks:
        return _Played(machine, made), "schedule"
    if made.claims and made.claims.time:
        return _Bound(machine, made.claims.time), "bound"
    return None


@dataclass(frozen=True)
class _Played:
    machine: Machine
    program: Program

    def seconds(self, nbytes: float) -> float:
        return simulated(self.machine, self.program, int(nbytes))


class _Bound:
    def __init__(self, machine: Machine, claim: TimeClaim) -> None:
        self._claim, self._overhead = claim, machine.overhead
        known = rates(machine)
        on_a_rail = machine.ranks_per_node
        if not machine.striped:
            on_a_rail = -(-on_a_rail // machine.rails)
        far = {name: (alpha, beta * on_a_rail) for name, (alpha, beta) in known.far.items()}
        if machine.shares_uplinks:
            far[SPINE] = _crowded_uplinks(machine)
        self._rates = replace(known, far=far, ports="one")

    def seconds(self, nbytes: float) -> float:
        return self._overhead + float(self._claim(int(nbytes), self._rates))


def _crowded_uplinks(machine: Machine) -> tuple[float, float]:
    """(Alpha, beta) where all ranks of a switch use its uplinks at once."""
    link, ranks = machine.links[SPINE], machine.on_switch * machine.ranks_per_node
    return link.latency, ranks / (link.rate * (machine.uplinks or 1))
