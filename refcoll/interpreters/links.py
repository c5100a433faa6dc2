"""Which link every message of a round takes, who shares it, and what that costs."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from refcoll.interpreters.table import Ints
from refcoll.rates import Rates
from refcoll.topology import LINKS, Topology

Times: TypeAlias = np.ndarray[Any, np.dtype[Any]]
"""Floats; or, to reckon exactly, Python's integers."""


class Links:
    """Which link every message takes, and what that costs."""

    def __init__(
        self, where: Topology | None, ranks: int, rates: Rates, exact: bool = False
    ) -> None:
        self.ranks = ranks
        self.kind = object if exact else np.float64
        self.alpha, self.beta = np.array([rates.of(each) for each in LINKS], self.kind).T
        self.gap = np.array([rates.gaps.get(each, 0) for each in LINKS], self.kind)
        self.spaced = any(rates.gaps.values())
        homes = [where.home(rank) if where else (0, 0) for rank in range(ranks)]
        self._nodes, self._switches = np.array(homes, np.int64).T
        self._owner = np.tile(np.arange(ranks), (len(LINKS), 1))
        for link, rails in rates.rails.items():
            for node in where.nodes if where else [range(ranks)]:
                owners = [node[place % rails] for place in range(len(node))]
                self._owner[LINKS.index(link), list(node)] = owners

    def classes(self, source: Ints, to: Ints) -> Ints:
        """The number, in ``topology.LINKS``, of each message's link."""
        other_node = self._nodes[source] != self._nodes[to]
        other_switch = self._switches[source] != self._switches[to]
        outside = (self._nodes[source] < 0) | (self._nodes[to] < 0)
        return np.where(outside, 3, other_node * (1 + other_switch)).astype(np.int64)

    def of(self, rank: Ints, kind: Ints) -> Ints:
        """A number for each rank's link of a class: another's, where it shares that one's."""
        return self._owner[kind, rank] * len(LINKS) + kind

    def latency(self, source: Ints, to: Ints, kind: Ints) -> Times:
        """What passes before a message's first element moves."""
        alpha: Times = self.alpha[kind]
        if not self.spaced:
            return alpha
        ends = (rank * len(LINKS) + kind for rank in (source, to))
        most = np.maximum(*(np.bincount(end)[end] for end in ends))
        return np.asarray(alpha + self.gap[kind] * (most - 1))
