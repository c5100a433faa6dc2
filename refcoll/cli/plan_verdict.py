"""What a plan comes to: which algorithm is best, what bounds it, how far off that may be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from refcoll.benchmarking import BUS_FACTORS
from refcoll.cli.units import said_bytes
from refcoll.cli.validate_words import said_group
from refcoll.planning.breakeven import Span
from refcoll.planning.known_error import error_of_collective
from refcoll.planning.machine import NETWORK, NODE, SPINE, Link, Machine, counted
from refcoll.planning.predicting import Prediction
from refcoll.planning.validation import Group
from refcoll.planning.validation_collectives import size_class
from refcoll.registry import find
from refcoll.words import said_seconds

ALONE = ", without switches that add"


@dataclass(frozen=True)
class Planned:
    """A collective of one size on a machine, by all algorithms shown."""

    machine: Machine
    collective: str
    nbytes: int
    shown: Sequence[Prediction]
    fastest: Sequence[Span]
    """By size."""
    fastest_alone: Sequence[Span]
    """Where no switch adds."""
    played: Mapping[str, float]
    """Seconds that schedules take under the clock, by algorithm."""

    @cached_property
    def known(self) -> Group | None:
        """The model's error on what others have measured at such sizes."""
        return error_of_collective(self.collective, size_class(self.nbytes))

    @property
    def models(self) -> list[Prediction]:
        """Those that were not measured, best first."""
        return [each for each in self.shown if not each.measured]


def verdict(made: Planned) -> Iterator[str]:
    """The first lines."""
    yield from _best(made)
    yield from _floor(made)
    yield _error(made)
    yield from _fit(made.machine)


def _best(made: Planned) -> Iterator[str]:
    best, *_ = made.models or made.shown
    yield (
        f"{best.title}: {said_seconds(best.seconds)} for {made.collective} of "
        f"{said_bytes(made.nbytes)} on {made.machine.title}"
    )
    alone = [each for each in made.models if not needs_switches(each)]
    if alone and needs_switches(best):
        yield f"  {alone[0].title}: {said_seconds(alone[0].seconds)}{ALONE}"


def needs_switches(each: Prediction) -> bool:
    """Whether its algorithm has ranks that are switches."""
    return not each.measured and find(each.collective, each.algorithm).needs_helpers


def _floor(made: Planned) -> Iterator[str]:
    """What ranks alone must move, and what links take for that."""
    machine = made.machine
    if made.collective not in ("all_reduce", "reduce_scatter", "all_gather") or machine.ranks == 1:
        return
    share = made.nbytes * BUS_FACTORS[made.collective](machine.ranks)
    link, wide, over = _bottleneck(machine)
    wire, rate = wide * link.bandwidth, wide * link.rate
    yield f"  {said_bytes(share)} is the least that ranks alone must send each; over {over}"
    yield (
        f"  that is {said_seconds(share / wire)} at {said_bytes(wire)}/s, the wire's rate, and "
        f"{said_seconds(share / rate)} at the {said_bytes(rate)}/s ({link.achieved:.0%}) achieved"
    )


def _bottleneck(machine: Machine) -> tuple[Link, int, str]:
    """The link that a ring must cross, how many it may use at once, and which they are."""
    if machine.nodes == 1:
        return machine.links[NODE], 1, "its link"
    link, wide = machine.links[NETWORK], machine.rails if machine.striped else 1
    over = f"{counted(wide, 'rail')} of every node, as one ring does"
    if machine.on_switch == machine.nodes:
        return link, wide, over
    up, many = machine.links[SPINE], machine.uplinks or wide
    if up.rate * many >= link.rate * wide:
        return link, wide, over
    if machine.uplinks:
        over = f"{counted(many, 'uplink')} of every switch, as one ring does"
        return up, many, over
    return up, wide, f"{over} between switches"


def _fit(machine: Machine) -> Iterator[str]:
    """What a calibration has written of its own error."""
    for said in dict.fromkeys(each for each in machine.sources.values() if "fit error" in each):
        yield f"  {machine.name}: {said}"


def _error(made: Planned) -> str:
    if made.known is None:
        return f"  error unknown: no published times of {made.collective} are compared"
    return f"  {said_group(made.known)}"
