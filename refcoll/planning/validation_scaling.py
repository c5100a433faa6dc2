"""Training on more ranks: how many times as much is trained in a second."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from refcoll.dataparallel.factors import matrices
from refcoll.dataparallel.shapes import parameter_shapes
from refcoll.dataparallel.tensors import Bucket
from refcoll.planning.machine import NETWORK, Machine
from refcoll.planning.predicting import planner
from refcoll.planning.presets import preset
from refcoll.planning.published import Row, published
from refcoll.planning.timeline import step, timed
from refcoll.planning.timeline_training import Training
from refcoll.planning.validation_rows import CHOSEN, Compared
from refcoll.planning.why_example import example

BATCH = 64
"""Images a rank: what tf_cnn_benchmarks takes for ResNet-50 unless told otherwise."""
_CYCLE = 0.005
"""Seconds after which Horovod reduces what is ready (HOROVOD_CYCLE_TIME of the time)."""
_HALF_PRECISION = 500
"""Images a second: more than a V100 does with ResNet-50 in float32 (ddp benchmark: 329)."""


def images(rows: Sequence[Row]) -> Iterator[Compared]:
    """ResNet-50 by Horovod: every rate from that of one node."""
    for source, some in groupby(rows, lambda row: row.source):
        told = list(some)
        one = next(row for row in told if row.ranks == 8)
        for row in told:
            if row is one:
                yield Compared.input(row, "computing: images a second on one node")
            else:
                yield _images(row, one, source)


def _images(row: Row, one: Row, source: str) -> Compared:
    predicted, large = (_rate(row, one, batch) for batch in (BATCH, 4 * BATCH))
    how = f"ring, float{_bits(one)}, {BATCH} images a rank assumed"
    if row.nodes != 1:
        how += f"; with {4 * BATCH} images {large / row.value - 1:+.0%}"
    group = f"ResNet-50 by Horovod on p3.16xlarge, {source.partition('/')[2]}"
    return Compared.of(row, predicted, how, group)


def _bits(one: Row) -> int:
    assert one.ranks is not None
    return 16 if one.value / one.ranks > _HALF_PRECISION else 32


def _rate(row: Row, one: Row, batch: int, machine: Machine | None = None) -> float:
    """The one node's rate, times ranks, times how much shorter a rank's step is there."""
    assert one.ranks is not None
    assert row.ranks is not None
    training = _horovod(batch * one.ranks / one.value, _bits(one))
    machine = machine or preset("p3.16xlarge")
    per_node = min(row.ranks, machine.ranks_per_node)
    there = machine.shaped(nodes=row.nodes, ranks_per_node=per_node)
    seconds = step(training, there).seconds if row.ranks > 1 else training.compute
    return one.value * row.ranks / one.ranks * step(training, machine).seconds / seconds


def _horovod(compute: float, bits: int) -> Training:
    """Buckets of what becomes ready in a cycle."""
    model = parameter_shapes("resnet50", f"float{bits}")
    backward = compute * 2 / 3
    cap = round(sum(each.nbytes for each in model) * _CYCLE / backward)
    return Training(
        model=model, forward=compute - backward, backward=backward, cap_bytes=cap, algorithm="ring"
    )


def calibrated(source: str = "horovod/horovod#396") -> tuple[float, list[Compared]]:
    """The network's bytes per second that two nodes' rate implies, and with it the others'."""
    rows = {row.nodes: row for row in published(subject="ResNet-50", source=source)}
    one, two = rows.pop(1), rows.pop(2)
    low, high = 1e6, preset("p3.16xlarge").links[NETWORK].rate
    while high > 1.0001 * low:
        middle = (low * high) ** 0.5
        enough = _rate(two, one, BATCH, _network(middle)) > two.value
        low, high = (low, middle) if enough else (middle, high)
    told = [Compared.of(row, _rate(row, one, BATCH, _network(high)), "ring, calibrated", source)
            for row in rows.values()]  # fmt: skip
    return high, told


def _network(rate: float) -> Machine:
    usual = preset("p3.16xlarge")
    far = replace(usual.links[NETWORK], bandwidth=rate, achieved=1.0)
    return usual.shaped(links={**usual.links, NETWORK: far})


def low_rank(rows: Sequence[Row]) -> Iterator[Compared]:
    """PowerSGD of rank 1 at 3 Gb/s, times one rank: its three all-reduces, not its arithmetic."""
    (alone,) = (row.value for row in published(subject="DDP step") if "without" in row.note)
    for row in rows:
        assert row.nodes is not None
        slow = _network(3e9 / 8 * preset("p3.16xlarge").links[NETWORK].achieved)
        machine = slow.shaped(nodes=row.nodes, ranks_per_node=2)
        factors = "without" not in row.note
        training = Training(
            model=parameter_shapes("resnet50"), forward=alone / 3, backward=alone * 2 / 3
        )
        calls = [_compressed(bucket, machine, factors) for bucket in training.buckets]
        seconds = timed(training, machine.ranks, calls).seconds
        how = "32 images a rank assumed; what compressing takes is left out"
        yield Compared.of(row, machine.ranks * alone / seconds, how, "PowerSGD at 3 Gb/s")


def _compressed(bucket: Bucket, machine: Machine, factors: bool) -> float:
    """Seconds of a bucket: what is not compressed, then P, then Q (Vogels et al., 2019)."""
    thin = matrices(bucket, rank=1, min_compression_rate=2.0)
    kept = bucket.count - sum(each.rows * each.columns for each in thin)
    sizes = [kept]
    if factors:
        sizes += [sum(each.rows for each in thin), sum(each.columns for each in thin)]
    plans = planner(machine, "all_reduce")
    return sum(plans.of("NCCL", 4 * count).seconds for count in sizes if count)


def samples(rows: Sequence[Row]) -> Iterator[Compared]:
    """BERT by DDP, whose batch and machine are not told."""
    for row in rows:
        yield Compared.beyond(row, "neither the batch nor the machine nor the network is told")


def story(rows: Sequence[Row]) -> Iterator[Compared]:
    """One node to four, which ``why_example`` explains."""
    why = example()
    scalings = (why.scaling(why.setup), why.scaling(why.changed))
    for row, predicted in zip(rows, scalings, strict=True):
        how = "interference, straggler and the size of tiny buckets were chosen for it"
        yield Compared(
            row=row, use=CHOSEN, how=how, measured=row.value, unit=row.unit, predicted=predicted
        )
