"""refcoll timeline: how much of a step's communication backward will hide."""

from __future__ import annotations

from pathlib import Path

from refcoll.cli.bench_report import require_drawable
from refcoll.cli.machine_options import AllRanks, MachineName, Nodes, Rails, RanksPerNode, machine
from refcoll.cli.options import Json
from refcoll.cli.output import require_writable, write_json
from refcoll.cli.timeline_options import (
    Accumulate,
    Algorithm,
    Backward,
    BucketMb,
    Compress,
    Dtype,
    Forward,
    Interference,
    Late,
    Model,
    Picture,
    ReduceAll,
    Rule,
    Simulate,
    Sweep,
    Trace,
    Zero,
    training,
)  # fmt: skip
from refcoll.cli.timeline_plot import draw_sweep
from refcoll.cli.timeline_report import content, report, report_sweep, swept, title
from refcoll.cli.train_plot import draw_steps
from refcoll.dataparallel.timeline import chrome_trace
from refcoll.errors import ArgumentError
from refcoll.planning.machine import Machine
from refcoll.planning.timeline import calls, step
from refcoll.planning.timeline_playing import played_step
from refcoll.planning.timeline_sweeps import sweep
from refcoll.planning.timeline_training import Training


def timeline(
    model: Model, backward: Backward, machine_name: MachineName = "h100-node",
    ranks: AllRanks = None, nodes: Nodes = None, ranks_per_node: RanksPerNode = None,
    rails: Rails = None, forward: Forward = None, dtype: Dtype = "float32", rule: Rule = "ddp",
    bucket_mb: BucketMb = None, algorithm: Algorithm = "NCCL", accumulate: Accumulate = 1,
    reduce_all: ReduceAll = False, compress: Compress = 1.0, zero: Zero = 0, late: Late = "0s",
    interference: Interference = 1.0, over: Sweep = None, simulate: Simulate = False,
    trace: Trace = None, plot: Picture = None, json: Json = None,
) -> None:  # fmt: skip
    """Predict when each bucket is ready and reduced, and what of it backward does not hide.

    docs/timeline.md says what the model knows.  With --sweep one thing takes many values, and
    the optimum is named.
    """
    _require_files(trace, plot, over)
    found = machine(machine_name, nodes, ranks_per_node, rails, ranks)
    name = f"{Path(model).name} on {found.title}"
    trained = training(
        model, backward, forward=forward, dtype=dtype, rule=rule, bucket_mb=bucket_mb,
        algorithm=algorithm, accumulate=accumulate, reduce_all=reduce_all, compress=compress,
        zero=zero, late=late, interference=interference,
    )  # fmt: skip
    if over is not None:
        return _many(over, trained, found, name, plot, json)
    return _one(trained, found, name, simulate, trace, plot, json)


def _require_files(trace: Path | None, plot: Path | None, over: str | None) -> None:
    if trace is not None:
        if over is not None:
            raise ArgumentError(f"trace={str(trace)!r} is of one step: leave out --sweep")
        require_writable(trace, "trace")
    if plot is not None:
        require_drawable(plot)


def _one(
    trained: Training, found: Machine, name: str, simulate: bool,
    trace: Path | None, plot: Path | None, json: Path | None,
) -> None:  # fmt: skip
    made, called = step(trained, found), calls(trained, found)
    played = played_step(trained, found) if simulate else None
    if str(json) != "-":
        report(made, called, name, played, simulate)
    write_json(json, content(made, called, found, played))
    if trace is not None:
        write_json(trace, chrome_trace(made.timelines))
    if plot is not None:
        draw_steps(plot, title(made, name).replace(": a step", "\na step"), made.timelines)


def _many(
    over: str, trained: Training, found: Machine, name: str, plot: Path | None, json: Path | None
) -> None:
    made = sweep(over, trained, found)
    if str(json) != "-":
        report_sweep(made, name)
    write_json(json, swept(made, found))
    if plot is not None:
        draw_sweep(plot, name, made)
