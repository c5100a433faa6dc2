"""Published training steps and rates, one table for each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from refcoll.cli.validate_words import said_error, told_cells
from refcoll.planning.machine import counted
from refcoll.planning.published import published
from refcoll.planning.validation_report import Validation
from refcoll.planning.validation_rows import Compared
from refcoll.planning.validation_scaling import calibrated
from refcoll.planning.validation_steps import delays, interference, per_bucket, slowed
from refcoll.words import said_seconds

_HEADER = ("", "measured", "predicted", "error", "how")


def training(made: Validation) -> Iterator[tuple[str, str, Sequence[str], Sequence[Sequence[str]]]]:
    """Title, text, header, rows of each."""
    for title, subject, text in (
        ("ResNet-50 on p3.16xlarge", "ResNet-50", _resnet()),
        ("PowerSGD at 3 Gb/s", "PowerSGD", _low_rank(made)),
        ("DDP's buckets: 1 MiB against 25 MiB", "DDP bucket 1 MB against 25 MB", _buckets()),
        ("DDP's buckets on two GPUs", "DDP bucket", _TWO_GPUS),
        ("Accumulation: 2.00 to 0.91 s", "accumulation", _ACCUMULATION),
    ):
        yield f"## {title}", text, _HEADER, [_cells(each) for each in _of(made, subject)]
    yield "## A rank that is 200 ms late", _straggler(), (), ()


def _of(made: Validation, subject: str) -> list[Compared]:
    rows = [each for each in made.rows if each.row.subject == subject]
    return [each for each in rows if each.predicted is not None]


def _cells(each: Compared) -> list[str]:
    row = each.row
    title = f"{row.source.partition('/')[2]}, {counted(row.ranks or 0, 'rank')}"
    if row.subject == "DDP bucket":
        title = f"{(row.bytes or 0) / 1e6:g} MB"
    return [title, *told_cells(each), each.how]


def _resnet() -> str:
    rate, told = calibrated()
    errors = ", ".join(f"{each.row.nodes} nodes {said_error(each.error)}" for each in told)
    return (
        "Images a second, from the rate of one node of 8 V100 (25 Gb/s), with Horovod's cycle of "
        "5 ms. The batch is not told: 64 is the benchmark's default. horovod#396 ran on a network "
        f"that gave far less: with the {rate * 8 / 1e9:.1f} Gb/s that its two nodes imply, "
        f"{errors}. So measure a network before planning with it (`refcoll calibrate`)."
    )


def _low_rank(made: Validation) -> str:
    last = _of(made, "PowerSGD")[-1]
    return (
        "Times one V100, not times training without PowerSGD; ResNet-50, two GPUs a node. The "
        "model counts what travels at rank 1, and that hides behind backward almost wholly. It is "
        "too fast by what compressing takes, which nobody told it: where P and Q are not reduced, "
        f"and compressing stays, it is still {last.error:.0%} off."
    )


def _buckets() -> str:
    rows = published(subject="DDP bucket 1 MB against 25 MB", note="75th percentile, ResNet-50")
    plain = ", ".join(f"{slowed(row):+.1%}" for row in rows if row.ranks != 1)
    least, most = (slowed(rows[-1], interference(each), per_bucket()) for each in (-5e-4, 5e-4))
    return _BUCKETS.format(
        cost=said_seconds(per_bucket(), 2), slowdown=interference(), least=least, most=most,
        plain=plain,
    )  # fmt: skip


_BUCKETS = """
How much longer a step of ResNet-50 takes with buckets of 1 MiB than of 25 MiB, on V100 and four
NICs of 100 Gb/s. Told of nothing that buckets cost computing, the model says {plain}: the wrong
sign. Two numbers of the same benchmark, from other rows, put that right. On one GPU, which sends
nothing, 1 MiB costs 0.3 %, so that a bucket costs {cost} of computing. And 16 GPUs at 25 MiB take
104 ms where one takes 100, so that computing is {slowdown:.1f} times slower beside a reduction (104
is rounded: what fits it says {least:.1%} to {most:.1%} on 16 GPUs). This explanation was looked
for when the sign was seen to be wrong; it was not fitted to these rows. It is not all of it: within
a node not even computing that stood still would cost as much as measured. When gradients are ready
does not matter here: all but the last bucket is hidden."""


_TWO_GPUS = (
    "A step of GPT-2 XL, from that with 100 MB. The model has all but the last bucket hidden, and "
    "knows nothing of what a call costs computing."
)
_ACCUMULATION = (
    "Seconds a micro-batch, four a step, on two machines of one T4: 2.00 with every micro-batch "
    "reduced, 0.91 (+- 0.11) with `no_sync`. Computing and exposed time come from the first, and "
    "from two T4 of one machine (0.50 and 0.41)."
)


def _straggler() -> str:
    (row,) = published(subject="straggler")
    last, other = (said_seconds(each) for each in delays())
    return (
        "One of four ranks was 200 ms late, and every rank's step took 292 to 293 ms "
        f"({row.source}). The model: the late rank ends its step {last} later than it would, the "
        f"others {other}. The step without a late rank was not published, so nothing is said of "
        "the other 92 ms."
    )
