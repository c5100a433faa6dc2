"""refcoll judge --mutants: does the oracle find every fault, and only faults?"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

from refcoll.cli.judge_calls import chosen_collectives
from refcoll.cli.judge_progress import Bar
from refcoll.cli.output import console, table, write_json
from refcoll.errors import ArgumentError
from refcoll.launching import launched_size
from refcoll.words import counted


def require_alone(others: Mapping[str, object]) -> None:
    """Raise ArgumentError where --mutants comes with an option that it takes no notice of."""
    given = next((name for name, value in others.items() if value not in (None, False)), None)
    if given is not None:
        raise ArgumentError(
            f"{given}={others[given]} does not go with --mutants, which judges refcoll's own "
            "faulty implementations, each by the calls and ranks that its fault takes: leave it "
            "out; -c, --seed and --json go with it"
        )
    if launched_size() is not None:
        raise ArgumentError("--mutants judges on threads: leave mpirun out")


def score_mutants(collectives: Sequence[str] | None, seed: int, json: Path | None) -> int:
    """Print the score; the exit status."""
    from refcoll.oracle import mutants

    chosen = chosen_collectives(collectives)
    faulty = [each for each in mutants.MUTANTS if each.shows_at.collective in chosen]
    expected = mutants.expected(faulty, collectives=chosen)
    right = len(expected) - len(faulty)
    print(
        f"judging {counted(len(faulty), 'faulty implementation')} and {right} right ones: "
        f"about {sum(expected):.0f} s where a core is free",
        file=sys.stderr, flush=True,
    )  # fmt: skip
    bar, begun = Bar("implementations", expected), count()
    found = mutants.score(
        faulty, progress=lambda said: bar.show(next(begun)), seed=seed, collectives=chosen
    )
    bar.stop()
    _tell(found, json)
    return 0 if found.perfect else 1


def _tell(found: Any, json: Path | None) -> None:
    verdict = (
        f"{'holds' if found.perfect else 'FAILS'}: {found.found} of "
        f"{counted(found.total, 'fault')} found, {counted(len(found.false_alarms), 'false alarm')}"
    )
    if str(json) != "-":
        print(verdict, flush=True)
        _print(found.rows)
        print(*(f"false alarm: {each}" for each in found.false_alarms), sep="\n", end="")
    write_json(json, {
        "holds": found.perfect, "verdict": verdict, "found": found.found, "total": found.total,
        "false_alarms": found.false_alarms,
        "rows": [
            {"name": row.name, "fault": row.fault, "found": row.found,
             "diagnosis": row.diagnosis, "simple": dict(row.simple)}
            for row in found.rows
        ],
    })  # fmt: skip


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


def _yes(found: bool) -> str:
    return "found" if found else "-"
