"""refcoll calibrate: measure which algorithm is best here, for "auto" to take."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from refcoll.benchmarking import BUS_FACTORS, Contender, Timing, timings
from refcoll.choosing import choose
from refcoll.cli.options import Json
from refcoll.cli.output import console, require_writable, table, write_json
from refcoll.cli.units import said_bytes, sizes_from
from refcoll.communicator import Communicator
from refcoll.connecting import transport as connector
from refcoll.errors import ArgumentError
from refcoll.launching import launched_size
from refcoll.registry import algorithms
from refcoll.topology import topology
from refcoll.tuning import VARIABLE, Best, Placement, Tuning, read

_WORTH = 0.95
"""Another algorithm than the model's choice must take at most so much of its time: less of a
difference may be chance."""


def calibrate(
    out: Annotated[Path, typer.Option(help="the file, which is added to if it is there")] = Path(
        "refcoll-tuning.json"
    ),
    collective: Annotated[
        list[str] | None, typer.Option("--collective", "-c", help="only this one; several times")
    ] = None,
    sizes: Annotated[
        str, typer.Option(help="bytes from:to in powers of 4, or a list: 256:16MiB, 1kB,1MB")
    ] = "256:16MiB",
    iterations: Annotated[int | None, typer.Option(min=1, help="how often each is run")] = None,
    json: Json = None,
) -> None:
    """Time every algorithm at every size on these ranks, and write down which is best.

    Run it under mpirun, once for every number of ranks that matters.  "auto" follows the file
    where refcoll.connect is given tuning=FILE, or $REFCOLL_TUNING names it; for placements of
    ranks that are not in it, the cost model decides as before.  The JSON holds the keys
    ranks_on_nodes, file and choices.
    """
    if launched_size() is None:
        raise ArgumentError("calibrate times real processes: run `mpirun -n 4 refcoll calibrate`")
    require_writable(out, "out")
    comm = Communicator(connector("mpi")(), tuning=Tuning({}))  # what was measured is no matter
    wanted, known = sizes_from(sizes), read(out) if out.exists() else Tuning({})
    measured: dict[Placement, Sequence[Best]] = {}
    lines = []
    for name in collective or BUS_FACTORS:
        rows = _measured(comm, name, wanted, iterations)
        best = _best(comm, name, rows)
        measured[Placement.of(name, comm.nodes)] = best
        lines += [_line(comm, name, each, rows) for each in best]
    if comm.rank == 0:
        known.with_more(measured).write(out)
        if str(json) != "-":
            header = ("collective", "size", "best", "us", "the model's choice", "us", "ratio")
            console().print(table(f"On {comm.size} ranks", header, lines))
            print(f"\nwritten to {out}: use it by {VARIABLE}={out}, or connect(tuning=...)")
        write_json(json, {
            "ranks_on_nodes": [len(node) for node in comm.nodes], "file": str(out),
            "choices": [
                {
                    "collective": line[0], "size": int(line[1]), "best": line[2],
                    "best_us": float(line[3]), "model": line[4], "model_us": float(line[5]),
                }
                for line in lines
            ],
        })  # fmt: skip


def _measured(
    comm: Communicator, collective: str, sizes: Sequence[int], iterations: int | None
) -> list[Timing]:
    """In place where there is an in place; without those that were wrong, which is said."""
    names = [
        each.name
        for each in algorithms(collective)
        if each.sizes.holds(comm.size) and not each.needs_helpers
    ]
    taking_part = [
        Contender(name, lambda case, name=name: case.plan(name))  # type: ignore[misc]
        for name in names
    ]
    in_place = collective in ("all_reduce", "broadcast")
    rows = []
    for row in timings(comm, collective, sizes, taking_part, (), iterations, (in_place,)):
        if comm.rank == 0 and row.contender == names[0]:
            print(f"calibrate: {collective}, {said_bytes(row.size)}", file=sys.stderr, flush=True)
        if row.wrong:
            raise RuntimeError(f"{row.contender} {collective}: {row.wrong} wrong elements")
        rows.append(row)
    return rows


def _best(comm: Communicator, collective: str, rows: Sequence[Timing]) -> list[Best]:
    """By size: the model's choice, unless another is clearly better."""
    by_size: dict[int, dict[str, float]] = defaultdict(dict)
    for row in rows:
        by_size[row.size][row.contender] = row.time_us * 1e-6
    found: list[Best] = []
    for size, taken in by_size.items():
        model, fastest = _model(comm, collective, size), min(taken, key=taken.__getitem__)
        name = fastest if taken[fastest] < _WORTH * taken[model] else model
        found.append(Best(size, name, taken[name]))
    return found


def _model(comm: Communicator, collective: str, nbytes: int) -> str:
    return choose(collective, comm.size, nbytes, 0, topology(comm.nodes, comm.size), False)


def _line(comm: Communicator, collective: str, best: Best, rows: Sequence[Timing]) -> list[str]:
    model = _model(comm, collective, best.nbytes)
    taken = {row.contender: row.time_us for row in rows if row.size == best.nbytes}
    return [
        collective, str(best.nbytes), best.algorithm, f"{best.seconds * 1e6:.2f}", model,
        f"{taken[model]:.2f}", f"{taken[model] / best.seconds / 1e6:.2f}",
    ]  # fmt: skip
