"""refcoll vectors: portable test vectors, for implementations in any language."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from refcoll.cli.options import Json
from refcoll.cli.output import console, table, write_json
from refcoll.cli.units import said_bytes
from refcoll.errors import ArgumentError
from refcoll.oracle.vectors.cases import COLLECTIVES
from refcoll.oracle.vectors.records import Record
from refcoll.oracle.vectors.writing import RANKS, write_vectors


def vectors(
    output: Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="folder to write")],
    ranks: Annotated[
        str, typer.Option("--ranks", "-n", help="numbers of ranks, such as 2,3,4")
    ] = ",".join(map(str, RANKS)),
    collective: Annotated[
        list[str] | None,
        typer.Option("--collective", "-c", help="one of them; may be given several times"),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="from which inputs follow")] = 0,
    json: Json = None,
) -> None:
    """Write test vectors: inputs, exact results, bounds for any order, and known orders' bits.

    For implementations in any language; docs/vectors.md describes the files.
    """
    index = write_vectors(output, _sizes(ranks), collective or COLLECTIVES, seed)
    written = [path.stat().st_size for path in _written(output, index)]
    if str(json) != "-":
        print(
            f"{index['vectors']} vectors in {len(written)} files, {said_bytes(sum(written))}, "
            f"in {output}"
        )
        console().print(table(None, ("collective", "ranks", "vectors", "flags"), _rows(index)))
    write_json(json, index)


def _sizes(said: str) -> list[int]:
    """Of "2,3,4".  Raises ArgumentError for anything else."""
    try:
        return [int(each) for each in said.split(",")]
    except ValueError as error:
        raise ArgumentError(f"ranks={said!r} must be numbers, as in 2,3,4") from error


def _written(folder: Path, index: Record) -> list[Path]:
    names = [name for each in index["files"] for name in (each["json"], *each["text"])]
    return [folder / name for name in [*names, "index.json", index["schema"]]]


def _rows(index: Record) -> list[list[str]]:
    return [
        [each["collective"], str(each["ranks"]), str(each["vectors"]), str(len(each["flags"]))]
        for each in index["files"]
    ]
