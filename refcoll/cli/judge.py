"""refcoll judge: what is wrong with an implementation's collectives, in words."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from refcoll.cli.judge_calls import Asked
from refcoll.cli.judge_mutants import require_alone, score_mutants
from refcoll.cli.judge_report import Telling, said_once
from refcoll.cli.judge_running import tried
from refcoll.cli.judge_trial import Case, Trial
from refcoll.cli.options import Json
from refcoll.cli.output import require_writable
from refcoll.errors import ArgumentError
from refcoll.launching import launched_rank
from refcoll.oracle.spelling import spelled
from refcoll.oracle.xfails import read

Several: TypeAlias = list[str] | None


def judge(
    implementation: Annotated[
        str | None,
        typer.Argument(help="mpi, torch:gloo, refcoll, or module:function that makes yours"),
    ] = None,
    ranks: Annotated[
        int | None,
        typer.Option("--ranks", "-n", min=1, help="without mpirun: threads", show_default="4"),
    ] = None,
    collective: Annotated[Several, typer.Option("--collective", "-c", help="only these")] = None,
    dtype: Annotated[Several, typer.Option(help="only these")] = None,
    op: Annotated[Several, typer.Option(help="only these")] = None,
    count: Annotated[Several, typer.Option(help="only these lengths, in elements")] = None,
    algorithm: Annotated[
        str | None, typer.Option("--algorithm", "-a", help="of refcoll's own")
    ] = None,
    thorough: Annotated[bool, typer.Option("--thorough", help="more lengths, to 262147")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="three lengths, three dtypes")] = False,
    after: Annotated[
        Several, typer.Option(metavar="CALL", help="judge this call before, as reports name it")
    ] = None,
    first: Annotated[
        int | None, typer.Option(metavar="K", min=1, help="judge the first K calls only")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="that inputs follow from")] = 0,
    timeout: Annotated[float, typer.Option(min=0.1, help="seconds after which a call hangs")] = 30,
    xfails: Annotated[
        Path | None, typer.Option(metavar="FILE", help="what is known to fail, a pattern a line")
    ] = None,
    markdown: Annotated[
        Path | None, typer.Option(metavar="FILE", help="the report, to paste into an issue")
    ] = None,
    mutants: Annotated[
        bool, typer.Option("--mutants", help="judge the oracle, by faulty implementations (-c)")
    ] = False,
    json: Json = None,
) -> None:
    """Judge an implementation: values, agreement, repeatability, buffers, time.

    Under mpirun each process is a rank; alone, the ranks are threads of this process, for
    implementations that take a communicator.  Options that say "only these" may be repeated,
    or take several with commas between.
    """
    if mutants:
        with said_once(launched_rank() or 0):
            require_alone({
                "implementation": implementation, "ranks": ranks, "dtype": dtype, "op": op,
                "count": count, "algorithm": algorithm, "thorough": thorough, "quick": quick,
                "after": after, "first": first, "xfails": xfails, "markdown": markdown,
            })  # fmt: skip
        raise typer.Exit(score_mutants(collective, seed, json))

    def prepare(size: int) -> Case:
        if markdown is not None:
            require_writable(markdown, "markdown")
        if ranks not in (None, size):
            raise ArgumentError(f"ranks={ranks} is for threads; mpirun -n sets the ranks here")
        asked = Asked.parsed(collective, dtype, op, count, thorough, quick)
        before = [spelled(words, size) for words in after or ()]
        return Case([*before, *asked.on(size)][:first], read(xfails))

    trial = Trial(implementation, algorithm, ranks, seed, timeout)
    raise typer.Exit(0 if tried(trial, prepare, Telling(json, markdown)) else 1)
