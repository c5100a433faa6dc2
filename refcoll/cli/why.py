"""refcoll why: what keeps several nodes from being as many times as fast as one."""

from __future__ import annotations

from pathlib import Path

from refcoll.cli.bench_report import require_drawable
from refcoll.cli.machine_options import MachineName, Nodes, Rails, RanksPerNode, machine
from refcoll.cli.options import Json
from refcoll.cli.output import write_json
from refcoll.cli.timeline_options import (
    MIB,
    Accumulate,
    Algorithm,
    Backward,
    BucketMb,
    Compress,
    Dtype,
    Example,
    Forward,
    Interference,
    Late,
    Measured,
    Model,
    Picture,
    ReduceAll,
    Rule,
    Then,
    Zero,
    training,
)  # fmt: skip
from refcoll.cli.timeline_plot import draw_waterfall
from refcoll.cli.why_report import content, points, report, title
from refcoll.errors import ArgumentError
from refcoll.planning.why import Change, Setup, Why
from refcoll.planning.why_example import example as the_example


def why(
    model: Model = "resnet50", backward: Backward = "200ms", nodes: Nodes = 4,
    machine_name: MachineName = "h100-node", ranks_per_node: RanksPerNode = None,
    rails: Rails = None, forward: Forward = None, dtype: Dtype = "float32", rule: Rule = "ddp",
    bucket_mb: BucketMb = None, algorithm: Algorithm = "NCCL", accumulate: Accumulate = 1,
    reduce_all: ReduceAll = False, compress: Compress = 1.0, zero: Zero = 0, late: Late = "0s",
    interference: Interference = 1.0, then: Then = None, measured: Measured = None,
    example: Example = False, plot: Picture = None, json: Json = None,
) -> None:  # fmt: skip
    """Say what several nodes lose against as many times one, cause by cause.

    --straggler: how much later the last of all ranks is than the last of one node.  --then adds
    changes (bucket-mb, accumulate, algorithm, compress, rails); --example has its own inputs.
    """
    _require(plot, measured)
    if example:
        _say(the_example(), "resnet50", measured, plot, json)
        return
    trained = training(
        model, backward, forward=forward, dtype=dtype, rule=rule, bucket_mb=bucket_mb,
        algorithm=algorithm, accumulate=accumulate, reduce_all=reduce_all, compress=compress,
        zero=zero, late=late, interference=interference,
    )  # fmt: skip
    setup = Setup(trained, machine(machine_name, nodes, ranks_per_node, rails))
    _say(Why(setup, [_change(each) for each in then or []]), model, measured, plot, json)


def _require(plot: Path | None, measured: float | None) -> None:
    if plot is not None:
        require_drawable(plot)
    if measured is not None and not 0 < measured < float("inf"):
        raise ArgumentError(f"measured={measured} must be above 0, and finite, as in 2.3")


def _say(
    made: Why, model: str, measured: float | None, plot: Path | None, json: Path | None
) -> None:
    if str(json) != "-":
        report(made, model, measured)
    write_json(json, content(made, measured))
    if plot is not None:
        draw_waterfall(plot, title(made), *points(made))


def _change(text: str) -> Change:
    name, _, value = text.partition("=")
    try:
        match name:
            case "bucket-mb":
                told = {"cap_bytes": round(float(value) * MIB)}
                return Change(f"buckets of {value} MiB", told)
            case "accumulate":
                return Change(f"{value} micro-batches a step", {"accumulate": int(value)})
            case "compress":
                return Change(f"{value} times fewer bytes", {"compress": float(value)})
            case "algorithm":
                return Change(value, {"algorithm": value})
            case "rails":
                return Change(f"{value} rails a node", {}, {"rails": int(value)})
    except (ValueError, OverflowError) as error:
        number = "a whole number" if name in ("accumulate", "rails") else "a number"
        raise ArgumentError(f"then={text!r} must give {number}, as in {name}=2") from error
    raise ArgumentError(
        f"then={text!r} must be one of bucket-mb, accumulate, algorithm, compress or rails, and "
        "its value, as in accumulate=2"
    )
