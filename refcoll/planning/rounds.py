"""A collective seen from above: round by round, what the busiest links carry.

    ring all-reduce on 4 nodes of 8 ranks, N = 32, 8 rails:

        31 rounds   within a node    S/32 on a rank's link        merged S/32
                    between nodes    S/32 on a node's 8 rails
        31 rounds   the same, nothing merged

    time = overhead + sum over rounds of
           max over classes of links (alpha + load S / rate) + merged S / reduce_bandwidth

A round is what all ranks have in flight together, and takes as long as its slowest link: who
would be ready earlier is thought to wait.  So the sum is never below what the clock tells of
the schedule (``interpreters.clock``), and is that where all ranks do alike.  Loads are shares
of S, as if S could be cut anywhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from refcoll.planning.machine import NETWORK, NODE, SPINE, Machine

Ints: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]
CLASSES = (NODE, NETWORK, SPINE)


@dataclass(frozen=True)
class Shape:
    """Ranks on nodes on switches, and the rails of a node."""

    nodes: int
    ranks_per_node: int
    rails: int = 1
    striped: bool = True
    nodes_per_switch: int = 0
    """0: all nodes are on one switch."""

    @classmethod
    def of(cls, machine: Machine) -> Shape:
        """That of a machine."""
        return cls(
            machine.nodes, machine.ranks_per_node, machine.rails, machine.striped,
            machine.nodes_per_switch or machine.nodes,
        )  # fmt: skip

    @property
    def ranks(self) -> int:
        """All of them."""
        return self.nodes * self.ranks_per_node

    @property
    def on_switch(self) -> int:
        """Nodes on one switch."""
        return self.nodes_per_switch or self.nodes

    @property
    def switches(self) -> int:
        """How many there are."""
        return self.nodes // self.on_switch

    def on_a_rail(self, ranks: int) -> float:
        """Messages on the busiest rail of a node of whose ranks so many send one."""
        return ranks / self.rails if self.striped else -(-ranks // self.rails)


Loads: TypeAlias = tuple[float | None, float | None, float | None]
"""By class: the share of S on its busiest link (of a rank, or a rail); None: no message."""


@dataclass(frozen=True)
class Round:
    """So many rounds alike, one after another."""

    times: int
    loads: Loads
    merged: float = 0.0
    """The share of S that a rank merges, of the rank that merges most."""


Rounds: TypeAlias = Iterator[Round]


def carried(shape: Shape, source: Ints, to: Ints, share: float) -> Loads:
    """Loads of messages, one from each ``source``, that hold ``share`` of S each."""
    node, other = source // shape.ranks_per_node, to // shape.ranks_per_node
    switch, other_switch = node // shape.on_switch, other // shape.on_switch
    kind = np.where(node == other, 0, np.where(switch == other_switch, 1, 2))
    kind[source == to] = -1
    loads = [
        max(_busiest(shape, ends[kind == which], which) for ends in (source, to)) * share
        if (kind == which).any()
        else None
        for which in range(3)
    ]
    return loads[0], loads[1], loads[2]


def _busiest(shape: Shape, ends: Ints, which: int) -> float:
    """Messages on the busiest link of a class, of those that begin, or end, at these ranks."""
    if which == 0:
        return float(np.bincount(ends).max())
    node, local = ends // shape.ranks_per_node, ends % shape.ranks_per_node
    if shape.striped:
        return float(np.bincount(node).max() / shape.rails)
    return float(np.bincount(node * shape.rails + local % shape.rails).max())


def everyone(shape: Shape, share: float) -> Loads:
    """Loads where every rank sends ``share`` of S to every other rank."""
    near, far = shape.on_switch - 1, shape.nodes - shape.on_switch
    peers = shape.ranks_per_node - 1, shape.ranks_per_node * near, shape.ranks_per_node * far
    together = shape.on_a_rail(shape.ranks_per_node)
    within, network, spine = (
        count * share * (together if which else 1) if count else None
        for which, count in enumerate(peers)
    )
    return within, network, spine


class Timed:
    """How long rounds take on a machine, for vectors of any size."""

    def __init__(self, machine: Machine, rounds: Iterable[Round]) -> None:
        self._overhead = machine.overhead
        made = [each for each in rounds if each.times]
        links = [machine.links.get(name) for name in CLASSES]
        self._times = np.array([each.times for each in made], np.float64)
        alphas = [link.latency if link else 0.0 for link in links]
        betas = [1 / link.rate if link else 0.0 for link in links]
        shares = np.array([_filled(each.loads, -np.inf) for each in made]).reshape(-1, 3)
        self._alpha = np.where(shares < 0, -np.inf, alphas)
        self._beta = np.where(shares < 0, 0.0, np.maximum(shares, 0.0) * betas)
        gamma = 1 / machine.reduce_bandwidth if machine.reduce_bandwidth else 0.0
        self._gamma = np.array([each.merged for each in made]) * gamma

    def seconds(self, nbytes: float) -> float:
        """For a vector of so many bytes."""
        if not self._times.size:
            return self._overhead
        moved = np.max(self._alpha + self._beta * nbytes, axis=1, initial=0.0)
        return float(self._overhead + self._times @ (moved + self._gamma * nbytes))


def _filled(loads: Sequence[float | None], missing: float) -> list[float]:
    return [missing if load is None else load for load in loads]
