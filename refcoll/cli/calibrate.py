"""refcoll calibrate: measure this machine, or read what others have measured of one."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from refcoll.benchmarking import BUS_FACTORS, Timing, require_timed
from refcoll.cli.calibrate_found import Found, content
from refcoll.cli.calibrate_logs import calibrate_from_logs
from refcoll.cli.calibrate_report import report
from refcoll.cli.calibrate_timing import Allowance, best, fastest, timed
from refcoll.cli.machine_options import Rails
from refcoll.cli.memory import require_memory
from refcoll.cli.options import Json
from refcoll.cli.output import require_writable, write_json
from refcoll.cli.units import seconds as seconds_from
from refcoll.cli.units import sizes_from
from refcoll.communicator import Communicator
from refcoll.connecting import transport as connector
from refcoll.errors import ArgumentError
from refcoll.launching import launched_size
from refcoll.planning.calibration import calibrated
from refcoll.planning.calibration_errors import Predictor
from refcoll.planning.files import write_machine
from refcoll.tuning import Placement, Tuning, read

_FOR_LINKS = 0.25
"""Of the time, the share in which links are measured."""
_PASSES = 3
_MACHINE = Path("refcoll-machine.toml")


def calibrate(
    out: Annotated[Path, typer.Option(help="which algorithms are best; added to if there")] = Path(
        "refcoll-tuning.json"
    ),
    save: Annotated[
        Path, typer.Option("--save-machine", help="the machine, for `refcoll plan --machine FILE`")
    ] = _MACHINE,
    collective: Annotated[
        list[str] | None, typer.Option("--collective", "-c", help="only this one; several times")
    ] = None,
    sizes: Annotated[
        str, typer.Option(help="bytes from:to in powers of 4, or a list: 256:16MiB, 1kB,1MB")
    ] = "256:16MiB",
    iterations: Annotated[int | None, typer.Option(min=1, help="how often each is run")] = None,
    seconds: Annotated[str, typer.Option("--time", help="about how long it may take")] = "120s",
    verify: Annotated[
        bool, typer.Option(help="time all algorithms, and compare with what is predicted")
    ] = True,
    rails: Rails = None,
    from_log: Annotated[
        list[Path] | None,
        typer.Option("--from-log", help="read nccl-tests, OSU or `refcoll bench`; several times"),
    ] = None,
    algorithm: Annotated[
        str | None, typer.Option("--algorithm", "-a", help="that the logs' library has used")
    ] = None,
    ranks: Annotated[
        int | None, typer.Option("--ranks", "-n", min=1, help="of logs that do not say")
    ] = None,
    nodes: Annotated[int | None, typer.Option(min=1, help="of logs that do not say")] = None,
    in_place: Annotated[bool, typer.Option("--in-place", help="of logs, these columns")] = False,
    json: Json = None,
) -> None:
    """Measure latency, bandwidth and merging here, predict every algorithm, and compare.

    Run it under mpirun.  It writes a machine for `refcoll plan --machine FILE`, and which
    algorithm was best at which size, which "auto" follows where refcoll.connect is given
    tuning=FILE, or $REFCOLL_TUNING names it (for placements of ranks that are not in it, the
    cost model decides as before).  With --from-log it measures nothing, but fits a machine to
    logs of nccl-tests, OSU micro-benchmarks or refcoll bench.  See docs/calibration.md.
    """
    require_writable(save, "save-machine")
    if from_log:
        calibrate_from_logs(
            from_log, collective or [], algorithm, ranks, nodes, rails, in_place, save, json
        )
        return
    if launched_size() is None:
        raise ArgumentError(
            "calibrate times real processes: run `mpirun -n 4 refcoll calibrate`, or read what "
            "was measured by --from-log FILE"
        )
    require_writable(out, "out")
    limit, wanted = seconds_from(seconds, "time"), sizes_from(sizes)
    names = collective or [*BUS_FACTORS]
    require_timed(*names)
    known = read(out) if out.exists() else Tuning({})
    comm = Communicator(connector("mpi")(), tuning=Tuning({}))  # what was measured is no matter
    if verify:
        require_memory(comm, max(wanted))
    found = _measured(comm, limit, save.stem, rails or 1)
    if verify:
        left = limit - (time.monotonic() - found.begun)
        _timed(comm, found, names, wanted, iterations, left)
    if comm.rank == 0:
        _keep(found, known, save, out if verify else None)
        if str(json) != "-":
            report(found, save, out)
        write_json(json, content(found, save, out))


def _keep(found: Found, known: Tuning, save: Path, out: Path | None) -> None:
    """Write the machine, and what is best on it beside what was known before."""
    if found.machine is not None:
        write_machine(found.machine, save)
    if out is not None:
        known.with_more(found.choices).write(out)


def _measured(comm: Communicator, limit: float, name: str, rails: int) -> Found:
    """Links and merging; where nodes are not alike only what that means."""
    found = Found(comm.nodes, time.monotonic())
    if comm.rank == 0:
        print("calibrate: links", file=sys.stderr, flush=True)
    try:
        found.calibration = calibrated(comm, _FOR_LINKS * limit)
        found.machine = found.calibration.machine(name, rails)
    except ArgumentError as error:
        found.refused = str(error)
    return found


def _timed(
    comm: Communicator, found: Found, names: Sequence[str], sizes: Sequence[int],
    iterations: int | None, limit: float,
) -> None:  # fmt: skip
    """All algorithms, the short vectors first; then again, as long as there is time.

    Of several medians the least counts, as for links.
    """
    predictor = Predictor(found.machine, comm.nodes) if found.machine else None
    passes = _PASSES if iterations is None else 1
    cells = [(name, size) for _ in range(passes) for size in sizes for name in names]
    allowance = Allowance(comm, predictor, len(cells), limit)
    least: dict[tuple[str, int], list[Timing]] = {}
    for name, size in cells:
        runs = allowance.runs(name, size)
        if runs == 0:
            continue
        begun = time.monotonic()
        rows = timed(comm, name, size, iterations or runs)
        allowance.took(time.monotonic() - begun, iterations or runs or 1)
        least[name, size] = fastest(least.get((name, size), rows), rows)
    found.untimed = [cell for cell in dict.fromkeys(cells) if cell not in least]
    for name in names:
        rows = [row for size in sizes for row in least.get((name, size), [])]
        found.rows[name] = rows
        found.choices[Placement.of(name, comm.nodes)] = best(comm, name, rows)
        if predictor is not None:
            found.compared += [predictor.compared(name, row) for row in rows]
