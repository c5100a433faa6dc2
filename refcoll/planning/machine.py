"""A machine: how fast its links are, who shares them, and where every figure comes from.

        node 0                      node 1            within a node   each rank has a link of its
    rank 0 ... rank m-1         rank m ... rank 2m-1                  own, out and in
      |   switch   |              |   switch    |
     rail 0 ... rail R-1 ======= rail 0 ... rail R-1  between nodes   the m ranks of a node share
                                                                      its R rails (NICs)

All rates are in bytes per second one way.  ``bandwidth`` is the wire's; of it collectives
reach the fraction ``achieved``.  A message between nodes spreads over all rails of its node,
as NCCL's channels do, if the rails are ``striped``; otherwise local rank i has rail i mod R.
Switches that hold nodes are joined by links of their own class: one for each rail, or
``uplinks`` that all nodes of a switch share, over which messages spread evenly.
A machine may have switches that add (``in_network``), and carry measured ``tables``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from numbers import Real
from sys import float_info
from typing import Any

from refcoll.errors import ArgumentError, flag, within
from refcoll.planning.tables import Table
from refcoll.topology import LINKS, Topology, node_shape, topology

NODE, NETWORK, SPINE = LINKS[:3]
"""The classes of links between ranks: within a node, between nodes, between switches."""
ADDING = (NODE, NETWORK)
"""The classes whose switches may add."""
_SLOWEST = 1e-3
"""Bytes per second: who gives less has mistaken the unit, and times would be no numbers."""


@dataclass(frozen=True, kw_only=True)
class Link:
    """One class of links: of a rank within its node, of a rail beyond."""

    latency: float
    """Seconds per message."""
    bandwidth: float
    """Bytes per second, one way, on the wire."""
    achieved: float = 1.0
    """The fraction of it that long messages reach, above 0 and at most 1."""
    gap: float = 0.0
    """Seconds that a message waits for each other one that its rank has in flight here."""

    def __post_init__(self) -> None:
        require("latency", self.latency, "seconds, 0 or more", lambda value: value >= 0)
        require("bandwidth", self.bandwidth, "bytes per second, above 0", lambda value: value > 0)
        require("achieved", self.achieved, "above 0 and at most 1", lambda value: 0 < value <= 1)
        require("gap", self.gap, "seconds, 0 or more", lambda value: value >= 0)
        if self.rate < _SLOWEST:
            said = f"bandwidth={self.bandwidth!r} times achieved={self.achieved!r}"
            raise ArgumentError(f"{said} must be {_SLOWEST} bytes per second at least")

    @property
    def rate(self) -> float:
        """Bytes per second that long messages reach."""
        return self.bandwidth * self.achieved


@dataclass(frozen=True, kw_only=True)
class Machine:
    """Nodes that are alike, filled in rank order.  Raises ArgumentError for what cannot be."""

    name: str
    links: Mapping[str, Link]
    """By class: "within a node", "between nodes" and perhaps "between switches"."""
    nodes: int = 1
    ranks_per_node: int = 8
    rails: int = 1
    """NICs of a node, which its ranks share."""
    striped: bool = True
    """Whether one message spreads over all rails of its node."""
    nodes_per_switch: int | None = None
    """None, or as many as there are nodes, or more: all nodes are on one switch."""
    uplinks: int | None = None
    """Links of a switch to the others, which its nodes share; None: each rail has its own."""
    overhead: float = 0.0
    """Seconds that every call takes, however little there is to do."""
    reduce_bandwidth: float | None = None
    """Bytes merged per second by a rank; None: merging hides behind receiving."""
    in_network: Mapping[str, Link] = field(default_factory=dict)
    """Links to switches that add: "within a node" (NVLink SHARP), "between nodes" (SHARP)."""
    tables: tuple[Table, ...] = ()
    """Measured times."""
    sources: Mapping[str, str] = field(default_factory=dict)
    """Where a figure comes from, by its name: "between_nodes.latency"."""

    def __post_init__(self) -> None:
        for name in ("nodes", "ranks_per_node", "rails"):
            within(getattr(self, name), name, 1)
        flag(self.striped, "striped")
        if self.nodes_per_switch is not None:
            within(self.nodes_per_switch, "nodes_per_switch", 1)
            self._require_whole_switches()
        if self.uplinks is not None:
            within(self.uplinks, "uplinks", 1)
        require("overhead", self.overhead, "seconds, 0 or more", lambda value: value >= 0)
        if self.reduce_bandwidth is not None:
            said = "bytes per second, above 0"
            require("reduce_bandwidth", self.reduce_bandwidth, said, lambda value: value > 0)
        for used in self._classes():
            if used not in self.links:
                said = f"links={list(self.links)} lacks {used!r}, which ranks use"
                raise ArgumentError(f"{said}; add its latency and bandwidth")
        for name in self.in_network:
            if name not in ADDING:
                raise ArgumentError(f"in_network: {name!r} must be one of {', '.join(ADDING)}")

    def __hash__(self) -> int:  # of what differs most: dicts have none
        return hash((self.name, self.nodes, self.ranks_per_node, self.rails))

    def _require_whole_switches(self) -> None:
        if self.nodes % self.on_switch:
            raise ArgumentError(
                f"nodes_per_switch={self.nodes_per_switch} must divide nodes={self.nodes}, "
                "or hold them all"
            )

    def _classes(self) -> tuple[str, ...]:
        used = (self.ranks_per_node > 1, self.nodes > 1, self.on_switch < self.nodes)
        return tuple(name for name, here in zip(LINKS, used, strict=False) if here)

    @property
    def on_switch(self) -> int:
        """Nodes on one switch."""
        return min(self.nodes_per_switch or self.nodes, self.nodes)

    @property
    def shares_uplinks(self) -> bool:
        """Whether nodes have to share the way from their switch to others."""
        return self.uplinks is not None and self.on_switch < self.nodes

    @property
    def ranks(self) -> int:
        """All of them."""
        return self.nodes * self.ranks_per_node

    @property
    def title(self) -> str:
        """As in "h100-node: 4 nodes of 8 ranks, 8 rails of 50 GB/s a node"."""
        nodes, ranks = counted(self.nodes, "node"), counted(self.ranks_per_node, "rank")
        said = f"{self.name}: {nodes} of {ranks}"
        if self.nodes > 1:
            rate = self.links[NETWORK].bandwidth / 1e9
            said += f", {counted(self.rails, 'rail')} of {rate:.4g} GB/s a node"
        if self.on_switch < self.nodes:
            up = f"{self.links[SPINE].bandwidth / 1e9:.4g} GB/s"
            many = counted(self.uplinks, "uplink") if self.uplinks else ""
            beyond = f"{many} of {up}" if many else f"{up} a rail beyond"
            said += f", {counted(self.on_switch, 'node')} a switch, {beyond}"
        return said

    def topology(self) -> Topology:
        """Its ranks on nodes, its nodes on switches."""
        return self._where

    @cached_property
    def _where(self) -> Topology:
        shape = node_shape([self.ranks_per_node] * self.nodes)
        on = self.on_switch
        return topology([shape[k : k + on] for k in range(0, self.nodes, on)], self.ranks)

    def shaped(self, **changes: Any) -> Machine:
        """With another number of ``nodes``, ``ranks_per_node``, ``rails``, ...; None changes
        nothing.  What is no longer as published loses its source."""
        known = {each.name for each in fields(self)}
        asked = {name: value for name, value in changes.items() if value is not None}
        if unknown := set(asked) - known:
            raise ArgumentError(f"{min(unknown)}: a machine has {', '.join(sorted(known))}")
        changed = {name for name in asked if asked[name] != getattr(self, name)}
        kept = {name: said for name, said in self.sources.items() if name not in changed}
        return replace(self, **{"sources": kept, **asked})


def counted(number: int, thing: str) -> str:
    """As in "1 rail", "8 rails"."""
    return f"{number} {thing}{'s' if number != 1 else ''}"


def require(name: str, value: Any, must: str, holds: Callable[[float], bool]) -> None:
    """Raise ArgumentError, naming it, unless ``value`` is a finite number that ``holds``."""
    number = isinstance(value, Real) and not isinstance(value, bool)
    if not number or not abs(value) <= float_info.max or not holds(value):
        raise ArgumentError(f"{name}={value!r:.80} must be {must}, and finite")
