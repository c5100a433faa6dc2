"""Machines by name, made of published figures.

"h100-node" is one node, with its rails behind it; "h100-cluster" four of them.  Any number of
nodes comes from ``machine.shaped(nodes=...)``.
"""

from __future__ import annotations

from functools import cache
from itertools import groupby

from refcoll.benchmarking import BUS_FACTORS
from refcoll.errors import ArgumentError
from refcoll.planning.files import made
from refcoll.planning.machine import Machine
from refcoll.planning.published import Row, published
from refcoll.planning.tables import Table

_CLUSTER_NODES = 4


@cache
def presets() -> dict[str, Machine]:
    """All of them, by name."""
    found: dict[str, Machine] = {}
    for name in dict.fromkeys(row.machine for row in published(subject="machine")):
        node = _node(name)
        found[name] = node
        cluster = f"{name.removesuffix('-node')}-cluster"
        found[cluster] = node.shaped(name=cluster, nodes=_CLUSTER_NODES)
    return found


def preset(name: str) -> Machine:
    """That machine.  Raises ArgumentError, naming those that there are."""
    if name not in presets():
        raise ArgumentError(f"name={name!r:.80}: there are {', '.join(presets())}")
    return presets()[name]


def _node(name: str) -> Machine:
    rows = published(subject="machine", machine=name)
    figures: dict[str, object] = {"name": name}
    for row in rows:
        *path, last = row.quantity.split(".")
        place = figures
        for key in path:
            place = place.setdefault(key, {})  # type: ignore[assignment]
        place[last] = int(row.value) if row.unit in ("ranks", "rails") else row.value
    figures["sources"] = {row.quantity: row.said_source for row in rows}
    return made(figures, name).shaped(tables=_tables(name))


def _tables(name: str) -> tuple[Table, ...]:
    def curve(row: Row) -> tuple[object, ...]:
        return row.subject, row.algorithm, row.ranks, row.nodes

    timed = [row for row in published(machine=name) if row.subject in BUS_FACTORS]
    curves = groupby(sorted(timed, key=curve), curve)
    return tuple(_table(list(rows)) for _, rows in curves)


def _table(rows: list[Row]) -> Table:
    first = rows[0]
    assert first.ranks is not None
    assert first.nodes is not None
    points = {row.bytes or 0: seconds(row) for row in rows}
    return Table(
        collective=first.subject, algorithm=first.algorithm, ranks=first.ranks,
        nodes=first.nodes, points=tuple(sorted(points.items())), source=first.said_source,
    )  # fmt: skip


def seconds(row: Row) -> float:
    """What a row of a collective says, as a time."""
    if row.quantity == "seconds":
        return row.value
    assert row.quantity == "busbw"
    assert row.bytes is not None
    assert row.ranks is not None
    return row.bytes * BUS_FACTORS[row.subject](row.ranks) / (row.value * 1e9)
