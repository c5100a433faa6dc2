"""Seconds of training steps: buckets, accumulation, stragglers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache

from refcoll.dataparallel.shapes import parameter_shapes
from refcoll.dataparallel.tensors import Tensor
from refcoll.planning.machine import NETWORK, NODE, Machine
from refcoll.planning.presets import preset
from refcoll.planning.published import Row, published
from refcoll.planning.timeline import step, timed
from refcoll.planning.timeline_sweeps import MIB
from refcoll.planning.timeline_training import Training
from refcoll.planning.validation_rows import Compared

_USUAL, _SMALL = 25 * MIB, MIB
_STANDS_STILL = 1e6
"""A slowdown with which computing makes no way beside a reduction."""


def benchmarked(rows: Sequence[Row]) -> Iterator[Compared]:
    """PyTorch's benchmark of DDP.  From the column of 25 MiB, and from one GPU, where nothing is
    sent, follow what DDP and interference cost computing; told are the rows of 1 MiB."""
    for row in rows:
        if row.quantity == "slowdown":
            yield _small_buckets(row)
        elif "without" in row.note:
            yield Compared.input(row, "computing, of the steps with PowerSGD")
        elif row.ranks in (1, 16):
            yield Compared.input(row, "computing" if row.ranks == 1 else "interference")
        else:
            yield Compared.of(row, _benchmark(row, _USUAL, interference()), _HOW, _GROUP)


_HOW, _GROUP = "interference as 16 GPUs show it at 25 MiB", "DDP benchmark"


def _small_buckets(row: Row) -> Compared:
    if row.ranks == 1:
        return Compared.input(row, "computing that a bucket costs: 10 us")
    if "95th" in row.note:
        return Compared.beyond(row, "how much steps differ from each other")
    told = slowed(row, interference(), per_bucket())
    return Compared.of(row, told, _HOW, f"{_GROUP}, 1 MiB against 25 MiB")


def slowed(row: Row, slowdown: float = 1.0, cost: float = 0.0) -> float:
    """How much longer a step takes with 1 MiB than with 25, where each bucket costs computing
    so many seconds."""
    small, usual = (_benchmark(row, cap, slowdown, cost) for cap in (_SMALL, _USUAL))
    return small / usual - 1


@cache
def interference(rounding: float = 0.0) -> float:
    """The slowdown with which 16 GPUs take as long as measured at 25 MiB, and ``rounding``
    seconds; at most so much that computing stands still.  Found by halving."""
    (row,) = published(subject="DDP step", ranks=16)
    low, high = 1 / _STANDS_STILL, 1.0
    while high - low > 1e-6:
        middle = (low + high) / 2
        slow = _benchmark(row, _USUAL, 1 / middle) > row.value + rounding
        low, high = (middle, high) if slow else (low, middle)
    return 1 / high


@cache
def per_bucket() -> float:
    """Seconds of computing, from what 1 MiB costs on one GPU, which sends nothing."""
    (alone,) = published(subject="DDP bucket 1 MB against 25 MB", ranks=1)
    usual, small = (len(_ddp(cap).buckets) for cap in (_USUAL, _SMALL))
    return alone.value * _compute() / (small - usual)


def _compute() -> float:
    (one,) = (row for row in published(subject="DDP step", ranks=1) if "without" not in row.note)
    return one.value


def _ddp(cap: int) -> Training:
    compute = _compute()
    return Training(
        model=parameter_shapes("resnet50"), forward=compute / 3, backward=compute * 2 / 3,
        cap_bytes=cap,
    )  # fmt: skip


def _benchmark(row: Row, cap: int, slowdown: float, cost: float = 0.0) -> float:
    """Seconds of a step."""
    assert row.nodes is not None
    assert row.ranks is not None
    machine = _infiniband().shaped(nodes=row.nodes, ranks_per_node=row.ranks // row.nodes)
    plain = _ddp(cap)
    backward = plain.backward + cost * len(plain.buckets)
    return step(replace(plain, backward=backward, interference=slowdown), machine).seconds


def _infiniband() -> Machine:
    """Nodes of 8 V100 with four NICs of 100 Gb/s."""
    far = replace(preset("a100-node").links[NETWORK], bandwidth=12.5e9)
    near = preset("p3.16xlarge")
    return near.shaped(rails=4, links={NODE: near.links[NODE], NETWORK: far})


def bucketed(rows: Sequence[Row]) -> Iterator[Compared]:
    """GPT-2 XL on two GPUs: every size from the best one."""
    best = min(rows, key=lambda row: row.value)
    machine = preset("h100-node").shaped(ranks_per_node=2, tables=())
    model = parameter_shapes("gpt2-xl")

    def seconds(row: Row) -> float:
        told = Training(
            model=model, forward=best.value / 3, backward=best.value * 2 / 3, cap_bytes=row.bytes
        )
        return step(told, machine).seconds

    for row in rows:
        if row is best:
            yield Compared.input(row, "computing")
        else:
            how = "H100 and float32 assumed"
            told = best.value * seconds(row) / seconds(best)
            yield Compared.of(row, told, how, "DDP buckets, GPT-2 XL on 2 GPUs")


def accumulated(rows: Sequence[Row]) -> Iterator[Compared]:
    """Four micro-batches a step: computing and exposed time from the first three rows, the
    fourth told."""
    at = {(row.nodes, "no_sync" in row.note): row for row in rows}
    seconds: Mapping[tuple[int | None, bool], float] = {key: row.value for key, row in at.items()}
    each_time, told = at[2, False], at[2, True]
    count = 4
    exposed = (seconds[1, False] - seconds[1, True]) * count / (count - 1)
    compute = seconds[1, False] - exposed
    one = Training(model=(Tensor("all", (1,)),), backward=compute / 2, forward=compute / 2)
    lengths = [each_time.value - compute]
    predicted = timed(replace(one, accumulate=count), 2, lengths).per_micro_batch
    for row in rows:
        if row is told:
            how = f"computing {compute:.2f} s, exposed {lengths[0]:.2f} s every fourth micro-batch"
            yield Compared.of(row, predicted, how, "accumulation")
        else:
            yield Compared.input(row, "computing, exposed time")


def straggling(rows: Sequence[Row]) -> Iterator[Compared]:
    """What the rank's 200 ms cost the others is told; what the rest takes is not."""
    for row in rows:
        yield Compared.beyond(
            row, "200 ms of it, on every rank, are told; the step without a late rank is not known"
        )


def delays(late: float = 0.2) -> tuple[float, float]:
    """How much later the last of four ranks, and another, end a step, if it begins backward
    ``late``."""
    machine = preset("a100-node").shaped(ranks_per_node=4, tables=())
    told = Training(model=parameter_shapes("resnet50"), backward=0.06)
    usual = step(told, machine).seconds
    with_it = step(replace(told, late=late), machine)
    other, last = (told.forward_seconds + each.wait_end for each in with_it.timelines)
    return last - usual, other - usual
