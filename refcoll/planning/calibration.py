"""A machine from what is measured on it: links, merging, what a call costs.

    mpirun -n 4 refcoll calibrate          calibrated(comm, seconds).machine

Latency and bandwidth are those of a step in which *all* ranks send and receive, since a
collective is made of such steps; a pair of ranks alone tells what the link itself can do:

    bandwidth    the faster one of the two         achieved    what all together reach of it
    latency      of a step of all together         gap         what each further message adds
    reduce_bandwidth    1 / what a byte costs more where it is merged, not copied
    overhead     of a call, whatever it does

``calibration_patterns`` are the schedules that are timed, ``fitting`` is how figures come from
times; which of the sizes fit badly stands in ``fit.errors``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from refcoll.communicator import Communicator
from refcoll.errors import ArgumentError
from refcoll.planning.calibration_merging import LONG, SHORTER, Merging, mergings
from refcoll.planning.calibration_patterns import (
    ALONE,
    MERGE,
    OVERHEAD,
    SHIFT,
    gap,
    latency,
    patterns,
    per_byte,
)
from refcoll.planning.calibration_timing import Measured, Stopwatch, measured
from refcoll.planning.fitting import Fit, Observed, fitted
from refcoll.planning.machine import NETWORK, NODE, Link, Machine
from refcoll.topology import Nodes


@dataclass(frozen=True)
class Calibration:
    """What was measured, and what follows from it; but for ``merging`` the same on all ranks."""

    nodes: Nodes
    rows: Sequence[Measured]
    fit: Fit
    merging: Sequence[Merging]
    """Rank 0's; empty elsewhere."""
    one_off: float
    """Seconds that a call without a plan takes more than one with a plan."""

    def machine(self, name: str = "calibrated", rails: int = 1) -> Machine:
        """As a machine whose nodes have so many ``rails``, which their ranks share."""
        found = self.fit.figures
        merge = found.get(MERGE, 0.0)
        links = {link: self._link(link, rails) for link in (NODE, NETWORK) if self._used(link)}
        return Machine(
            name=name, links=links, nodes=len(self.nodes), ranks_per_node=len(self.nodes[0]),
            rails=rails if len(self.nodes) > 1 else 1, overhead=found[OVERHEAD],
            reduce_bandwidth=1 / merge if merge else None, sources=self._sources(links),
        )  # fmt: skip

    def alone(self, link: str) -> tuple[float, float]:
        """Seconds per message, and bytes per second, between two ranks while others are idle."""
        return self.fit.figures[latency(f"{link}, alone")], self._rate(f"{link}, alone", ALONE)

    def together(self, link: str) -> tuple[float, float]:
        """The same for each rank where all send and receive."""
        return self.fit.figures[latency(link)], self._rate(link, SHIFT)

    def _used(self, link: str) -> bool:
        return any(row.pattern.link == link for row in self.rows)

    def _rate(self, name: str, kind: str) -> float:
        """Bytes per second; where the fit finds bytes to be free, no less than was seen."""
        found = self.fit.figures[per_byte(name)]
        if found:
            return 1 / found
        link = name.partition(",")[0]
        seen = [row for row in self.rows if (row.pattern.kind, row.pattern.link) == (kind, link)]
        return max(row.pattern.counts(row.rounds, row.nbytes)[per_byte(name)] / row.seconds
                   for row in seen)  # fmt: skip

    def _link(self, link: str, rails: int) -> Link:
        seconds, each = self.together(link)
        _, alone = self.alone(link)
        # Between nodes the ranks of a node share its rails, and a message spreads over them.
        sharing, wide = (len(self.nodes[0]), rails) if link == NETWORK else (1, 1)
        bandwidth = max(alone, each * sharing)
        return Link(
            latency=seconds, bandwidth=bandwidth / wide, achieved=each * sharing / bandwidth,
            gap=self.fit.figures.get(gap(link), 0.0),
        )  # fmt: skip

    def _sources(self, links: dict[str, Link]) -> dict[str, str]:
        shape = "x".join(str(each) for each in (len(self.nodes), len(self.nodes[0])))
        said = f"measured by refcoll calibrate on {shape} ranks, fit error {self.fit.errors}"
        names = [f"{link.replace(' ', '_')}.{figure}" for link in links for figure in _FIGURES]
        return dict.fromkeys([*names, "overhead", "reduce_bandwidth"], said)


_UNHURRIED = 10.0
"""Seconds: with less, numpy merges shorter vectors."""
_FIGURES = ("latency", "bandwidth", "achieved", "gap")


def calibrated(comm: Communicator, limit: float = 30.0) -> Calibration:
    """Measure for about ``limit`` seconds.  Collective.

    Raises ArgumentError for a single rank, and where nodes hold different numbers of ranks:
    those of a machine do not.
    """
    sizes = [len(node) for node in comm.nodes]
    if comm.size < 2:
        raise ArgumentError("ranks=1: there is no link to measure; use two or more")
    if len({*sizes}) > 1:
        raise ArgumentError(f"nodes={sizes}: a machine has as many ranks on each; use such a job")
    call, one_off = _calls(comm, 0.02 * limit)
    rows = list(measured(comm, patterns(comm.nodes), 0.9 * limit))
    observed = [Observed(({OVERHEAD: 1.0},), call, 0), *(row.observed for row in rows)]
    fit = fitted(observed, _names(comm.nodes))
    merging = mergings(LONG if limit >= _UNHURRIED else SHORTER) if comm.rank == 0 else []
    comm.barrier()
    return Calibration(comm.nodes, rows, fit, merging, one_off)


def _names(nodes: Nodes) -> list[str]:
    """All figures there may be; what comes first is told first."""
    there = list(dict.fromkeys(pattern.link for pattern in patterns(nodes)))
    links = [name for link in there for name in (f"{link}, alone", link)]
    both = [figure(name) for figure in (latency, per_byte) for name in links]
    return [OVERHEAD, *both, *map(gap, there), MERGE]


def _calls(comm: Communicator, limit: float) -> tuple[float, float]:
    """Seconds of a plan's run where a rank is alone, so that no message is sent; and what a
    call that is compared with the other ranks' takes more than a plan's run."""
    watch, x = Stopwatch(comm, limit), np.ones(1, np.float32)
    alone = comm.split(comm.rank)
    assert alone is not None
    with alone:
        empty = watch.median(alone.plan("all_reduce", x, out=x).run)
    planned = watch.median(comm.plan("all_reduce", x, out=x).run)
    return empty, max(0.0, watch.median(lambda: comm.all_reduce(x, out=x)) - planned)
