"""Predicted beside measured, for every algorithm at every size: how far to trust a calibration.

Predicted in two ways, from the same machine:

    formula    overhead + the algorithm's own formula, claims.time, for the ranks where they are
    planner    as `refcoll plan --machine FILE`, which knows more of shared rails, but with the
               default options that the algorithm has run with

The formula counts one latency a message where measured messages wait for each other at least
half as long as one takes alone (one port), else one a step.  Nothing that is compared here has
been used for the fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from refcoll.benchmarking import Timing
from refcoll.planning.candidates import Candidate
from refcoll.planning.defaults import by_default
from refcoll.planning.fitting import Errors
from refcoll.planning.machine import NODE, Machine
from refcoll.rates import Ports, Rates
from refcoll.registry import program
from refcoll.times import TimeClaim
from refcoll.topology import Nodes


@dataclass(frozen=True)
class Compared:
    """One algorithm at one size."""

    collective: str
    algorithm: str
    nbytes: int
    measured: float
    """Seconds, as are the others."""
    formula: float
    planner: float | None
    """None where the planner's ranks would stand on other nodes."""

    @property
    def error(self) -> float:
        """Of the formula: predicted / measured - 1."""
        return self.formula / self.measured - 1

    @property
    def planner_error(self) -> float | None:
        """Of the planner."""
        return None if self.planner is None else self.planner / self.measured - 1


class Predictor:
    """Predicts what runs on these nodes of a machine."""

    def __init__(self, machine: Machine, nodes: Nodes) -> None:
        self.machine, self.nodes = machine, nodes
        self.ports = ports(machine)
        self._rates = shared_rates(machine, self.ports)
        self._known: dict[tuple[str, str], Candidate | None] = {}
        self._in_blocks = machine.topology().nodes == nodes

    def formula(self, collective: str, algorithm: str, nbytes: int) -> float:
        """Seconds, by the algorithm's own formula."""
        time = _claim(collective, algorithm, self.nodes)
        return self.machine.overhead + float(time(nbytes, self._rates))

    def compared(self, collective: str, row: Timing) -> Compared:
        """A measured row with both predictions."""
        return Compared(
            collective, row.contender, row.size, row.time_us * 1e-6,
            self.formula(collective, row.contender, row.size),
            self._planned(collective, row.contender, row.size),
        )  # fmt: skip

    def _planned(self, collective: str, algorithm: str, nbytes: int) -> float | None:
        if not self._in_blocks:
            return None
        key = collective, algorithm
        if key not in self._known:
            self._known[key] = by_default(self.machine, *key)
        found = self._known[key]
        return None if found is None else found.clock.seconds(nbytes)


def ports(machine: Machine) -> Ports:
    """Whether messages in flight together rather wait for each other, or go side by side."""
    link = machine.links.get(NODE) or next(iter(machine.links.values()))
    return "one" if 2 * link.gap >= link.latency else "several"


def shared_rates(machine: Machine, ports: Ports) -> Rates:
    """The machine in the formulas' terms, where each rank's link beyond its node is its share
    of that node's rails: more than one, where fewer ranks than rails are striped over them."""
    near, wide = machine.links.get(NODE), machine.rails / machine.ranks_per_node
    share = wide if machine.striped else min(1.0, wide)
    return Rates(
        alpha=near.latency if near else 0.0,
        beta=1 / near.rate if near else 0.0,
        gamma=1 / machine.reduce_bandwidth if machine.reduce_bandwidth else 0.0,
        ports=ports,
        far={
            name: (link.latency, 1 / (link.rate * share))
            for name, link in machine.links.items()
            if name != NODE
        },
    )


def _claim(collective: str, algorithm: str, nodes: Nodes) -> TimeClaim:
    size = sum(len(node) for node in nodes)
    claims = program(collective, algorithm, size, nodes=nodes).claims
    assert claims is not None
    assert claims.time is not None
    return claims.time


def summary(compared: Sequence[Compared]) -> tuple[Errors, Errors | None]:
    """Of the formulas, and of the planner where that has predicted anything."""
    planned = [each.planner_error for each in compared if each.planner_error is not None]
    formulas = Errors(tuple(each.error for each in compared))
    return formulas, Errors(tuple(planned)) if planned else None


def worst(compared: Sequence[Compared]) -> Compared:
    """The one whose formula is furthest off."""
    return max(compared, key=lambda each: abs(each.error))
