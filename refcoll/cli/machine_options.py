"""Which machine a command plans for: a name or a file, and what is different about it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from refcoll.errors import ArgumentError
from refcoll.planning.files import read_machine
from refcoll.planning.machine import Machine
from refcoll.planning.presets import presets

MachineName: TypeAlias = Annotated[
    str,
    typer.Option("--machine", "-m", help="h100-node, h100-cluster, ...; or a TOML file"),
]
Nodes: TypeAlias = Annotated[int | None, typer.Option("--nodes", min=1, help="how many nodes")]
RanksPerNode: TypeAlias = Annotated[
    int | None, typer.Option("--ranks-per-node", min=1, help="ranks on each node")
]
Rails: TypeAlias = Annotated[
    int | None, typer.Option("--rails", min=1, help="NICs of each node, which its ranks share")
]
AllRanks: TypeAlias = Annotated[
    int | None,
    typer.Option("--ranks", "-n", min=1, help="ranks in all, on as many nodes as they fill"),
]


def machine(
    name: str,
    nodes: int | None = None,
    ranks_per_node: int | None = None,
    rails: int | None = None,
    ranks: int | None = None,
) -> Machine:
    """The machine meant.  Raises ArgumentError for none, or for ranks that fill no nodes."""
    found = _found(name).shaped(nodes=nodes, ranks_per_node=ranks_per_node, rails=rails)
    return found if ranks is None else _filled(found, ranks, nodes, ranks_per_node)


def _found(name: str) -> Machine:
    known = presets()
    if name in known:
        return known[name]
    if Path(name).suffix == ".toml" or Path(name).exists():
        return read_machine(name)
    raise ArgumentError(
        f"machine={name!r} is neither a file nor one of {', '.join(known)}; a file ends in .toml"
    )


def _filled(found: Machine, ranks: int, nodes: int | None, ranks_per_node: int | None) -> Machine:
    """With so many ranks: on the nodes asked for, or on as many as they fill."""
    if nodes is not None and ranks_per_node is None and ranks % nodes == 0:
        return found.shaped(ranks_per_node=ranks // nodes)
    on_node = min(ranks, found.ranks_per_node) if ranks_per_node is None else ranks_per_node
    if ranks % on_node or (nodes is not None and ranks != nodes * on_node):
        on = f"nodes of {on_node}" if nodes is None else f"{nodes} nodes of {on_node}"
        raise ArgumentError(f"ranks={ranks} do not fill {on}; use --nodes and --ranks-per-node")
    return found.shaped(nodes=ranks // on_node, ranks_per_node=on_node)
