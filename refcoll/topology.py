"""Where ranks are: which share a node, and which nodes share a switch.

Said once, as nested lists: ranks on nodes, or ranks on nodes on switches.  MPI finds out
the nodes by itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeAlias

from refcoll.errors import ArgumentError, integer, within

Nodes: TypeAlias = tuple[tuple[int, ...], ...]
"""Which ranks share a node: each rank once, nodes in any order and of any size.  Likewise
which nodes, by number, share a switch."""
LINKS = ("within a node", "between nodes", "between switches", "to and from helpers")
"""The classes of links, from near to far; helpers stand outside the nodes."""


@dataclass(frozen=True)
class Topology:
    """Ranks on nodes, nodes on switches: each once, in any order, any number on each."""

    nodes: Nodes
    """The ranks of each node."""
    switches: Nodes
    """The nodes, by number, of each switch."""

    @cached_property
    def _homes(self) -> dict[int, tuple[int, int]]:
        switch = {node: k for k, nodes in enumerate(self.switches) for node in nodes}
        return {rank: (k, switch[k]) for k, ranks in enumerate(self.nodes) for rank in ranks}

    def home(self, rank: int) -> tuple[int, int]:
        """The numbers of a rank's node and switch; -1 for a helper, who has none."""
        return self._homes.get(rank, (-1, -1))

    @cached_property
    def links(self) -> frozenset[str]:
        """The classes of links that there are between any two ranks."""
        there = (
            any(len(ranks) > 1 for ranks in self.nodes),
            any(len(nodes) > 1 for nodes in self.switches),
            len(self.switches) > 1,
        )
        return frozenset(link for link, is_there in zip(LINKS, there, strict=False) if is_there)

    def link(self, one: int, other: int) -> str:
        """The class, of ``LINKS``, of the link between two ranks."""
        (node, switch), (other_node, other_switch) = self.home(one), self.home(other)
        if min(node, other_node) < 0:
            return LINKS[3]
        if node == other_node:
            return LINKS[0]
        return LINKS[1] if switch == other_switch else LINKS[2]


def topology(nodes: Sequence[Any] | Topology | None, size: int) -> Topology:
    """``nodes``, ranks in lists or in lists of lists, checked; by default one node.

    Raises ArgumentError unless they hold each of ``size`` ranks once.
    """
    if isinstance(nodes, Topology):
        try:
            on = [[nodes.nodes[node] for node in switch] for switch in nodes.switches]
        except (IndexError, TypeError):
            said = f"switches={nodes.switches!r:.80} must number nodes={nodes.nodes!r:.80} from 0"
            raise ArgumentError(said) from None
        return topology(on, size)
    if nodes is None:
        return Topology((tuple(range(size)),), ((0,),))
    try:
        deep = [[[integer(rank, "nodes") for rank in node] for node in switch] for switch in nodes]
    except (TypeError, ArgumentError):
        flat = _flat(nodes, size)
        return Topology(flat, (tuple(range(len(flat))),))
    ends = [0]
    for switch in deep:
        ends.append(ends[-1] + len(switch))
    shape = _flat([node for switch in deep for node in switch], size)
    switches = tuple(tuple(range(a, b)) for a, b in pairwise(ends))
    if () in switches:
        raise ArgumentError(f"nodes={nodes!r} has a switch without nodes")
    return Topology(shape, switches)


def _flat(nodes: Sequence[Any], size: int) -> Nodes:
    try:
        shape = tuple(tuple(integer(rank, "nodes") for rank in node) for node in nodes)
    except (TypeError, ArgumentError):
        raise ArgumentError(
            f"nodes={nodes!r:.80} must be a list of lists of ranks; refcoll.node_shape((4, 4)) "
            "makes them from sizes"
        ) from None
    if sorted(rank for node in shape for rank in node) != list(range(size)) or () in shape:
        raise ArgumentError(
            f"nodes={shape} must hold each of the ranks 0 to {size - 1} once, and no empty node"
        )
    return shape


def node_shape(sizes: Sequence[int]) -> Nodes:
    """Nodes of the given sizes, filled in rank order.

    >>> node_shape((2, 3))
    ((0, 1), (2, 3, 4))

    Raises ArgumentError unless they are positive integers.  (For switches, put such nodes
    into lists: [shape[:2], shape[2:]].)
    """
    if isinstance(sizes, str | bytes) or not isinstance(sizes, Sequence) or not sizes:
        raise ArgumentError(
            f"sizes={sizes!r:.80} must be a list of numbers of ranks, such as (4, 4, 3)"
        )
    wanted = [within(ranks, "sizes", 1) for ranks in sizes]

    def filled() -> Iterator[tuple[int, ...]]:
        first = 0
        for ranks in wanted:
            yield tuple(range(first, first + ranks))
            first += ranks

    return tuple(filled())
