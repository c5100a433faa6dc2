"""Figures and samples as a machine, with the measured tables in it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from statistics import median

from refcoll.errors import ArgumentError
from refcoll.planning.calibration_patterns import MERGE, OVERHEAD, gap, latency, per_byte
from refcoll.planning.fitting import Errors, Fit
from refcoll.planning.logs import BANDWIDTH, LATENCY, Sample
from refcoll.planning.machine import NETWORK, NODE, Link, Machine
from refcoll.planning.tables import Table


def machine_of(
    fit: Fit, used: Sequence[Sample], name: str, rails: int, tables: Sequence[Table]
) -> Machine:
    """Of the shape of the log of most ranks.  Raises ArgumentError where a figure is missing."""
    largest = max(used, key=lambda each: (each.ranks, each.nodes))
    links = {link: _link(fit, link) for link in (NODE, NETWORK) if per_byte(link) in fit.figures}
    on_node = largest.ranks // largest.nodes
    said = f"fitted to logs, fit error {fit.errors}"
    names = [
        f"{link.replace(' ', '_')}.{each}" for link in links for each in ("latency", "bandwidth")
    ]
    sources = dict.fromkeys([*names, "overhead"], said)
    if on_node > 1 and NODE not in links:
        far = links[NETWORK]
        links = {NODE: Link(latency=far.latency, bandwidth=far.bandwidth * rails), **links}
        sources["within_a_node.bandwidth"] = "not told by the logs: no slower than between nodes"
    merge = fit.figures.get(MERGE, 0.0)
    return Machine(
        name=name, links=links, nodes=largest.nodes, ranks_per_node=on_node,
        rails=rails if largest.nodes > 1 else 1, overhead=fit.figures.get(OVERHEAD, 0.0),
        reduce_bandwidth=1 / merge if merge else None, tables=tuple(tables), sources=sources,
    )  # fmt: skip


def _link(fit: Fit, link: str) -> Link:
    seconds, moved = fit.figures.get(latency(link)), fit.figures[per_byte(link)]
    if seconds is None:
        raise ArgumentError(
            f"from-log: nothing tells the latency {link}; give a log of osu_latency, or of a "
            "collective, too"
        )
    if not moved:
        raise ArgumentError(
            f"from-log: the times {link} do not grow with the size; give longer vectors"
        )
    return Link(latency=seconds, bandwidth=1 / moved, gap=fit.figures.get(gap(link), 0.0))


def tables_of(samples: Sequence[Sample]) -> list[Table]:
    """Of each contender's collective on so many ranks, the median of each size."""
    curves: dict[tuple[str, str, int, int, str], dict[int, list[float]]] = defaultdict(dict)
    for each in samples:
        if each.collective not in (LATENCY, BANDWIDTH):
            key = each.collective, each.contender, each.ranks, each.nodes, each.log
            curves[key].setdefault(each.nbytes, []).append(each.seconds)
    return [
        Table(
            collective=collective, algorithm=contender, ranks=ranks, nodes=nodes,
            points=tuple((n, float(median(times))) for n, times in sorted(points.items())),
            source=f"log {log}",
        )
        for (collective, contender, ranks, nodes, log), points in curves.items()
    ]  # fmt: skip


def interpolated(tables: Sequence[Table]) -> Errors | None:
    """Of every inner size, told by its table without it; None where there is none."""
    errors = []
    for table in tables:
        for k in range(1, len(table.points) - 1):
            nbytes, seconds = table.points[k]
            kept = table.points[:k] + table.points[k + 1 :]
            rest = Table(
                collective=table.collective, algorithm=table.algorithm, ranks=table.ranks,
                nodes=table.nodes, points=kept,
            )  # fmt: skip
            errors.append(rest.seconds(nbytes) / seconds - 1)
    return Errors(tuple(errors)) if errors else None
