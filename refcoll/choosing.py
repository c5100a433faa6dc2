"""Which algorithm "auto" takes."""

from __future__ import annotations

from functools import lru_cache

from refcoll.errors import ArgumentError
from refcoll.programs import Program
from refcoll.registry import algorithms, program
from refcoll.schedule import Send
from refcoll.topology import Topology

TYPICAL_LATENCY = 10e-6
TYPICAL_BANDWIDTH = 4e9
"""Seconds per message, and bytes per second, of a node's memory or a fast network: what
``choose`` weighs steps against bytes with."""


def choose(
    collective: str, size: int, nbytes: int, root: int, nodes: Topology | None, in_order: bool
) -> str:
    """The algorithm of least alpha * messages + bytes / bandwidth.

    The messages are the longest chain, or all that one rank sends or receives; messages and
    bytes are those of the busiest of a few ranks, for ``nbytes`` rounded up to a power of
    two: a guide, which costs little.  ``in_order`` leaves only algorithms that keep rank
    order.  Raises ArgumentError if none do.
    """
    return _choose(collective, size, 1 << nbytes.bit_length(), root, nodes, in_order)


@lru_cache(maxsize=4096)
def _choose(
    collective: str, size: int, nbytes: int, root: int, nodes: Topology | None, in_order: bool
) -> str:
    ranks = sorted({0, 1 % size, size // 2, size - 1})

    def predicted(made: Program) -> float:
        claims, lengths = made.claims, made.layout(nbytes).lengths
        assert claims is not None
        traffic = max(
            max(claims.sent(rank, lengths), claims.received(rank, lengths)) for rank in ranks
        )
        messages = max(claims.depth, *(_messages(made, rank) for rank in ranks))
        return TYPICAL_LATENCY * messages + traffic / TYPICAL_BANDWIDTH

    candidates = [
        program(collective, each.name, size, root=root, nodes=nodes)
        for each in algorithms(collective)
        if each.sizes.holds(size) and ((each.in_rank_order and root == 0) or not in_order)
    ]
    if not candidates:
        where = f" with root={root}" if root else ""
        remedy = "use root=0, or say" if root else "say"
        raise ArgumentError(
            f"no algorithm for {collective}{where} keeps rank order, as an operator that does "
            f"not commute needs; {remedy} that the operator commutes, if it does"
        )
    return min(candidates, key=predicted).name


def _messages(made: Program, rank: int) -> int:
    """Messages that the rank sends, or receives, whichever are more."""
    actions = [action for node in made.graph(rank) for action in node.actions]
    sends = sum(isinstance(action, Send) for action in actions)
    return max(sends, len(actions) - sends)
