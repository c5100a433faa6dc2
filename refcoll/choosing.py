"""Which algorithm "auto" takes, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from refcoll.algorithms.declaration import Algorithm
from refcoll.collectives import checked_root
from refcoll.collectives import collective as find_collective
from refcoll.errors import ArgumentError, integer
from refcoll.interpreters.cost import cost
from refcoll.programs import Program
from refcoll.registry import algorithms, program
from refcoll.schedule import Send
from refcoll.topology import LINKS, Topology, topology

TYPICAL_LATENCY = 10e-6
TYPICAL_BANDWIDTH = 4e9
"""Seconds per message, and bytes per second, of a node's memory."""
TYPICAL_BETWEEN = {LINKS[1]: (20e-6, 1e9), LINKS[2]: (30e-6, 1e9)}
"""(Latency, bandwidth) between nodes, and between switches."""
EXACT = 64
"""Up to so many ranks every schedule is costed; beyond, its claims are."""


@dataclass(frozen=True)
class Choice:
    """One algorithm, as ``ranked`` sees it."""

    algorithm: str
    seconds: float
    """As the cost model predicts, on typical links: a guide to the order, not to the time."""
    depth: int
    sent: int
    """Bytes, by the rank that sends most."""
    received: int

    def __str__(self) -> str:
        most = max(self.sent, self.received)
        return (
            f"{self.algorithm}: {self.seconds * 1e6:.4g} us, "
            f"{self.depth} messages deep, {most} bytes by the busiest rank"
        )


def choose(
    collective: str, size: int, nbytes: int, root: int, nodes: Topology | None, in_order: bool
) -> str:
    """The algorithm of least predicted time; see ``ranked``."""
    return ranked(collective, size, nbytes, root, nodes, in_order)[0].algorithm


def explain(
    collective: str,
    size: int,
    nbytes: int,
    *,
    root: int = 0,
    nodes: Sequence[Any] | Topology | None = None,
    in_order: bool = False,
) -> tuple[Choice, ...]:
    """What "auto" weighs for ``nbytes`` bytes on ``size`` ranks, the one it takes first.

    ("auto" itself rounds up to a power of two, to weigh each size but once.)  Not among
    them are the pairs A+B, and what needs more ranks than there are.  ``nodes`` as for
    ``refcoll.program``; ``in_order`` for an operator that does not commute.  Raises
    ArgumentError for arguments that make no sense.
    """
    kind = find_collective(collective)
    size, nbytes, root = integer(size, "size"), integer(nbytes, "nbytes"), integer(root, "root")
    if size < 1 or nbytes < 0:
        raise ArgumentError(f"size={size}, nbytes={nbytes} must be at least 1 and 0")
    checked_root(kind, root, size)
    where = topology(nodes, size)
    return _ranked(collective, size, nbytes, root, where, in_order and kind.reduces)


def ranked(
    collective: str, size: int, nbytes: int, root: int, nodes: Topology | None, in_order: bool
) -> tuple[Choice, ...]:
    """All algorithms that could run, the one of least predicted time first.

    Time is that of the cost interpreter on one port, for ``nbytes`` rounded up to a power of
    two, with typical rates; above 64 ranks, alpha * messages + bytes / bandwidth of a few
    ranks, by the claims.  ``in_order`` leaves only algorithms that keep rank order.  Raises
    ArgumentError if none do.
    """
    rounded = 1 << max(0, nbytes - 1).bit_length()
    return _ranked(collective, size, rounded, root, nodes, in_order)


@lru_cache(maxsize=4096)
def _ranked(
    collective: str, size: int, nbytes: int, root: int, nodes: Topology | None, in_order: bool
) -> tuple[Choice, ...]:
    choices = [
        _choice(made, nbytes)
        for each in algorithms(collective)
        if _suits(each, size, root, in_order)
        for made in [program(collective, each.name, size, root=root, nodes=nodes)]
    ]
    if not choices:
        where = f" with root={root}" if root else ""
        remedy = "use root=0, or say" if root else "say"
        raise ArgumentError(
            f"no algorithm for {collective}{where} keeps rank order, as an operator that does "
            f"not commute needs; {remedy} that the operator commutes, if it does"
        )
    return tuple(sorted(choices, key=lambda choice: choice.seconds))


def _suits(algorithm: Algorithm, size: int, root: int, in_order: bool) -> bool:
    ordered = algorithm.in_rank_order and root == 0
    runs = algorithm.sizes.holds(size) and not algorithm.needs_helpers
    return runs and (ordered or not in_order)


def _choice(made: Program, nbytes: int) -> Choice:
    claims, whole = made.claims, made.whole(nbytes)
    assert claims is not None
    lengths = made.layout(whole).lengths
    ranks = range(made.size) if made.size <= EXACT else _few(made.size)
    sent = max(claims.sent(rank, lengths) for rank in ranks)
    received = max(claims.received(rank, lengths) for rank in ranks)
    if made.size <= EXACT:
        seconds = cost(
            made, whole, latency=TYPICAL_LATENCY, bandwidth=TYPICAL_BANDWIDTH,
            ports="one", links=TYPICAL_BETWEEN,
        )  # fmt: skip
    else:
        messages = max(claims.depth, *(_messages(made, rank) for rank in ranks))
        seconds = TYPICAL_LATENCY * messages + max(sent, received) / TYPICAL_BANDWIDTH
    return Choice(made.name, seconds, claims.depth, sent, received)


def _few(size: int) -> list[int]:
    return sorted({0, 1, size // 2, size - 1})


def _messages(made: Program, rank: int) -> int:
    """Messages that the rank sends, or receives, whichever are more."""
    actions = [action for node in made.graph(rank) for action in node.actions]
    sends = sum(isinstance(action, Send) for action in actions)
    return max(sends, len(actions) - sends)
