"""A collective seen from above: round by round, what the busiest links carry.

    ring all-reduce on 4 nodes of 8 ranks, N = 32, 8 rails:

        31 rounds   within a node    S/32 on a rank's link        merged S/32
                    between nodes    S/32 on a node's 8 rails
        31 rounds   the same, nothing merged

    time = overhead + sum over rounds of
           max over classes of links (latency + gap (messages - 1) + load S / rate)
           + merged S / reduce_bandwidth

A round is what all ranks have in flight together, and takes as long as its slowest link: who
would be ready earlier is thought to wait.  So the sum is never below what the clock tells of
the schedule (``interpreters.clock``), and is that where all ranks do alike.  Loads are shares
of S, as if S could be cut anywhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

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
    uplinks: int = 0
    """Of a switch, which its nodes share; 0: each rail has its own."""

    @classmethod
    def of(cls, machine: Machine) -> Shape:
        """That of a machine."""
        return cls(
            machine.nodes, machine.ranks_per_node, machine.rails, machine.striped,
            machine.on_switch, machine.uplinks or 0,
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


class Load(NamedTuple):
    """What a class of links carries in one round."""

    share: float
    """Of S, on its busiest link: of a rank within a node, a rail beyond, an uplink of a switch."""
    messages: int = 1
    """That a rank sends, or receives, on such links at once, at most."""


Loads: TypeAlias = tuple[Load | None, Load | None, Load | None]
"""By class; None: no message."""


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
    within, network, spine = (
        _load(shape, source[taken], to[taken], which, share)
        for which, taken in enumerate(_taken(shape, kind))
    )
    return within, network, spine


def _taken(shape: Shape, kind: Ints) -> Iterator[Any]:
    """By class, which messages take its links: over uplinks a message takes a node's rails too."""
    yield kind == 0
    yield kind >= 1 if shape.uplinks else kind == 1
    yield kind == 2


def _load(shape: Shape, source: Ints, to: Ints, which: int, share: float) -> Load | None:
    if not source.size:
        return None
    messages = max(int(np.bincount(ends).max()) for ends in (source, to))
    if which == 0:
        return Load(messages * share, messages)
    if which == 2 and shape.uplinks:
        on = shape.on_switch * shape.ranks_per_node
        most = max(int(np.bincount(ends // on).max()) for ends in (source, to))
        return Load(most / shape.uplinks * share, messages)
    return Load(max(_on_a_rail(shape, ends) for ends in (source, to)) * share, messages)


def _on_a_rail(shape: Shape, ends: Ints) -> float:
    """Messages on the busiest rail, of those that begin, or end, at these ranks."""
    node, local = ends // shape.ranks_per_node, ends % shape.ranks_per_node
    if shape.striped:
        return float(np.bincount(node).max() / shape.rails)
    return float(np.bincount(node * shape.rails + local % shape.rails).max())


def scaled(loads: Loads, share: float) -> Loads:
    """The same messages, each so much shorter."""
    within, network, spine = (load and load._replace(share=load.share * share) for load in loads)
    return within, network, spine


def everyone(shape: Shape, share: float) -> Loads:
    """Loads where every rank sends ``share`` of S to every other rank."""
    m, near, far = shape.ranks_per_node, shape.on_switch - 1, shape.nodes - shape.on_switch
    rail = m / shape.rails if shape.striped else -(-m // shape.rails)
    beyond = rail
    if shape.uplinks:
        near, beyond = near + far, m * shape.on_switch / shape.uplinks
    within, network, spine = (
        Load(peers * on * share, peers) if peers else None
        for peers, on in (
            (m - 1, 1.0),
            (m * near, rail),
            (m * far, beyond),
        )
    )
    return within, network, spine


class Timed:
    """How long rounds take on a machine, for vectors of any size."""

    def __init__(self, machine: Machine, rounds: Iterable[Round]) -> None:
        self._overhead = machine.overhead
        made = [each for each in rounds if each.times]
        self._times = np.array([each.times for each in made], np.float64)
        prices = [_prices(machine, each) for each in made]
        self._alpha, self._beta = np.array(prices).reshape(-1, 3, 2).transpose(2, 0, 1)
        gamma = 1 / machine.reduce_bandwidth if machine.reduce_bandwidth else 0.0
        self._gamma = np.array([each.merged for each in made]) * gamma

    def seconds(self, nbytes: float) -> float:
        """For a vector of so many bytes."""
        moved = np.max(self._alpha + self._beta * nbytes, axis=1, initial=0.0)
        return float(self._overhead + self._times @ (moved + self._gamma * nbytes))


def _prices(machine: Machine, each: Round) -> list[tuple[float, float]]:
    """By class, seconds that a round takes, and seconds per byte of S; what is unused is free."""
    prices = [(0.0, 0.0)] * len(CLASSES)
    for place, (name, load) in enumerate(zip(CLASSES, each.loads, strict=True)):
        if load is not None:
            link = machine.links[name]
            waits = link.gap * (load.messages - 1)
            prices[place] = link.latency + waits, load.share / link.rate
    return prices
