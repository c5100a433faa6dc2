"""refcoll choose: which algorithm "auto" takes, and what it weighs."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from refcoll.choosing import (
    EXACT,
    TYPICAL_BANDWIDTH,
    TYPICAL_BETWEEN,
    TYPICAL_LATENCY,
    TYPICAL_MERGE,
    explain,
)
from refcoll.cli.options import Json, NodeShape, Ranks, Root
from refcoll.cli.output import console, table, write_json
from refcoll.cli.units import nbytes, said_bytes
from refcoll.cli.units import nodes as parsed_nodes
from refcoll.topology import LINKS, Topology
from refcoll.words import said_seconds


def _assumed(ranks: int, where: Topology | None) -> str:
    """What the predictions stand on."""
    alpha, rate = said_seconds(TYPICAL_LATENCY), said_bytes(TYPICAL_BANDWIDTH)
    merging = said_bytes(TYPICAL_MERGE)
    said = f"\npredicted with {alpha} a message, {rate}/s moved and {merging}/s merged"
    if where is not None and len(where.nodes) > 1:
        far, slow = TYPICAL_BETWEEN[LINKS[1]]
        said += f"; between nodes {said_seconds(far)} and {said_bytes(slow)}/s"
    if ranks > EXACT:
        said += f".\nAbove {EXACT} ranks each algorithm's formula says it (docs/times.md)"
    return said + ".\nNot weighed: pairs A+B, and what needs extra ranks; see `refcoll count`."


_HEADER = ("algorithm", "predicted", "depth", "sent", "received")


def choose(
    collective: Annotated[str, typer.Argument(help="all_reduce, broadcast, ...")],
    ranks: Ranks = None,
    size: Annotated[str, typer.Option("--size", "-s", help="vector size S, such as 14GB")] = "1MB",
    root: Root = 0,
    nodes: NodeShape = None,
    in_order: Annotated[
        bool, typer.Option("--in-order", help="for an operator that does not commute")
    ] = False,
    json: Json = None,
) -> None:
    """Say which algorithm "auto" takes for N ranks and S bytes, and rank the others.

    Times are predictions by the cost model on typical links: a guide to the order.
    """
    where = parsed_nodes(nodes, ranks)
    named = ranks or (sum(map(len, where.nodes)) if where else 8)
    total = nbytes(size)
    choices = explain(collective, named, total, root=root, nodes=where, in_order=in_order)
    if str(json) != "-":
        print(f"{choices[0].algorithm} for {collective} of {said_bytes(total)} on {named} ranks")
        rows = [
            [each.algorithm, said_seconds(each.seconds), str(each.depth),
             said_bytes(each.sent), said_bytes(each.received)]
            for each in choices
        ]  # fmt: skip
        console().print(table(None, _HEADER, rows))
        print(_assumed(named, where))
    write_json(json, {
        "collective": collective, "ranks": named, "size_bytes": total,
        "choices": [asdict(each) for each in choices],
    })  # fmt: skip
