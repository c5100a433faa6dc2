"""refcoll list: which algorithms there are, and what they cost."""

from __future__ import annotations

from typing import Annotated

import typer

from refcoll.algorithms.declaration import Algorithm
from refcoll.cli.options import Json, NodeShape
from refcoll.cli.output import console, table, write_json
from refcoll.cli.units import nodes as parsed_nodes
from refcoll.collectives import COLLECTIVES
from refcoll.errors import ArgumentError
from refcoll.registry import algorithms, program

_HEADER = (
    "collective", "algorithm", "steps", "depth", "sent", "received", "least",
    "bandwidth-optimal", "rank order", "also known as", "source",
)  # fmt: skip


_LEGEND = """
steps, sent, received   of the rank that does most; S is the whole vector
least                   what some rank must send and receive in any schedule
bandwidth-optimal       when no schedule moves less, for chunks of equal length
rank order              kept: operators need not commute"""


def list_algorithms(
    collective: Annotated[str | None, typer.Argument(help="only this one's")] = None,
    ranks: Annotated[int, typer.Option("--ranks", "-n", min=1, help="number of ranks N")] = 8,
    nodes: NodeShape = None,
    json: Json = None,
) -> None:
    """List the algorithms: cost on N ranks, other libraries' names, and sources.

    sent, received and least are the most that one rank sends and receives, and what some
    rank must in any schedule, in units of the vector's size S.
    """
    if collective is not None and collective not in COLLECTIVES:
        raise ArgumentError(
            f"collective={collective!r} does not exist; there are {', '.join(COLLECTIVES)}"
        )
    rows = [_row(each, ranks, nodes) for each in algorithms(collective)]
    if str(json) != "-":
        cells = [[_said(row[key]) for key in row] for row in rows]
        console().print(table(f"Algorithms on {ranks} ranks", _HEADER, cells))
        print(_LEGEND)
    write_json(json, {"ranks": ranks, "algorithms": rows})


def _row(algorithm: Algorithm, ranks: int, nodes: str | None) -> dict[str, object]:
    made = program(
        algorithm.collective, algorithm.name, ranks, nodes=parsed_nodes(nodes, ranks)
    )  # fmt: skip
    claims = made.claims
    assert claims is not None
    unit = made.chunks * 1_000
    lengths = made.layout(unit).lengths
    everyone = range(made.ranks)
    return {
        "collective": algorithm.collective,
        "algorithm": algorithm.name,
        "steps": max(claims.steps(rank) for rank in everyone),
        "depth": claims.depth,
        "sent": max(claims.sent(rank, lengths) for rank in everyone) / unit,
        "received": max(claims.received(rank, lengths) for rank in everyone) / unit,
        "least": float(max(made.least(lengths))) / unit,
        "bandwidth_optimal": algorithm.bandwidth_optimal,
        "in_rank_order": algorithm.in_rank_order,
        "also_known_as": dict(algorithm.also_known_as),
        "source": algorithm.source,
    }


def _said(value: object) -> str:
    match value:
        case bool():
            return "kept" if value else "-"
        case float():
            return f"{value:.4g} S"
        case dict():
            return "; ".join(f"{library} {name}" for library, name in value.items())
    return str(value)
