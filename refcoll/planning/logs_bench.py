"""What `refcoll bench` has printed, or written with --json.

    all_reduce on 4 ranks over MPICH Version: 5.0.1; float32, time in us
    # ring
     size  count   type  redop  root  place    time  algbw  busbw  #wrong ...
    65536  16384  float    sum    -1    out  102.25  0.641  0.961       0 ...

Rows of an algorithm, and of MPI's own, are samples; "auto" is no one algorithm, and "copy" and
"add" are limits.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from refcoll.collectives import COLLECTIVES
from refcoll.errors import ArgumentError
from refcoll.planning.logs import Given, Lines, Sample, number
from refcoll.registry import algorithms

_HEAD = re.compile(r"^(\w+) on (\d+) ranks?(?:, (\d+) nodes?)? over ")
_COLUMNS = ["size", "count", "type", "redop", "root", "place", "time", "algbw", "busbw", "#wrong"]
_LIBRARIES = ("MPI",)


def is_header(line: str) -> bool:
    """Whether a line names the columns."""
    return line.split()[: len(_COLUMNS)] == _COLUMNS


def samples(log: Lines, given: Given) -> list[Sample]:
    """All rows of the tables."""
    collective, ranks, nodes, contender, inside = "", 0, 1, "", False
    found = []
    for place, line in enumerate(log.lines, 1):
        if head := _HEAD.match(line):
            collective, ranks, nodes = head[1], int(head[2]), int(head[3] or 1)
        elif line.startswith("# "):
            contender = line[2:].strip()
        elif is_header(line):
            inside = True
        elif not line.split():
            inside = False
        elif inside and _counts(collective, contender):
            if not ranks:
                log.refuse(place, "no line before it says on how many ranks", "give all of it")
            row = _row(log, place, line.split())
            found.append(Sample(**row, collective=collective, contender=contender, ranks=ranks,
                                nodes=given.nodes or nodes))  # fmt: skip
    return found


def _counts(collective: str, contender: str) -> bool:
    known = collective in COLLECTIVES and {each.name for each in algorithms(collective)}
    return contender in _LIBRARIES or bool(known and contender in known)


def _row(log: Lines, place: int, cells: list[str]) -> dict[str, Any]:
    if len(cells) < len(_COLUMNS):
        problem = f"{len(cells)} columns, where the header names {len(_COLUMNS)} or more"
        log.refuse(place, problem, "give the whole table")
    told = dict(zip(_COLUMNS, cells, strict=False))
    seconds = number(log, place, "time", told["time"]) * 1e-6
    if told["#wrong"] not in ("0", "-") or not seconds:
        log.refuse(place, f"{told['#wrong']} elements are wrong, or no time is told", "run again")
    return {
        "log": log.path.name, "where": log.place(place), "seconds": seconds,
        "nbytes": int(number(log, place, "size", told["size"])),
        "in_place": told["place"] == "in",
    }  # fmt: skip


def from_json(path: Path, text: str) -> list[Sample]:
    """The rows of what --json wrote.  Raises ArgumentError for any other JSON."""
    try:
        content = json.loads(text)
        collective, ranks = content["collective"], int(content["ranks"])
        return [
            Sample(
                log=path.name, where=f"{path}, row {place}", collective=collective,
                contender=row["contender"], ranks=ranks,
                nodes=len(content.get("ranks_on_nodes", [0])), nbytes=int(row["size"]),
                seconds=_positive(row["time_us"]) * 1e-6, in_place=bool(row["in_place"]),
            )
            for place, row in enumerate(content["rows"])
            if _counts(collective, row["contender"])
        ]  # fmt: skip
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ArgumentError(
            f"from-log={str(path)!r} is no JSON that `refcoll bench --json` has written: {error!r}"
        ) from error


def _positive(value: Any) -> float:
    if not 0 < value < float("inf"):
        raise ValueError(f"time_us={value!r} must be above 0")
    return float(value)
