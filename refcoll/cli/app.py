"""The program `refcoll`: its commands, and what errors become."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

import refcoll
from refcoll.cli.bench import bench
from refcoll.cli.buckets import buckets
from refcoll.cli.calibrate import calibrate
from refcoll.cli.choose import choose
from refcoll.cli.count import count
from refcoll.cli.gpu_probe import gpu_probe
from refcoll.cli.judge import judge
from refcoll.cli.list import list_algorithms
from refcoll.cli.plan import plan
from refcoll.cli.reveal import reveal
from refcoll.cli.show import show
from refcoll.cli.soak import soak
from refcoll.cli.timeline import timeline
from refcoll.cli.train import train
from refcoll.cli.validate import validate
from refcoll.cli.vectors import vectors
from refcoll.cli.verify import verify
from refcoll.cli.why import why
from refcoll.errors import ArgumentError, RefcollError
from refcoll.launching import launched_rank

app = typer.Typer(
    help="What a collective should do, what it should cost, and whether a library does it right.",
    no_args_is_help=True,
    invoke_without_command=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", help="print the version and end", is_eager=True)
    ] = False,
) -> None:
    if version:
        print(f"refcoll {refcoll.__version__}")
        raise typer.Exit


app.command()(verify)
app.command("list")(list_algorithms)
app.command()(count)
app.command()(show)
app.command()(choose)
app.command()(plan)
app.command()(timeline)
app.command()(why)
app.command()(validate)
app.command()(bench)
app.command()(calibrate)
app.command()(soak)
app.command()(train)
app.command()(buckets)
app.command()(gpu_probe)
app.command()(vectors)
app.command()(reveal)
app.command()(judge)


def main() -> None:
    """Run the command line; an expected error becomes one line and an exit status."""
    try:
        _run()
    except RefcollError as error:
        if not _rank_0_says(error):
            sys.stderr.write(f"refcoll: {error}\n")  # in one piece: ranks write side by side
        sys.exit(2 if isinstance(error, ArgumentError) else 1)


def _rank_0_says(error: RefcollError) -> bool:
    """Whether this is another rank of a job, and rank 0 raises the same.

    It does where the command line is wrong, which is found before MPI starts, and where all ranks
    have agreed that they all are wrong.  What is wrong with a file or a package may be so on
    this machine alone.
    """
    if not launched_rank() or not isinstance(error, ArgumentError):
        return False
    of_this_machine = isinstance(error.__cause__, OSError | ImportError)
    return not of_this_machine and not (_mpi_has_started() and error.poisons)


def _mpi_has_started() -> bool:
    mpi: Any = sys.modules.get("mpi4py.MPI")
    return mpi is not None and bool(mpi.Is_initialized())


_UsageError: type[Exception] = typer.BadParameter.__bases__[0]


def _run() -> None:
    """Of a job, which has one command line, rank 0 alone says what is wrong with that."""
    if not launched_rank():
        app()
    try:
        sys.exit(app(standalone_mode=False))
    except _UsageError:
        sys.exit(2)
