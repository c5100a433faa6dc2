"""refcoll bench: how long things take here, side by side."""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from typing import Annotated, Any

import typer

from refcoll.benchmarking import Case, Contender, Timing, timings
from refcoll.cli.options import Json
from refcoll.cli.output import console, table, write_json
from refcoll.cli.units import nbytes, said_bytes
from refcoll.communicator import Communicator
from refcoll.connecting import transport as connector
from refcoll.errors import ArgumentError
from refcoll.interpreters.check import check
from refcoll.interpreters.count import count
from refcoll.launching import launched_size
from refcoll.registry import algorithms, program

_TOOLS = (
    ("all_reduce", "ring", 256),
    ("all_reduce", "ring", 512),
    ("all_reduce", "ring", 1024),
    ("all_reduce", "recursive_doubling", 1024),
    ("all_reduce", "rabenseifner", 1024),
    ("all_reduce", "double_binary_tree", 1024),
    ("all_reduce", "double_binary_tree", 4096),
)
_HEADER = ("algorithm", "ranks", "chunk moves", "check s", "count s", "peak MB")


@dataclass(frozen=True)
class Tools:
    """What checking and counting one program took, in a process of its own."""

    algorithm: str
    ranks: int
    chunk_moves: int
    """Chunks named by all messages, each once."""
    check_seconds: float
    count_seconds: float
    """After the check, which has laid the program out in arrays."""
    peak_megabytes: float
    """Of the whole process."""


def bench(
    collective: Annotated[str, typer.Argument(help="all_reduce, reduce_scatter, ...")] = (
        "all_reduce"
    ),
    algorithm: Annotated[
        list[str] | None,
        typer.Option("--algorithm", "-a", help="only this one; may be given several times"),
    ] = None,
    sizes: Annotated[
        str, typer.Option(help="bytes from:to in powers of 4, or a list: 256:16MB, 1kB,1MB")
    ] = "256:16MB",
    iterations: Annotated[int | None, typer.Option(min=1, help="how often each is run")] = None,
    tools: Annotated[
        bool, typer.Option("--tools", help="instead the checker and the counter, on many ranks")
    ] = False,
    json: Json = None,
) -> None:
    """Time algorithms beside the MPI library's own collective (run under mpirun).

    Columns are those of nccl-tests, a table an algorithm, with the time divided by the
    library's in the same run.  The JSON holds the keys collective, ranks, baseline and rows,
    or, for --tools (a minute or so), tools.
    """
    if tools:
        _bench_tools(json)
        return
    if launched_size() is None:
        raise ArgumentError("bench times real processes: run it as `mpirun -n 4 refcoll bench`")
    end = connector("mpi")()
    comm = Communicator(end)
    contenders = _contenders(comm, collective, algorithm)
    rows: list[Timing] = []
    for row in timings(comm, collective, _sizes(sizes), contenders, _LIBRARY, iterations):
        rows.append(row)
        if comm.rank == 0 and row.contender == _LIBRARY:
            print(f"bench: {said_bytes(row.size)}", file=sys.stderr, flush=True)
    if comm.rank == 0:
        library: str = end.library()  # type: ignore[attr-defined]
        if str(json) != "-":
            print(f"{collective} on {comm.size} ranks over {library}; float32, time in us")
            _report(contenders, rows)
        write_json(json, {
            "collective": collective, "ranks": comm.size, "baseline": library,
            "rows": [asdict(row) for row in rows],
        })  # fmt: skip
    raise typer.Exit(1 if any(row.wrong for row in rows) else 0)


def _report(contenders: Iterable[str], rows: Sequence[Timing]) -> None:
    """A table for each contender."""
    for name in contenders:
        mine = [row for row in rows if row.contender == name]
        print()
        console().print(table(f"# {name}", _COLUMNS, [_cells(row) for row in mine]))
    print("\nratio: time / the library's, in the same run; below 1 refcoll is faster")


_LIBRARY = "MPI"
_COLUMNS = (
    "size", "count", "type", "redop", "root", "place", "time", "algbw", "busbw", "#wrong", "ratio",
)  # fmt: skip


def _contenders(
    comm: Communicator, collective: str, names: list[str] | None
) -> dict[str, Callable[[Case], Contender]]:
    """The library's own first, then the algorithms named, or all that run on so many ranks."""
    found = [
        each.name
        for each in algorithms(collective)
        if each.sizes.holds(comm.size) and not each.needs_helpers
    ]
    end: Any = comm.transport
    made: dict[str, Callable[[Case], Contender]] = {
        _LIBRARY: lambda case: end.native(case.collective, case.x, case.out)
    }
    for name in names or ["auto", *found]:
        made[name] = lambda case, name=name: case.plan(name)  # type: ignore[misc]
    return made


def _sizes(text: str) -> list[int]:
    """Bytes from "256:16MB", each four times the one before, or from "1kB,1MB"."""
    if ":" not in text:
        return [nbytes(each) for each in text.split(",")]
    first, _, last = text.partition(":")
    sizes = [nbytes(first)]
    while sizes[-1] * 4 <= nbytes(last):
        sizes.append(sizes[-1] * 4)
    return sizes


def _cells(row: Timing) -> list[str]:
    return [
        str(row.size), str(row.count), row.type, row.redop, str(row.root),
        "in" if row.in_place else "out", f"{row.time_us:.2f}", f"{row.algbw:.3f}",
        f"{row.busbw:.3f}", str(row.wrong), "-" if row.ratio is None else f"{row.ratio:.2f}",
    ]  # fmt: skip


def _bench_tools(json: Json) -> None:
    fresh = ProcessPoolExecutor(1, mp_context=get_context("spawn"), max_tasks_per_child=1)
    rows: list[Tools] = []
    with fresh:
        for done in (fresh.submit(_timed, *each) for each in _TOOLS):
            rows.append(done.result())
            print(f"bench: {rows[-1].algorithm} on {rows[-1].ranks} ranks", file=sys.stderr)
    if str(json) != "-":
        cells = [
            [row.algorithm, str(row.ranks), str(row.chunk_moves), f"{row.check_seconds:.2f}",
             f"{row.count_seconds:.2f}", f"{row.peak_megabytes:.0f}"]
            for row in rows
        ]  # fmt: skip
        console().print(table("Tools", _HEADER, cells))
    write_json(json, {"tools": [asdict(row) for row in rows]})


def _timed(collective: str, name: str, size: int) -> Tools:
    made = program(collective, name, size)
    started = time.perf_counter()
    check(made).raise_for_failures()
    checked = time.perf_counter()
    counts = count(made, made.chunks)  # one element a chunk: elements are chunk moves
    counted = time.perf_counter()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    unit = 1 if sys.platform == "darwin" else 1024  # macOS counts bytes, Linux kilobytes
    return Tools(
        name,
        size,
        sum(rank.sent for rank in counts.ranks),
        checked - started,
        counted - checked,
        peak * unit / 1e6,
    )
