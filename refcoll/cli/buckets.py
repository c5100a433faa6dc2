"""refcoll buckets: which gradients a training library reduces together."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from refcoll.cli.options import Json
from refcoll.cli.output import console, table, write_json
from refcoll.cli.units import nbytes, said_bytes
from refcoll.dataparallel.buckets import RuleOptions, assign, bucket_rule
from refcoll.dataparallel.rules import BucketRule, Buckets
from refcoll.dataparallel.shapes import parameter_shapes
from refcoll.dataparallel.tensors import Bucket, Tensor
from refcoll.errors import ArgumentError

_SAID = {
    "ddp": "PyTorch DDP appends gradients as they arrive, and closes a bucket that reached its cap",
    "deepspeed": "ZeRO-1 and 2 close a bucket before the gradient that does not fit",
    "deepspeed_fallback": "DeepSpeed without ZeRO goes through the model when the backward pass is "
    "over, and closes a bucket that exceeded its cap",
    "horovod": "Horovod takes the first gradient that is ready, and those behind it that fit",
    "whole": "One bucket of everything, for each dtype and device",
    "single": "A bucket for each gradient",
}
_IN_ELEMENTS = ("deepspeed", "deepspeed_fallback")


def buckets(
    shapes: Annotated[
        str, typer.Option(metavar="MODEL|FILE", help="resnet50, gpt2, ..., or a file of shapes")
    ],
    rule: Annotated[str, typer.Option(help=", ".join(_SAID))] = "ddp",
    cap: Annotated[
        str | None, typer.Option(help="25MiB; 1MiB,25MiB; of deepspeed elements, such as 5e8")
    ] = None,
    first: Annotated[str | None, typer.Option(help="cap of the first bucket (ddp)")] = None,
    dtype: Annotated[str, typer.Option(help="of gradients that name none")] = "float32",
    find_unused: Annotated[
        bool, typer.Option("--find-unused", help="find_unused_parameters=True (ddp)")
    ] = False,
    static_graph: Annotated[
        bool, typer.Option("--static-graph", help="static_graph=True (ddp)")
    ] = False,
    arrival: Annotated[
        str, typer.Option(help="reverse or forward, or a file of names, one a line")
    ] = "reverse",
    ranks: Annotated[
        int | None, typer.Option("--ranks", "-n", min=1, help="count what a ring sends on N ranks")
    ] = None,
    json: Json = None,
) -> None:
    """Say which gradients are reduced together, in the first step and from then on."""
    options = _options(rule, cap, first)
    options |= {"find_unused": find_unused, "static_graph": static_graph}
    model = parameter_shapes(shapes, dtype)
    made, names = bucket_rule(rule, **options), _arrival(arrival, model)
    settled = assign(model, rule, arrival=names, **options)
    initial = made.initial(model)
    if str(json) != "-":
        total = said_bytes(sum(each.nbytes for each in model))
        print(f"{shapes}: {len(model)} parameters, {total} of gradients, in buckets by {rule}")
        print(f"{_SAID[rule]}.")
        _show(made, initial, settled, ranks)
    write_json(json, {
        "shapes": shapes, "rule": rule, "ranks": ranks, "parameters": len(model),
        "nbytes": sum(each.nbytes for each in model), "warm_up_steps": made.warm_up_steps,
        "rebuilds": made.rebuilt(model, names) is not None,
        "initial": [_row(each, ranks) for each in initial],
        "settled": [_row(each, ranks) for each in settled],
    })  # fmt: skip


def _options(rule: str, cap: str | None, first: str | None) -> RuleOptions:
    """Caps as numbers: several for "1MiB,25MiB", elements where the rule counts these."""
    options: RuleOptions = {}
    if cap is not None and rule in _IN_ELEMENTS:
        if "B" in cap:
            raise ArgumentError(f"cap={cap!r}: {rule} counts elements, not bytes, such as 5e8")
        options["cap_elements"] = nbytes(cap, "cap")
    elif cap is not None:
        caps = tuple(nbytes(each, "cap") for each in cap.split(","))
        options["cap_bytes"] = caps if len(caps) > 1 else caps[0]
    if first is not None:
        options["first_bytes"] = nbytes(first, "first")
    return options


def _arrival(arrival: str, model: tuple[Tensor, ...]) -> list[str]:
    names = [each.name for each in model]
    if arrival in ("forward", "reverse"):
        return names if arrival == "forward" else names[::-1]
    try:
        return Path(arrival).read_text().split()
    except (OSError, ValueError) as error:
        raise ArgumentError(
            f"arrival={arrival!r} is neither reverse nor forward, nor a file that can be read: "
            f"{error}"
        ) from error


def _show(rule: BucketRule, initial: Buckets, settled: Buckets, ranks: int | None) -> None:
    """One table where all steps are alike, otherwise two."""
    steps = rule.warm_up_steps
    if initial == settled:
        _print(f"in every step: {_counted(settled)}", settled, ranks)
    else:
        begin = "step 0" if steps == 1 else f"steps 0 to {steps - 1}"
        _print(f"{begin}: {_counted(initial)}", initial, ranks)
        after = f"from step {steps} on, by the order of arrival: {_counted(settled)}"
        _print(after, settled, ranks)


def _counted(made: Buckets) -> str:
    return f"{len(made)} bucket{'s' if len(made) > 1 else ''}"


_HEADER = ("bucket", "tensors", "how many", "elements", "dtype", "bytes", "cap", "closed because")


def _print(title: str, made: Buckets, ranks: int | None) -> None:
    header = _HEADER if ranks is None else (*_HEADER, f"a ring of {ranks} sends")
    rows = [
        [str(each.index), _span(each), str(len(each.tensors)), f"{each.count:,}", each.dtype.name,
         f"{each.nbytes:,}", "none" if each.limit is None else f"{each.limit:,}", each.closed]
        + ([] if ranks is None else [said_bytes(_ring(each, ranks))])
        for each in made
    ]  # fmt: skip
    print()
    console().print(table(title, header, rows))


def _span(bucket: Bucket) -> str:
    first, last = bucket.tensors[0].name, bucket.tensors[-1].name
    return first if len(bucket.tensors) == 1 else f"{first} .. {last}"


def _ring(bucket: Bucket, ranks: int) -> float:
    """Bytes that a rank sends in a ring all-reduce: 2(N-1)/N of the bucket."""
    return 2 * (ranks - 1) * bucket.nbytes / ranks


def _row(bucket: Bucket, ranks: int | None) -> dict[str, Any]:
    return {
        "index": bucket.index, "tensors": [each.name for each in bucket.tensors],
        "count": bucket.count, "dtype": bucket.dtype.name, "nbytes": bucket.nbytes,
        "cap_bytes": bucket.limit, "closed": bucket.closed,
        "ring_sent_bytes": None if ranks is None else _ring(bucket, ranks),
    }  # fmt: skip
