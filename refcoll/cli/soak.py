"""refcoll soak: random calls with random faults, for so long."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Annotated

import typer

from refcoll.cli.options import Json, require_no_ranks
from refcoll.cli.output import console, table, write_json
from refcoll.cli.units import said_bytes
from refcoll.connecting import transport as connector
from refcoll.errors import ArgumentError
from refcoll.launching import launched_size
from refcoll.spawning import spawn
from refcoll.testing.tallying import MOST_TOLD, Plan, Tally
from refcoll.testing.tallying import soak as soaked

MOST = 1e9
"""Seconds."""
_TOLD = 10.0
"""Seconds between two words of progress."""
_HEADER = ("fault", "injected", "detected", "harmless", "let through")


def soak(
    seconds: Annotated[float, typer.Option(help="for how long")] = 60.0,
    operations: Annotated[int | None, typer.Option(min=1, help="at most so many")] = None,
    seed: Annotated[int, typer.Option(help="what is done follows from it")] = 0,
    first: Annotated[int, typer.Option(min=0, help="number of the first operation")] = 0,
    ranks: Annotated[
        int | None, typer.Option(min=2, help="without mpirun: in-process ranks", show_default="4")
    ] = None,
    faults: Annotated[float, typer.Option(min=0, max=1, help="share of operations with one")] = 0.2,
    timeout: Annotated[float, typer.Option(help="seconds that any one wait may last")] = 0.2,
    json: Json = None,
) -> None:
    """Random collectives over random sizes, dtypes and algorithms, some with a fault put in.

    Messages are dropped, repeated, changed, cut, delayed or exchanged, and ranks die; half of
    the operations carry checksums.  It holds if nothing hangs, nothing that carries checksums
    is wrong, nothing goes wrong without a fault, and few waits are too short for this machine.
    Under mpirun each process is a rank.  On the same number of ranks, --first 651 --operations 1
    does one operation again, and tells of it.
    The JSON holds the keys holds, verdict, operations, bytes, late, hangs, broken and faults.
    """
    for name, value in (("timeout", timeout), ("seconds", seconds)):
        if not 0 < value < MOST:
            raise ArgumentError(f"{name}={value} must be above 0 seconds, and below {MOST:g}")
    plan = Plan(seed, seconds, first, operations, faults, timeout)
    launched = launched_size()
    if launched is None:
        size = 4 if ranks is None else ranks
        where, rank = f"{size} ranks within a process", 0
        tally = spawn(size, lambda comm: soaked(comm.transport, plan, _progress(comm.rank)))[0]
    else:
        _require_launched(launched, ranks)
        end = connector("mpi")()
        where, rank = f"{end.size} ranks over mpi", end.rank
        tally = soaked(end, plan, _progress(rank))
    if rank == 0:
        verdict = _verdict(tally)
        if str(json) != "-":
            _report(tally, where, verdict)
        write_json(json, {"holds": tally.holds, "verdict": verdict, **tally.as_json()})
    raise typer.Exit(0 if tally.holds else 1)


def _require_launched(launched: int, ranks: int | None) -> None:
    require_no_ranks(ranks)
    if launched < 2:
        raise ArgumentError("a soak needs at least 2 ranks: `mpirun -n 4 refcoll soak`")


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
    if tally.too_late:
        return (
            f"FAILS: in {tally.late} of {tally.operations} operations a wait was too short for "
            "this machine, so they show nothing: give more --timeout"
        )
    injected = tally.fates.total()
    return (
        f"holds: {tally.operations} operations, {injected} of them with a fault: 0 hangs, 0 wrong "
        "results let through with checksums, 0 without a fault"
    )


def _report(tally: Tally, where: str, verdict: str) -> None:
    print(verdict, flush=True)
    late = f"; in {tally.late} operations a wait was too short for this machine"
    print(f"{where}, {said_bytes(tally.nbytes)} received{late if tally.late else ''}")
    if tally.operations <= MOST_TOLD:
        print(*tally.told, sep="\n")
    for sums in (True, False):
        rows = [[kind, str(sum(fates)), *map(str, fates)] for kind, *fates in tally.rows(sums)]
        title = "with checksums" if sums else "without checksums"
        console().print(table(title, _HEADER, rows))
    for each in tally.broken:
        print(each)
    print(verdict, flush=True)
