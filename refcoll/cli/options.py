"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from refcoll.cli.output import unwritable
from refcoll.errors import ArgumentError

AlgorithmName: TypeAlias = Annotated[
    str, typer.Argument(metavar="ALGORITHM", help="a name of `refcoll list`, such as ring")
]
Collective: TypeAlias = Annotated[
    str | None,
    typer.Option("--collective", "-c", help="of a name that several have: all_reduce, ..."),
]
Ranks: TypeAlias = Annotated[
    int | None,
    typer.Option("--ranks", "-n", min=1, help="number of ranks N; by default those of --nodes"),
]
Root: TypeAlias = Annotated[int, typer.Option(help="root of a broadcast or reduce")]
NodeShape: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--nodes",
        help="which ranks share a node: 4x8 for 4 nodes of 8, or 4,4,3; 2x4x8 on 2 switches",
    ),
]
Segments: TypeAlias = Annotated[
    int | None, typer.Option(min=1, help="into how many pieces a pipelined algorithm cuts")
]

Radix: TypeAlias = Annotated[
    int | None, typer.Option(min=2, help="how many ranks a wide algorithm brings together")
]
Shards: TypeAlias = Annotated[
    int | None, typer.Option(min=1, help="over how many parameter servers the vector is spread")
]


def _writable(path: Path | None) -> Path | None:
    """Refuse a file that cannot be written before the work, not after it."""
    if path is not None and str(path) != "-" and (why := unwritable(path)) is not None:
        raise typer.BadParameter(f"{str(path)!r} cannot be written: {why}")
    return path


Json: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--json",
        metavar="FILE",
        callback=_writable,
        help="write the result as JSON; - for standard output",
    ),
]


def require_no_ranks(ranks: object) -> None:
    """Raise ArgumentError where a job is told its number of ranks once more."""
    if ranks is not None:
        raise ArgumentError(f"ranks={ranks} is for in-process ranks; mpirun -n sets them here")
