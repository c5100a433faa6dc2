"""refcoll bench: how long collectives take here, side by side."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from refcoll.benchmarking import Timing, require_timed, timings
from refcoll.cli.bench_report import draw, machine, report, report_goals, require_drawable
from refcoll.cli.bench_tools import bench_tools
from refcoll.cli.memory import require_memory
from refcoll.cli.options import Json
from refcoll.cli.output import write_json
from refcoll.cli.units import said_bytes, sizes_from
from refcoll.communicator import Communicator
from refcoll.connecting import transport as connector
from refcoll.contenders import Contender, limits
from refcoll.errors import ArgumentError
from refcoll.goals import EMPTY, PRIVATE, Standing, goals, standings
from refcoll.launching import launched_size
from refcoll.peers import peers, require_peers
from refcoll.registry import algorithms, find


def bench(
    collective: Annotated[
        str, typer.Argument(help="all_reduce, reduce_scatter, all_gather or broadcast")
    ] = "all_reduce",
    algorithm: Annotated[
        list[str] | None,
        typer.Option("--algorithm", "-a", help="this one too, or all; several times"),
    ] = None,
    sizes: Annotated[
        str, typer.Option(help="bytes from:to in powers of 4, or a list: 256:16MiB, 1kB,1MB")
    ] = "256:64MiB",
    iterations: Annotated[int | None, typer.Option(min=1, help="how often each is run")] = None,
    peer: Annotated[
        list[str] | None, typer.Option(help="beside the MPI library also gloo (needs torch)")
    ] = None,
    goals_: Annotated[
        bool, typer.Option("--goals", help="exit 1 where a goal is missed, or none compared")
    ] = False,
    tuning: Annotated[
        Path | None, typer.Option(help='what refcoll calibrate has written, for "auto"')
    ] = None,
    shared_memory: Annotated[bool, typer.Option(help="within a node")] = True,
    plot: Annotated[Path | None, typer.Option(help="draw all against size: a .png, .svg")] = None,
    tools: Annotated[
        bool, typer.Option("--tools", help="instead the interpreters, on many ranks")
    ] = False,
    json: Json = None,
) -> None:
    """Time collectives beside the MPI library's own (run under mpirun).

    Columns are those of nccl-tests, a table a contender: "auto" as a plan, called anew each
    time, and on arrays from comm.empty; the algorithms asked for; the MPI library's own as
    it is, and persistent; and, as limits, how long it takes to copy and to add as many bytes.
    Then where the goals stand.  The JSON holds the keys collective, ranks, library, machine,
    rows and goals, or, for --tools (some minutes), tools.
    """
    if tools:
        bench_tools(json)
        return
    if plot is not None:
        require_drawable(plot)
    if launched_size() is None:
        raise ArgumentError("bench times real processes: run it as `mpirun -n 4 refcoll bench`")
    names, wanted = algorithm or [], sizes_from(sizes)
    _require_known(collective, names)
    require_peers(peer or [])
    end = connector("mpi")(shared_memory=shared_memory)
    comm, before = Communicator(end, tuning=tuning), machine()
    require_memory(comm, max(wanted))
    beside = peers(comm, peer or [])
    named = [each.name for each in beside]
    taking_part = [*beside, *_contenders(comm, collective, names), *limits()]
    rows = _told(comm, timings(comm, collective, wanted, taking_part, named, iterations))
    library = " ".join(end.library().split())  # type: ignore[attr-defined]
    stand = standings(goals(collective, _brand(library), shared_memory), rows)
    if comm.rank == 0:
        content = {
            "collective": collective, "ranks": comm.size,
            "ranks_on_nodes": [len(node) for node in comm.nodes], "library": library,
            "shared_memory": shared_memory, "machine": before, **_measured(rows, stand),
        }  # fmt: skip
        _tell(content, rows, named, stand, json, plot)
        if goals_ and not stand:
            print("refcoll: no goal speaks of what was timed", file=sys.stderr)
    missed = goals_ and not (stand and all(each.met for each in stand))
    raise typer.Exit(1 if missed or any(row.wrong for row in rows) else 0)


def _require_known(collective: str, names: Sequence[str]) -> None:
    """Raise ArgumentError for a collective that cannot be timed, or an algorithm that is none."""
    require_timed(collective)
    for name in names:
        if name not in ("all", PRIVATE):
            find(collective, name)


def _brand(library: str) -> str:
    """The one for which goals are set, of what an MPI says it is."""
    return next((each for each in ("MPICH", "Open MPI") if each in library), library)


def _told(comm: Communicator, rows: Iterator[Timing]) -> list[Timing]:
    """The rows; while they are measured, rank 0 says on standard error how far that is."""
    found: list[Timing] = []
    for row in rows:
        if comm.rank == 0 and (not found or _cell(row) != _cell(found[-1])):
            place = "in place" if row.in_place else "out of place"
            print(f"bench: {said_bytes(row.size)}, {place}", file=sys.stderr, flush=True)
        found.append(row)
    return found


def _cell(row: Timing) -> tuple[int, bool]:
    return row.size, row.in_place


def _measured(rows: Sequence[Timing], stand: Sequence[Standing]) -> dict[str, Any]:
    """For JSON."""
    return {
        "rows": [asdict(row) for row in rows],
        "goals": [{**asdict(each), "met": each.met} for each in stand],
    }


def _tell(
    content: dict[str, Any],
    rows: Sequence[Timing],
    named: Sequence[str],
    stand: Sequence[Standing],
    json: Path | None,
    plot: Path | None,
) -> None:
    """In all the ways asked for."""
    if str(json) != "-":
        _head(content)
        report(rows, named)
        report_goals(stand)
    write_json(json, content)
    if plot is not None:
        on = f"{content['collective']} on {content['ranks']} ranks"
        draw(plot, f"{on} over {content['library']}", rows)


def _head(content: dict[str, Any]) -> None:
    here = content["machine"]
    crowded = content["ranks"] > here["cores"]
    note = " (fewer than ranks: times are the scheduler's too)" if crowded else ""
    nodes = len(content["ranks_on_nodes"])
    where = f", {nodes} nodes" if nodes > 1 else ""
    print(
        f"{content['collective']} on {content['ranks']} ranks{where} over {content['library']}; "
        f"float32, time in us\n{here['processor']}, {here['cores']} cores{note}, "
        f"load {here['load']:.1f} at the start; transparent huge pages {here['huge_pages']}, "
        f"GLIBC_TUNABLES {here['malloc']}; Python {here['python']}; "
        f"shared memory {'on' if content['shared_memory'] else 'off'}"
    )


def _contenders(comm: Communicator, collective: str, names: Sequence[str]) -> list[Contender]:
    """ "auto" in its ways, then the algorithms named, or all that run on so many ranks."""
    found = [
        each.name
        for each in algorithms(collective)
        if each.sizes.holds(comm.size) and not each.needs_helpers
    ]
    named = found if "all" in names else [name for name in names if name != PRIVATE]
    return [
        Contender(PRIVATE, lambda case: case.plan("auto")),
        Contender("auto, one-off", lambda case: case.one_off("auto")),
        Contender(EMPTY, lambda case: case.plan("auto"), empty=True),
        *(Contender(each, lambda case, each=each: case.plan(each)) for each in named),  # type: ignore[misc]
    ]
