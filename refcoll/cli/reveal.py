"""refcoll reveal: in which order, and how precisely, does it add?"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from refcoll.cli.options import Json
from refcoll.cli.output import write_json
from refcoll.communicator import Communicator
from refcoll.connecting import transport as connector
from refcoll.errors import ArgumentError
from refcoll.launching import launched_size
from refcoll.oracle.calls import Call
from refcoll.oracle.implementation import Factory, factory
from refcoll.oracle.revealing.as_json import as_json
from refcoll.oracle.revealing.asking import THINKING, Ask, asked, asked_in_process
from refcoll.oracle.revealing.report import told, verdict
from refcoll.oracle.revealing.reveal import SIZES, Revelation, require
from refcoll.oracle.revealing.reveal import reveal as revealed
from refcoll.testing.values import dtype_named


def reveal(
    implementation: Annotated[
        str, typer.Argument(help="mpi, torch:gloo, refcoll, or module:function")
    ],
    collective: Annotated[str, typer.Option("--collective", "-c")] = "all_reduce",
    dtype: Annotated[str, typer.Option(help="float32, float64, float16 or bfloat16")] = "float32",
    sizes: Annotated[
        str, typer.Option(help="numbers of elements; of a reduce_scatter, that a rank gets")
    ] = ",".join(map(str, SIZES)),
    ranks: Annotated[
        int | None,
        typer.Option("--ranks", "-n", min=2, help="without mpirun: threads", show_default="4"),
    ] = None,
    root: Annotated[int, typer.Option(min=0, help="of a reduce")] = 0,
    algorithm: Annotated[
        str | None, typer.Option("--algorithm", "-a", help="one of refcoll's own")
    ] = None,
    accumulate: Annotated[
        str | None, typer.Option(help="dtype in which refcoll's own is to add")
    ] = None,
    timeout: Annotated[float, typer.Option(help="seconds that a call may last")] = 30.0,
    json: Json = None,
) -> None:
    """Which ranks' values meet first, from results alone: the tree of each chunk, its names.

    Says whether the order depends on the size, the element, the run, the address or the values;
    in which precision partial sums are kept; and how often all that predicts results to the bit.
    Exit status 1 where the order is not stable or the prediction fails.  Under mpirun each
    process is a rank; alone, the ranks are threads of this process.
    """
    call, counts = Call(collective, 1, dtype, "sum", root), _counts(sizes)
    make = _maker(implementation, algorithm, accumulate)
    size = _size(ranks)
    _require_ranks(implementation, size)
    require(size, call, counts)  # on every rank, before any of them waits for another
    if root >= size:
        raise ArgumentError(f"root={root} must be a rank, 0 to {size - 1}")

    def question(ask: Ask, name: str) -> Revelation:
        return revealed(ask, name, size, call, counts, progress=_progress)

    if launched_size() is None:
        found: Revelation | None = asked_in_process(make, size, question, timeout)
    else:
        connect = connector("mpi")
        own = make(Communicator(connect(), timeout))
        found = asked(Communicator(connect(), THINKING), own, question)
    if found is None:
        return  # rank 0 says it, and its exit status is the job's
    if str(json) != "-":
        print(verdict(found), *told(found), sep="\n", flush=True)
    write_json(json, as_json(found))
    raise typer.Exit(0 if found.holds else 1)


def _size(ranks: int | None) -> int:
    launched = launched_size()
    if launched is not None and ranks is not None:
        raise ArgumentError(f"ranks={ranks} is for ranks in process; mpirun -n sets them here")
    size = launched or ranks or 4
    if size < 2:
        raise ArgumentError("ranks=1: there is no order to reveal; use `mpirun -n 4 refcoll ...`")
    return size


def _require_ranks(implementation: str, size: int) -> None:
    """MPI has no ranks that are threads."""
    if implementation == "mpi" and launched_size() is None:
        raise ArgumentError(
            f"implementation='mpi' has ranks under mpirun only: use `mpirun -n {size} refcoll "
            "reveal mpi ...`"
        )


def _counts(sizes: str) -> list[int]:
    parts = [part.strip() for part in sizes.split(",")]
    if not all(part.isdecimal() and int(part) > 0 for part in parts):
        raise ArgumentError(f"sizes={sizes!r} must be numbers of elements, such as 1,7,1024")
    return [int(part) for part in parts]


def _maker(implementation: str, algorithm: str | None, accumulate: str | None) -> Factory:
    if algorithm is None and accumulate is None:
        return factory(implementation)
    if implementation != "refcoll":
        given = f"algorithm={algorithm!r}" if algorithm else f"accumulate={accumulate!r}"
        raise ArgumentError(f"{given} is for refcoll's own collectives, not {implementation}")
    from refcoll.oracle.adapters.own import Own

    wide = None if accumulate is None else dtype_named(accumulate)
    return lambda comm: Own(comm, algorithm or "auto", wide)


def _progress(said: str) -> None:
    print(f"revealing: {said}", file=sys.stderr, flush=True)
