"""refcoll list: which algorithms there are, and what they cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from refcoll.algorithms.declaration import ALWAYS, NEVER, Algorithm
from refcoll.cli.formulas import algorithm_times
from refcoll.cli.options import Json, NodeShape
from refcoll.cli.output import console, table, write_json
from refcoll.cli.units import nodes as parsed_nodes
from refcoll.collectives import COLLECTIVES
from refcoll.collectives import collective as find_collective
from refcoll.interpreters.count import count
from refcoll.registry import CHECKED, algorithms, program
from refcoll.topology import Topology

_COSTS = (
    "steps", "depth", "rounds", "sent", "received", "optimal", "order", "checked", "defined for",
)  # fmt: skip
_TIMES = ("options", "time")
_NAMES = ("also known as", "source")

_LEGEND = f"""
steps, sent, received   of the rank that does most; S is the whole vector; <= is an upper bound
depth, rounds           messages that wait for one another; the same at one out and one in a round
optimal                 in bytes (bandwidth), in rounds (latency), or both, here; for which N and
                        options else: see --json
order                   kept: the operator need not commute (rooted: for root 0)
checked                 proved for every N, and any nodes, by Coq (proofs/README.md; rooted: for
                        root 0), or tested to N = {CHECKED}
time                    for any N > 1, on several ports: alpha a message, beta a byte moved, gamma a
                        byte merged; refcoll count says what the letters mean
A+B                     any reduce_scatter A, then any all_gather B, is an all_reduce too"""


def list_algorithms(
    collective: Annotated[str | None, typer.Argument(help="only this one's")] = None,
    ranks: Annotated[int, typer.Option("--ranks", "-n", min=1, help="number of ranks N")] = 8,
    nodes: NodeShape = None,
    json: Json = None,
) -> None:
    """List the algorithms: cost on N ranks, time in closed form, other libraries' names, sources.

    sent, received and least are the most that one rank sends and receives, and what some
    rank must in any schedule, in units of the vector's size S.
    """
    if collective is not None:
        find_collective(collective)
    where = parsed_nodes(nodes, ranks)
    rows = [_row(each, ranks, where) for each in algorithms(collective)]
    if str(json) != "-":
        _print(ranks, rows, ("collective", "algorithm") if collective is None else ("algorithm",))
    write_json(json, {"ranks": ranks, "algorithms": rows})


def _print(ranks: int, rows: Sequence[dict[str, Any]], names: Sequence[str]) -> None:
    """Three tables, each of which fits into most terminals, and what their columns mean."""
    cells = [_cells(row) for row in rows]
    titles = {
        f"On {ranks} ranks": _COSTS,
        "\nTheir time": _TIMES,
        "\nIn other libraries, and sources": _NAMES,
    }
    for title, columns in titles.items():
        header = (*names, *columns)
        console().print(table(title, header, [[each[key] for key in header] for each in cells]))
    print(_LEGEND)


def _row(algorithm: Algorithm, ranks: int, where: Topology | None) -> dict[str, Any]:
    """What is known of it, and what it costs here, which is null where it is not defined."""
    costs = _costs(algorithm, ranks, where) if algorithm.sizes.holds(ranks) else _UNDEFINED
    return {
        "collective": algorithm.collective,
        "algorithm": algorithm.name,
        **costs,
        "bandwidth_optimal": algorithm.bandwidth_optimal.said,
        "latency_optimal": algorithm.latency_optimal.said,
        "in_rank_order": algorithm.in_rank_order,
        "proved": algorithm.proved,
        "sizes": algorithm.sizes.said,
        "options": list(algorithm.options),
        "bounds": list(algorithm.bounds),
        "also_known_as": dict(algorithm.also_known_as),
        "source": algorithm.source,
        **algorithm_times(algorithm),
    }


_UNDEFINED = dict.fromkeys(("steps", "depth", "rounds", "sent", "received", "least", "optimal"))


def _costs(algorithm: Algorithm, ranks: int, where: Topology | None) -> dict[str, Any]:
    made = program(algorithm.collective, algorithm.name, ranks, nodes=where)
    claims = made.claims
    assert claims is not None
    unit = made.chunks * 1_000
    layout = made.layout(unit)
    everyone, lengths = range(made.ranks), layout.lengths
    counts = count(made, layout)
    senses = {"bandwidth": counts.bandwidth_optimal, "latency": counts.latency_optimal}
    return {
        "steps": max(claims.steps(rank) for rank in everyone),
        "depth": claims.depth,
        "rounds": counts.rounds,
        "sent": max(claims.sent(rank, lengths) for rank in everyone) / unit,
        "received": max(claims.received(rank, lengths) for rank in everyone) / unit,
        "least": float(counts.least) / unit,
        "optimal": [sense for sense, holds in senses.items() if holds],
    }


def _order(row: dict[str, Any]) -> str:
    """Whether operands keep rank order, where anything is merged."""
    kind = COLLECTIVES[row["collective"]]
    if not kind.reduces:
        return ""
    if not row["in_rank_order"]:
        return "commutative only"
    return "kept, root 0" if kind.rooted else "kept"


def _time(row: dict[str, Any]) -> str:
    time, exact = row["time"], row["time_exact"]
    if exact == ALWAYS.said:
        return str(time)
    return f"<= {time}" if exact == NEVER.said else f"<= {time} (= for {exact})"


def _cells(row: dict[str, Any]) -> dict[str, str]:
    def number(key: str, unit: str = "") -> str:
        if row[key] is None:
            return "-"
        return f"{'<= ' if key in row['bounds'] else ''}{row[key]:.4g}{unit}"

    known = row["also_known_as"].items()
    return {
        "collective": row["collective"],
        "algorithm": row["algorithm"],
        "steps": number("steps"),
        "depth": number("depth"),
        "rounds": number("rounds"),
        "sent": number("sent", " S"),
        "received": number("received", " S"),
        "optimal": " ".join(row["optimal"] or ["-"]),
        "order": _order(row),
        "checked": "proved" if row["proved"] else f"to N = {CHECKED}",
        "defined for": row["sizes"],
        "options": " ".join(row["options"]) or "-",
        "time": _time(row),
        "also known as": "; ".join(f"{library} {name}" for library, name in known) or "-",
        "source": row["source"],
    }
