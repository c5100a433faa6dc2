"""What is trained and how, for commands that predict a step."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from refcoll.cli.units import seconds
from refcoll.dataparallel.shapes import parameter_shapes
from refcoll.planning.timeline_sweeps import SWEEPS
from refcoll.planning.timeline_training import Training

MIB = 1 << 20

Model: TypeAlias = Annotated[
    str, typer.Option(metavar="MODEL|FILE", help="resnet50, gpt-7b, ..., or a file of shapes")
]
Dtype: TypeAlias = Annotated[str, typer.Option(help="of gradients that name none")]
Backward: TypeAlias = Annotated[
    str, typer.Option(help="of one micro-batch, on a rank by itself: 200ms")
]
Forward: TypeAlias = Annotated[
    str | None, typer.Option(help="the same of forward and all else", show_default="half")
]
Rule: TypeAlias = Annotated[str, typer.Option("--buckets", help="rule: see refcoll buckets")]
BucketMb: TypeAlias = Annotated[
    float | None, typer.Option(min=0, help="MiB that close a bucket", show_default="the rule's")
]
Algorithm: TypeAlias = Annotated[
    str, typer.Option("--algorithm", "-a", help="of refcoll plan; or NCCL, or fastest")
]
Accumulate: TypeAlias = Annotated[int, typer.Option(min=1, help="micro-batches a step")]
ReduceAll: TypeAlias = Annotated[
    bool, typer.Option("--reduce-all", help="of all micro-batches, as without no_sync")
]
Compress: TypeAlias = Annotated[
    float, typer.Option(min=1, help="how many times fewer bytes of gradients travel")
]
Zero: TypeAlias = Annotated[
    int, typer.Option(min=0, help="2: gradients reduce-scattered, parameters gathered")
]
Late: TypeAlias = Annotated[
    str, typer.Option("--straggler", help="how late the last rank begins backward: 200ms")
]
Interference: TypeAlias = Annotated[
    float, typer.Option(min=1, help="computing takes so many times longer beside a reduction")
]
Sweep: TypeAlias = Annotated[
    str | None, typer.Option("--sweep", help=f"over {', '.join(SWEEPS)}: the optimum")
]
Simulate: TypeAlias = Annotated[
    bool, typer.Option("--simulate", help="play it event by event too, up to 256 ranks")
]
Trace: TypeAlias = Annotated[Path | None, typer.Option(help="for Perfetto, a .json")]
Picture: TypeAlias = Annotated[
    Path | None, typer.Option("--plot", help="the same as a picture: a .png, .svg")
]
Then: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=VALUE", help="and change bucket-mb, accumulate, ...; several"),
]
Measured: TypeAlias = Annotated[
    float | None, typer.Option(help="how many times as fast as one node it is in truth, unchanged")
]
Example: TypeAlias = Annotated[
    bool, typer.Option("--example", help="one node to four: 2.3 times, then 3.6")
]


def training(
    model: str, backward: str, *, forward: str | None, dtype: str, rule: str,
    bucket_mb: float | None, algorithm: str, accumulate: int, reduce_all: bool, compress: float,
    zero: int, late: str, interference: float,
) -> Training:  # fmt: skip
    """The training meant.  Raises ArgumentError."""
    if zero not in (0, 2):
        raise typer.BadParameter("use 0 or 2", param_hint="zero")
    return Training(
        model=parameter_shapes(model, dtype),
        backward=seconds(backward, "backward"),
        forward=None if forward is None else seconds(forward, "forward"),
        rule=rule,
        cap_bytes=None if bucket_mb is None else round(bucket_mb * MIB),
        algorithm=algorithm,
        accumulate=accumulate,
        reduce_all=reduce_all,
        compress=compress,
        zero2=zero == 2,
        late=seconds(late, "straggler"),
        interference=interference,
    )
