"""Which algorithm "auto" takes, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from refcoll.collectives import checked_root
from refcoll.collectives import collective as find_collective
from refcoll.errors import ArgumentError, flag, integer, within
from refcoll.interpreters.cost import cost
from refcoll.programs import Program
from refcoll.rates import checked_rates
from refcoll.registry import algorithms, program
from refcoll.topology import LINKS, Topology, topology
from refcoll.tuning import Placement, Tuning

TYPICAL_LATENCY = 2e-6
TYPICAL_BANDWIDTH = 12e9
"""Seconds per message, and bytes per second, of a node's memory."""
TYPICAL_MERGE = 12e9
"""Bytes merged per second, by numpy, from memory."""
TYPICAL_BETWEEN = {LINKS[1]: (20e-6, 1e9), LINKS[2]: (30e-6, 1e9)}
"""(Latency, bandwidth) between nodes, and between switches."""
_TYPICAL = checked_rates(
    TYPICAL_LATENCY, TYPICAL_BANDWIDTH, TYPICAL_MERGE, ports="one", links=TYPICAL_BETWEEN
)
EXACT = 64
"""Up to so many ranks every schedule is played; beyond, formulas tell its time."""
_ALL = 512
"""Up to so many ranks the busiest is looked for among all, by the claims; beyond, among a few."""


@dataclass(frozen=True)
class Choice:
    """One algorithm, as ``explain`` sees it."""

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
    collective: str,
    size: int,
    nbytes: int,
    root: int,
    nodes: Topology | None,
    in_order: bool,
    options: tuple[tuple[str, int], ...] = (),
) -> str:
    """The algorithm of least predicted time, for ``nbytes`` rounded up to a power of two.

    ``in_order`` leaves only algorithms that keep rank order; ``options`` are keywords of
    ``program``.  Raises ArgumentError if none do.
    """
    rounded = 1 << max(0, nbytes - 1).bit_length()
    return _ranked(collective, size, rounded, root, nodes, in_order, options)[0][1].name


def choose_best(
    collective: str,
    size: int,
    nbytes: int,
    root: int,
    nodes: Topology,
    in_order: bool,
    options: tuple[tuple[str, int], ...],
    tuning: Tuning | None,
) -> tuple[str, str]:
    """The algorithm that was measured to be best, or else ``choose``'s; and why, in words."""
    best = tuning and tuning.best(Placement.of(collective, nodes.nodes), nbytes)
    if tuning and best and _runs(collective, best.algorithm, size, root, nodes, in_order):
        said = f"measured best: {best.seconds * 1e6:.4g} us for {best.nbytes} bytes"
        return best.algorithm, f"{said} ({tuning.source})"
    chosen = choose(collective, size, nbytes, root, nodes, in_order, options)
    return chosen, "least predicted time, by the cost model; see refcoll.explain"


def _runs(
    collective: str, name: str, size: int, root: int, nodes: Topology, in_order: bool
) -> bool:
    found = {each.name: each for each in algorithms(collective)}.get(name)
    if found is None or not found.sizes.holds(size) or found.needs_helpers:
        return False
    claims = program(collective, name, size, root=root, nodes=nodes).claims
    return not in_order or bool(claims and claims.in_rank_order)


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
    size, nbytes, root = within(size, "size", 1), integer(nbytes, "nbytes"), integer(root, "root")
    if nbytes < 0:
        raise ArgumentError(f"nbytes={nbytes} must not be negative")
    in_order = flag(in_order, "in_order")
    checked_root(kind, root, size)
    where = topology(nodes, size)
    ranked = _ranked(collective, size, nbytes, root, where, in_order and kind.reduces)
    return tuple(_choice(seconds, made, nbytes) for seconds, made in ranked)


@lru_cache(maxsize=4096)
def _ranked(
    collective: str,
    size: int,
    nbytes: int,
    root: int,
    nodes: Topology | None,
    in_order: bool,
    options: tuple[tuple[str, int], ...] = (),
) -> tuple[tuple[float, Program], ...]:
    """All algorithms that could run, with their predicted seconds, the least first."""
    cut: dict[str, Any] = dict(options)
    programs = [
        program(collective, each.name, size, root=root, nodes=nodes, **cut)
        for each in algorithms(collective)
        if each.sizes.holds(size) and not each.needs_helpers
    ]
    if in_order:
        programs = [made for made in programs if made.claims and made.claims.in_rank_order]
    if not programs:
        where = f" with root={root}" if root else ""
        remedy = "use root=0, or say" if root else "say"
        raise ArgumentError(
            f"no algorithm for {collective}{where} keeps rank order, as an operator that does "
            f"not commute needs; {remedy} that the operator commutes, if it does"
        )
    timed = ((_seconds(made, nbytes), made) for made in programs)
    return tuple(sorted(timed, key=lambda pair: pair[0]))


def _seconds(made: Program, nbytes: int) -> float:
    """Time on one port, with typical rates: of the schedule played under the clock, or, for
    more than ``EXACT`` ranks, by the formula that the algorithm declares."""
    whole, claims = made.whole(nbytes), made.claims
    if made.size > EXACT and claims is not None and claims.time is not None:
        return float(claims.time(whole, _TYPICAL))
    return cost(
        made, whole, latency=TYPICAL_LATENCY, bandwidth=TYPICAL_BANDWIDTH,
        reduce_bandwidth=TYPICAL_MERGE, ports="one", links=TYPICAL_BETWEEN,
    )  # fmt: skip


def _choice(seconds: float, made: Program, nbytes: int) -> Choice:
    claims = made.claims
    assert claims is not None
    lengths = made.layout(made.whole(nbytes)).lengths
    few = {0, 1, made.size // 2, made.size - 1}
    ranks = range(made.size) if made.size <= _ALL else sorted(few)
    sent = max(claims.sent(rank, lengths) for rank in ranks)
    received = max(claims.received(rank, lengths) for rank in ranks)
    return Choice(made.name, seconds, claims.depth, sent, received)
