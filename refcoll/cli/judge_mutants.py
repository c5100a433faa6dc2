"""refcoll judge --mutants: does the oracle find every fault, and only faults?"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from refcoll.cli.output import console, table, write_json


def score_mutants(json: Path | None) -> int:
    """Print the score; the exit status."""
    from refcoll.oracle.mutants import score

    found: Any = score(progress=_progress())
    holds = found.perfect
    verdict = (
        f"{'holds' if holds else 'FAILS'}: {found.found} of {found.total} faults found, "
        f"{len(found.false_alarms)} false alarms"
    )
    if str(json) != "-":
        print(verdict, flush=True)
        _print(found.rows)
        print(*(f"false alarm: {each}" for each in found.false_alarms), sep="\n", end="")
    write_json(json, {
        "holds": holds, "verdict": verdict, "found": found.found, "total": found.total,
        "false_alarms": found.false_alarms,
        "rows": [
            {"name": row.name, "fault": row.fault, "found": row.found,
             "diagnosis": row.diagnosis, "simple": dict(row.simple)}
            for row in found.rows
        ],
    })  # fmt: skip
    return 0 if holds else 1


def _print(rows: Any) -> None:
    """What simpler checks would have found, beside."""
    checks = list(rows[0].simple) if rows else []
    header = ("mutant", "oracle", *checks, "fault", "diagnosis")
    cells = [
        [row.name, _yes(row.found), *(_yes(row.simple[each]) for each in checks), row.fault,
         row.diagnosis or "-"]
        for row in rows
    ]  # fmt: skip
    console().print(table(None, header, cells))
    totals = (f"{each} {sum(row.simple[each] for row in rows)}" for each in checks)
    print(f"of {len(rows)}: the oracle {sum(row.found for row in rows)}, {', '.join(totals)}")


def _progress() -> Callable[[str], None]:
    """Tells now and then how far it has come."""
    told = time.monotonic()

    def progress(said: str) -> None:
        nonlocal told
        if time.monotonic() - told > _TOLD:
            told = time.monotonic()
            print(f"judge: {said}", file=sys.stderr, flush=True)

    return progress


_TOLD = 10.0
"""Seconds between two words of progress."""


def _yes(found: bool) -> str:
    return "found" if found else "-"
