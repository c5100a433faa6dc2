"""refcoll verify: run every algorithm, and hold it to what it claims."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress

from refcoll.cli.options import Collective, Json, require_no_ranks
from refcoll.cli.output import console, table, write_json
from refcoll.communicator import Communicator
from refcoll.connecting import transport as connector
from refcoll.errors import ArgumentError, TransportError
from refcoll.launching import launched_size
from refcoll.registry import algorithms, find
from refcoll.spawning import spawn
from refcoll.testing import verification
from refcoll.testing.verification import Case, Row, cases

_HEADER = (
    "algorithm", "collective", "ranks", "n", "dtype", "op", "exact", "agree", "steps", "claimed",
    "bytes sent", "claimed", "received", "lower bound", "ok",
)  # fmt: skip
_IN_PROCESS = "in-process"


@dataclass
class _Outcome:
    """All rows, and what kept the rest from running, if anything did."""

    transport: str
    rows: list[Row] = field(default_factory=list)
    failure: str | None = None
    seconds: float = 0

    @property
    def wrong(self) -> list[Row]:
        return [row for row in self.rows if not row.ok]

    @property
    def holds(self) -> bool:
        return self.failure is None and not self.wrong

    @property
    def verdict(self) -> str:
        if self.failure is not None:
            return f"FAILS: {self.failure}"
        if self.wrong:
            first = self.wrong[0]
            counted = f"{len(self.wrong)} of {len(self.rows)} rows, first {first.title}"
            return f"FAILS: {counted}: {'; '.join(first.problems)}"
        sizes = ", ".join(str(size) for size in sorted({row.ranks for row in self.rows}))
        simulated = sum(row.transport == "simulated" for row in self.rows)
        also = f", {simulated} simulated," if simulated else ""
        return (
            f"holds: {len(self.rows) - simulated} rows on {sizes} ranks over {self.transport}"
            f"{also} in {self.seconds:.1f} s: exact on every rank, steps and bytes as claimed"
        )


def verify(
    ranks: Annotated[
        str | None, typer.Option(help="without mpirun: in-process ranks", show_default="2,3,4,7,8")
    ] = None,
    algorithm: Annotated[str | None, typer.Option("--algorithm", "-a", help="only this")] = None,
    collective: Collective = None,
    thorough: Annotated[
        bool, typer.Option("--thorough", help="all lengths, dtypes with operators, and options")
    ] = False,
    transport: Annotated[
        str | None,
        typer.Option(help="in-process, mpi, ...; by default mpi under mpirun, else in-process"),
    ] = None,
    timeout: Annotated[float, typer.Option(help="seconds that any one wait may last")] = 30.0,
    json: Json = None,
) -> None:
    """Run every algorithm: exact on every rank, steps and bytes as claimed.

    Under mpirun each process is a rank; alone, the ranks are threads of this process.  The
    JSON holds the keys holds, verdict and rows; bytes and steps are the maximum over ranks.
    """
    _require_known(collective, algorithm)
    name = transport or (_IN_PROCESS if launched_size() is None else "mpi")
    if name == _IN_PROCESS:
        rank, plan = 0, _plan(_sizes(ranks), collective, algorithm, thorough)
        rows = _in_process(plan, timeout)
    else:
        require_no_ranks(ranks)
        end = connector(name)()  # raises for a name that does not exist
        rank, plan = end.rank, _plan([end.size], collective, algorithm, thorough)
        rows = verification.verify(end, plan[end.size], timeout)
    total = sum(len(each) for each in plan.values())
    outcome = _outcome(name, _with_progress(rows, total, show=rank == 0))
    if rank == 0:
        _report(outcome, json)
    elif outcome.failure is not None:
        print(f"rank {rank}: {outcome.verdict}", file=sys.stderr)
    raise typer.Exit(0 if outcome.holds else 1)


def _sizes(ranks: str | None) -> list[int]:
    parts = ("2,3,4,7,8" if ranks is None else ranks).split(",")
    if not all(part.strip().isdecimal() and int(part) > 0 for part in parts):
        raise ArgumentError(f"ranks={ranks!r} must be numbers of ranks, such as 2,3,4")
    return [int(part) for part in parts]


def _require_known(collective: str | None, algorithm: str | None) -> None:
    """Raise ArgumentError for a name that does not exist on any number of ranks."""
    known = algorithms(collective)
    if algorithm is not None and collective is not None:
        find(collective, algorithm)
    if algorithm is not None and "+" not in algorithm and not algorithms(None, algorithm):
        names = ", ".join(sorted({each.name for each in known}))
        raise ArgumentError(f"algorithm={algorithm!r} does not exist; there are {names}")


def _plan(
    sizes: Sequence[int], collective: str | None, algorithm: str | None, thorough: bool
) -> dict[int, list[Case]]:
    """What is run on how many ranks; refused where that is nothing at all."""
    plan = {size: cases(size, collective, algorithm, thorough) for size in sizes}
    if not any(plan.values()):
        refused = ArgumentError(
            f"there is nothing to run for algorithm={algorithm!r}, collective={collective!r} on "
            f"{', '.join(map(str, sizes))} ranks; see `refcoll list`"
        )
        refused.poisons = False  # all ranks plan the same
        raise refused
    return plan


def _in_process(plan: dict[int, list[Case]], timeout: float) -> Iterator[Row]:
    """The rows of all sizes, each size on threads of its own."""

    def run(comm: Communicator, chosen: Sequence[Case]) -> list[Row]:
        return list(verification.verify(comm.transport, chosen, timeout))

    for size, chosen in plan.items():
        step = max(1, len(chosen) // 10)
        for first in range(0, len(chosen), step):
            yield from spawn(size, run, chosen[first : first + step])[0]


def _outcome(transport: str, rows: Iterator[Row]) -> _Outcome:
    """Of all rows, or of those up to the one in which the transport failed."""
    outcome, started = _Outcome(transport), time.monotonic()
    try:
        outcome.rows.extend(rows)
    except TransportError as error:
        outcome.failure = str(error)
    outcome.seconds = time.monotonic() - started
    return outcome


def _with_progress(rows: Iterator[Row], total: int, show: bool) -> Iterator[Row]:
    """The rows as they come, told on standard error: a bar, or a line now and then."""
    if not show:
        yield from rows
        return
    with Progress(console=Console(stderr=True), disable=not sys.stderr.isatty()) as bar:
        task, told = bar.add_task("verifying", total=total), time.monotonic()
        for done, row in enumerate(rows, 1):
            yield row
            bar.advance(task)
            if not sys.stderr.isatty() and time.monotonic() - told > 2:
                told = time.monotonic()
                print(f"verifying: {done} of {total} rows", file=sys.stderr, flush=True)


def _report(outcome: _Outcome, json: Path | None) -> None:
    if str(json) != "-":
        print(outcome.verdict, flush=True)
        console().print(table(None, _HEADER, [_cells(row) for row in outcome.rows]))
        print(outcome.verdict, flush=True)
    rows = [asdict(row) for row in outcome.rows]
    write_json(json, {"holds": outcome.holds, "verdict": outcome.verdict, "rows": rows})


def _cells(row: Row) -> list[str]:
    return [
        _named(row), row.collective, str(row.ranks), str(row.count), row.dtype, row.op or "-",
        _yes(row.exact), _yes(row.agree), str(row.steps), str(row.steps_claimed),
        str(row.sent_bytes), str(row.sent_claimed), str(row.received_bytes),
        f"{row.lower_bound_bytes:.10g}", "ok" if row.ok else "; ".join(row.problems),
    ]  # fmt: skip


def _named(row: Row) -> str:
    return " ".join([row.algorithm, *(f"{key}={value}" for key, value in row.options)])


def _yes(value: bool) -> str:
    return "yes" if value else "NO"
