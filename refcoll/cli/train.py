"""refcoll train: data-parallel training of a small network, measured and checked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from refcoll.cli.bench_report import require_drawable
from refcoll.cli.options import Json, require_no_ranks
from refcoll.cli.output import require_writable, write_json
from refcoll.cli.train_plot import draw_steps
from refcoll.cli.train_report import Telling, report, report_all
from refcoll.cli.train_ways import Link, Straggler, Way, beside, compared, link, straggler, way
from refcoll.communicator import Communicator
from refcoll.connecting import transport as connector
from refcoll.dataparallel.digits import digits
from refcoll.dataparallel.tasks import OPTIMIZERS, Task
from refcoll.dataparallel.timeline import chrome_trace
from refcoll.dataparallel.trials import DTYPES, Trial, reference, trial
from refcoll.errors import ArgumentError
from refcoll.launching import launched_size
from refcoll.spawning import spawn
from refcoll.transport import Transport


def train(
    epochs: Annotated[int, typer.Option(min=1, help="times through the 1,500 images")] = 10,
    batch: Annotated[int, typer.Option(min=1, help="samples a step, of all ranks")] = 128,
    hidden: Annotated[str, typer.Option(help="widths of the layers between: 64 or 256,256")] = "64",
    optimizer: Annotated[str, typer.Option(help=", ".join(OPTIMIZERS))] = "momentum",
    lr: Annotated[float, typer.Option(min=0, help="learning rate")] = 0.1,
    dtype: Annotated[str, typer.Option(help="of parameters: float32 or float64")] = "float32",
    seed: Annotated[int, typer.Option(min=0, help="of weights and batches")] = 0,
    zero: Annotated[int, typer.Option(help="2 to shard gradients and optimizer states")] = 0,
    parameter_server: Annotated[
        bool, typer.Option("--parameter-server", help="rank 0 updates for all")
    ] = False,
    compress: Annotated[str | None, typer.Option(help="fp16, bf16, powersgd or onebit")] = None,
    buckets: Annotated[str, typer.Option(help="rule: see refcoll buckets")] = "ddp",
    bucket_mb: Annotated[float | None, typer.Option(help="MiB that close a bucket")] = None,
    accumulate: Annotated[int, typer.Option(min=1, help="micro-batches a step and rank")] = 1,
    algorithm: Annotated[str, typer.Option("--algorithm", "-a", help="of refcoll list")] = "auto",
    deterministic: Annotated[
        bool, typer.Option("--deterministic", help="one tree for all elements")
    ] = False,
    overlap: Annotated[bool, typer.Option(help="reduce while backward goes on")] = True,
    compare: Annotated[
        bool, typer.Option("--compare", help="this way and all others, in one table")
    ] = False,
    others: Annotated[
        str | None,
        typer.Option("--beside", help="this way and some of these others: 'not overlapped,ring'"),
    ] = None,
    latency: Annotated[str, typer.Option(help="that each message takes longer: 1ms")] = "0s",
    rate: Annotated[str | None, typer.Option(help="of each rank's link at most: 100MB/s")] = None,
    late: Annotated[
        str | None, typer.Option("--straggler", help="rank:time that it is late, as in 2:20ms")
    ] = None,
    trace: Annotated[Path | None, typer.Option(help="the last step for Perfetto, a .json")] = None,
    plot: Annotated[
        Path | None, typer.Option(help="the last step as a picture: a .png, .svg")
    ] = None,
    ranks: Annotated[
        int | None, typer.Option(min=1, help="without mpirun: in-process ranks", show_default="4")
    ] = None,
    json: Json = None,
) -> None:
    """Train a network on handwritten digits, data-parallel, and check the run.

    It holds if the replicas end alike to the bit and, unless compressed, the loss curve is that
    of one process that takes each global batch at once, but for rounding (what that does shows
    in the process itself, run again with samples added in another order).  Then: bytes a step
    beside 2(N-1)/N S, and how much of the communication backward has hidden.  Under mpirun
    each process is a rank.  --rate and --latency make links slow, so that hiding matters.
    The JSON holds the keys holds and trials, and of each trial what docs/json.md lists.
    """
    if trace is not None:
        require_writable(trace, "trace")
    if plot is not None:
        require_drawable(plot)
    options = {
        "buckets": buckets, "bucket_cap_mb": bucket_mb, "algorithm": algorithm,
        "deterministic": deterministic, "overlap": overlap,
    }  # fmt: skip
    first = way(zero, parameter_server, compress, options, accumulate)
    ways = _ways(first, compare, others)
    task = _task(hidden, epochs, batch, optimizer, lr, dtype, seed)
    slow, lag, size = link(latency, rate), straggler(late), _size(ranks)
    lag.require(size)
    quiet = len(ways) > 1 or str(json) == "-"
    with _one_thread_for_blas():
        rank, trials = _run(partial(_trials, ways, task, slow, lag, quiet), size)
    if rank == 0:
        _tell(trials, json, trace, plot)
    raise typer.Exit(0 if all(each.holds for each in trials) else 1)


def _ways(first: Way, compare: bool, others: str | None) -> list[Way]:
    """``first``, and what it is to be compared with."""
    if compare and others is not None:
        raise ArgumentError(
            f"--compare has all ways, also those of --beside {others!r}; leave out one of the two"
        )
    if others is not None:
        return beside(first, others)
    return compared(first) if compare else [first]


def _trials(
    ways: Sequence[Way], task: Task, slow: Link, lag: Straggler, quiet: bool, end: Transport
) -> list[Trial]:
    """Each way to train, on the rank at ``end``, beside one process that trains alone."""
    comm = Communicator(slow.over(end))
    alone, telling = reference(comm, task), Telling(comm.rank, task, len(ways), quiet)
    return [
        trial(
            comm, task, lag.applied(each.how, comm.rank), alone, exact=each.exact,
            listener=telling.begin(each.how), watch=lag.anyone,
        )
        for each in ways
    ]  # fmt: skip


def _tell(
    trials: Sequence[Trial], json: Path | None, trace: Path | None, plot: Path | None
) -> None:
    """In all the ways asked for; the last step is the first way's."""
    first = trials[0]
    if str(json) != "-":
        report_all(trials) if len(trials) > 1 else report(first)
    holds = all(each.holds for each in trials)
    write_json(json, {"holds": holds, "trials": [each.as_json() for each in trials]})
    if trace is not None:
        write_json(trace, chrome_trace(first.last_step))
    if plot is not None:
        draw_steps(plot, f"{first.way}, the last step", first.last_step)


def _size(ranks: int | None) -> int:
    """Ranks in all: those of the job, or so many on threads, by default 4."""
    launched = launched_size()
    if launched is not None:
        require_no_ranks(ranks)
    return launched or ranks or 4


def _run(on_rank: Callable[[Transport], list[Trial]], size: int) -> tuple[int, list[Trial]]:
    """On threads of this process, or as a rank of an MPI job; this rank, and its trials."""
    if launched_size() is None:
        return 0, spawn(size, lambda comm: on_rank(comm.transport))[0]
    end = connector("mpi")()
    return end.rank, on_rank(end)


def _task(
    hidden: str, epochs: int, batch: int, optimizer: str, lr: float, dtype: str, seed: int
) -> Task:
    """What is trained on what.  Raises ArgumentError for what does not exist."""
    widths = [part.strip() for part in hidden.split(",")]
    if not all(part.isdecimal() and int(part) > 0 for part in widths):
        raise ArgumentError(f"hidden={hidden!r}: use widths such as 64 or 256,256")
    if optimizer not in OPTIMIZERS:
        raise ArgumentError(f"optimizer={optimizer!r}: there are {', '.join(OPTIMIZERS)}")
    if dtype not in DTYPES:
        raise ArgumentError(f"dtype={dtype!r}: there are {', '.join(DTYPES)}")
    images, tested = digits(dtype, seed)
    layers = (images.x.shape[1], *map(int, widths), 10)
    return Task(images, tested, layers, epochs, batch, optimizer, lr, seed)


@contextmanager
def _one_thread_for_blas() -> Iterator[None]:
    """Ranks share a machine's cores: each multiplies matrices on one."""
    control: Any = import_module("threadpoolctl")  # comes with scikit-learn
    with control.threadpool_limits(1):
        yield
