"""Write vectors to a folder: an index, and for a collective and N a JSON file and text by rank."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from importlib.resources import files
from pathlib import Path
from typing import Any

from refcoll.errors import ArgumentError, within
from refcoll.oracle.vectors.cases import COLLECTIVES, cases
from refcoll.oracle.vectors.flags import FLAGS
from refcoll.oracle.vectors.orders import orders
from refcoll.oracle.vectors.records import Record, record
from refcoll.oracle.vectors.text import text

VERSION = 1
SCHEMA = "vectors.schema.json"
RANKS = (2, 3, 4, 7)
MOST_RANKS = 64
"""More make files that nobody reads, and integers that no longer fit."""


def write_vectors(
    folder: Path,
    ranks: Sequence[int] = RANKS,
    collectives: Sequence[str] = COLLECTIVES,
    seed: int = 0,
) -> Record:
    """Write all files, and return the index.  The same seed gives the same bytes.

    Raises ArgumentError for a collective or a number of ranks that there are no vectors of, and
    where the folder cannot be written.
    """
    asked = _checked(ranks, collectives, seed)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        listed = [_write(folder, name, size, seed) for name in asked[1] for size in asked[0]]
        index = _index(listed, seed)
        (folder / "index.json").write_text(_dumped(index))
        (folder / SCHEMA).write_text(schema())
    except OSError as error:
        raise ArgumentError(f"folder={str(folder)!r} cannot be written: {error}") from error
    return index


def schema() -> str:
    """The JSON Schema of the files with vectors."""
    return files("refcoll.oracle.vectors").joinpath(SCHEMA).read_text()


def _checked(
    ranks: Sequence[int], collectives: Sequence[str], seed: int
) -> tuple[list[int], list[str]]:
    within(seed, "seed", 0)
    for size in ranks:
        if within(size, "ranks", 1) > MOST_RANKS:
            raise ArgumentError(f"ranks={size} must be at most {MOST_RANKS}: vectors are small")
    for name in collectives:
        if name not in COLLECTIVES:
            raise ArgumentError(
                f"collective={name!r:.80} has no vectors; there are {', '.join(COLLECTIVES)}"
            )
    return sorted(set(ranks)), list(dict.fromkeys(collectives))


def _write(folder: Path, collective: str, size: int, seed: int) -> Record:
    records = [record(case) for case in cases(collective, size, seed)]
    stem = f"{collective}-n{size}"
    head = {
        "format": "refcoll-vectors",
        "version": VERSION,
        "collective": collective,
        "ranks": size,
        "seed": seed,
        "orders": [asdict(order) for order in orders(collective, size)],
    }
    (folder / f"{stem}.json").write_text(_dumped(head | {"vectors": records}))
    by_rank = [f"{stem}-rank{rank}.txt" for rank in range(size)]
    for rank, name in enumerate(by_rank):
        (folder / name).write_text(text(collective, size, rank, records))
    return {
        "json": f"{stem}.json",
        "text": by_rank,
        "collective": collective,
        "ranks": size,
        "vectors": len(records),
        "flags": sorted({flag for each in records for flag in each["flags"]}),
    }


def _index(listed: Sequence[Record], seed: int) -> Record:
    return {
        "format": "refcoll-vectors",
        "version": VERSION,
        "schema": SCHEMA,
        "seed": seed,
        "vectors": sum(each["vectors"] for each in listed),
        "flags": FLAGS,
        "files": list(listed),
    }


def _dumped(content: Record) -> str:
    """One line for a vector, so that two versions can be compared line by line."""
    lines = []
    for key, value in content.items():
        if isinstance(value, list) and value:
            rows = ",\n  ".join(_compact(each) for each in value)
            lines.append(f" {_compact(key)}: [\n  {rows}\n ]")
        else:
            lines.append(f" {_compact(key)}: {_compact(value)}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))
