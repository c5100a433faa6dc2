"""The program `refcoll`: its commands, and what errors become."""

from __future__ import annotations

import sys

import typer

from refcoll.cli.count import count
from refcoll.cli.list import list_algorithms
from refcoll.cli.show import show
from refcoll.cli.verify import verify
from refcoll.errors import ArgumentError, RefcollError

app = typer.Typer(
    help="What a collective should do, what it should cost, and whether a library does it right.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command()(verify)
app.command("list")(list_algorithms)
app.command()(count)
app.command()(show)


def main() -> None:
    """Run the command line; an expected error becomes one line and an exit status."""
    try:
        app()
    except RefcollError as error:
        print(f"refcoll: {error}", file=sys.stderr)
        sys.exit(2 if isinstance(error, ArgumentError) else 1)
