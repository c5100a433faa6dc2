"""refcoll soak: random calls with random faults, for so long."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Annotated

import typer

from refcoll.cli.options import Json
from refcoll.cli.output import console, table, write_json
from refcoll.cli.units import said_bytes
from refcoll.connecting import transport as connector
from refcoll.errors import ArgumentError
from refcoll.launching import launched_size
from refcoll.spawning import spawn
from refcoll.testing.tallying import Plan, Tally
from refcoll.testing.tallying import soak as soaked

_TOLD = 10.0
"""Seconds between two words of progress."""
_HEADER = ("fault", "injected", "detected", "harmless", "let through")


def soak(
    seconds: Annotated[float, typer.Option(help="for how long")] = 60.0,
    operations: Annotated[int | None, typer.Option(min=1, help="at most so many")] = None,
    seed: Annotated[int, typer.Option(help="what is done follows from it")] = 0,
    first: Annotated[int, typer.Option(min=0, help="number of the first operation")] = 0,
    ranks: Annotated[int, typer.Option(min=2, help="without mpirun: in-process ranks")] = 4,
    faults: Annotated[float, typer.Option(min=0, max=1, help="share of operations with one")] = 0.2,
    timeout: Annotated[float, typer.Option(help="seconds that any one wait may last")] = 0.2,
    json: Json = None,
) -> None:
    """Random collectives over random sizes, dtypes and algorithms, some with a fault put in.

    Messages are dropped, repeated, changed, cut, delayed or exchanged, and ranks die; half of
    the operations carry checksums.  It holds if nothing hangs, nothing that carries checksums
    is wrong, and nothing goes wrong without a fault.  Under mpirun each process is a rank.
    The JSON holds the keys holds, verdict, operations, bytes, late, hangs, broken and faults.
    """
    if not timeout > 0 or not seconds > 0:
        raise ArgumentError(f"timeout={timeout} and seconds={seconds} must be above 0")
    plan = Plan(seed, seconds, first, operations, faults, timeout)
    if launched_size() is None:
        where, rank = f"{ranks} ranks within a process", 0
        tally = spawn(ranks, lambda comm: soaked(comm.transport, plan, _progress(comm.rank)))[0]
    else:
        end = connector("mpi")()
        where, rank = f"{end.size} ranks over mpi", end.rank
        tally = soaked(end, plan, _progress(rank))
    if rank == 0:
        verdict = _verdict(tally)
        if str(json) != "-":
            _report(tally, where, verdict)
        write_json(json, {"holds": tally.holds, "verdict": verdict, **tally.as_json()})
    raise typer.Exit(0 if tally.holds else 1)


def _progress(rank: int) -> Callable[[Tally], None]:
    """Tells, on rank 0 and every ten seconds, how far it has come."""
    told = time.monotonic()

    def progress(tally: Tally) -> None:
        nonlocal told
        if rank == 0 and time.monotonic() - told > _TOLD:
            told = time.monotonic()
            print(f"soaking: {tally.operations} operations", file=sys.stderr, flush=True)

    return progress


def _verdict(tally: Tally) -> str:
    if tally.broken:
        return f"FAILS: {len(tally.broken)} of {tally.operations} operations: {tally.broken[0]}"
    injected = tally.fates.total()
    return (
        f"holds: {tally.operations} operations, {injected} of them with a fault: 0 hangs, 0 wrong "
        "results let through with checksums, 0 without a fault"
    )


def _report(tally: Tally, where: str, verdict: str) -> None:
    print(verdict, flush=True)
    print(f"{where}, {said_bytes(tally.nbytes)} received", end="")
    print(f"; {tally.late} waits were too short for this machine" if tally.late else "")
    for sums in (True, False):
        rows = [[kind, str(sum(fates)), *map(str, fates)] for kind, *fates in tally.rows(sums)]
        title = "with checksums" if sums else "without checksums"
        console().print(table(title, _HEADER, rows))
    for each in tally.broken:
        print(each)
    print(verdict, flush=True)
