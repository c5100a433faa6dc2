"""What timeline has found, for people and for machines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from typing import Any

from refcoll.cli.output import console, table
from refcoll.cli.units import said_bytes
from refcoll.cli.validate_words import said_group
from refcoll.dataparallel.timeline import Timeline, drawn, rows
from refcoll.planning.known_error import error_of_training
from refcoll.planning.machine import Machine, counted
from refcoll.planning.timeline import Calls, Step
from refcoll.planning.timeline_playing import difference
from refcoll.planning.timeline_sweeps import Sweep, Value
from refcoll.words import said_seconds

_SHOWN = 24
"""Buckets in the table and in the drawing; of more, the first and the last half."""


def title(made: Step, name: str) -> str:
    """As in "resnet50 on p3.16xlarge: ...: a step of 100 ms, 1 ms of it exposed"."""
    exposed = said_seconds(made.timelines[0].total_exposed + made.gather)
    return f"{name}: a step of {said_seconds(made.seconds)}, {exposed} of it exposed"


def report(made: Step, called: Calls, name: str, played: float | None, simulate: bool) -> None:
    """The verdict, the sums, a table of buckets, and the step in characters."""
    first = made.timelines[0]
    print(title(made, name))
    for line in (*_sums(made), *_played(made, played, simulate), said_group(error_of_training())):
        print(f"  {line}")
    shown = _some(first)
    names = [called.buckets[each.index].title for each in shown.buckets]
    told = [[*row, name] for row, name in zip(rows(shown), names, strict=True)]
    print()
    console().print(table(None, _HEADER, told))
    if len(shown.buckets) < len(first.buckets):
        left = len(first.buckets) - len(shown.buckets)
        print(f"... and {left} between; --json has them all")
    print("\nms since backward began; exposed: after its end\n")
    print(drawn(shown))


_HEADER = ("bucket", "bytes", "ready", "start", "end", "exposed", "algorithm")


def _some(timeline: Timeline) -> Timeline:
    if len(timeline.buckets) <= _SHOWN:
        return timeline
    half = _SHOWN // 2
    return replace(timeline, buckets=timeline.buckets[:half] + timeline.buckets[-half:])


def _sums(made: Step) -> Iterator[str]:
    told, first = made.training, made.timelines[0]
    compute = said_seconds(told.compute)
    yield f"compute {compute}, {made.efficiency:.1%} of the step: {_micro_batches(made)}"
    total = said_bytes(sum(each.nbytes for each in first.buckets))
    yield (
        f"reduced: {total} in {counted(len(first.buckets), 'bucket')}, "
        f"{said_seconds(first.communication)}, of which backward hides {first.hidden:.1%}"
    )
    if told.zero2:
        yield f"parameters gathered after it: {said_seconds(made.gather)}"
    if told.late:
        yield f"the last rank begins {said_seconds(told.late)} late, and all wait for it"
    slowed = first.backward_end - told.backward
    if told.interference > 1:
        yield f"backward takes {said_seconds(slowed)} longer beside reductions"


def _micro_batches(made: Step) -> str:
    told = made.training
    each = f"forward {said_seconds(told.forward_seconds)}, backward {said_seconds(told.backward)}"
    if told.accumulate == 1:
        return each
    when = "each reduced" if told.reduce_all else "the last reduced"
    return f"{told.accumulate} micro-batches, {when}, {each}"


def _played(made: Step, played: float | None, simulate: bool) -> Iterator[str]:
    if simulate and played is None:
        yield "not played: too many ranks, switches that add, or a measured table"
    elif played is not None:
        yield (
            f"played event by event on {made.ranks} ranks: {difference(made, played):+.2%} from "
            "backward's begin to the last bucket's end"
        )


def report_sweep(made: Sweep, name: str) -> None:
    """The optimum, and a row for each value."""
    best = made.equals
    least = said_seconds(made.best[1].per_micro_batch)
    print(f"{name}: best with {all_of(best, made.unit)}, {least} a micro-batch")
    if made.enough[0] != best[0]:
        print(f"  {said(made.enough[0], made.unit)} is within 1% of it")
    print(f"  {said_group(error_of_training())}")
    told = [
        [
            said(value),
            str(len(each.timelines[0].buckets)),
            *(f"{seconds * 1e3:.3f}" for seconds in _times(each)),
            f"{each.efficiency:.1%}",
            "<--" if value in best else "",
        ]
        for value, each in made.points
    ]
    print()
    header = (made.unit or made.kind, "buckets", *_SWEPT, "computing", "")
    console().print(table(None, header, told))
    print("\nms for each micro-batch; computing: its share of the step")


_SWEPT = ("time", "communication", "exposed")


def _times(each: Step) -> Sequence[float]:
    told, first = each.training, each.timelines[0]
    calls = told.accumulate if told.reduce_all else 1
    communication = calls * first.communication + each.gather
    exposed = calls * first.total_exposed + each.gather
    return each.per_micro_batch, communication / told.accumulate, exposed / told.accumulate


def said(value: Value, unit: str = "") -> str:
    """As in "25 MiB", "20,000 MiB", "ring"."""
    if isinstance(value, str):
        return value
    figure = f"{value:.4g}" if value < 1000 else f"{value:,.0f}"
    return f"{figure} {unit}".rstrip()


def all_of(values: Sequence[Value], unit: str) -> str:
    """As in "0.25 to 20 MiB", "rabenseifner, bcube"."""
    first, last = values[0], values[-1]
    if len(values) == 1 or isinstance(first, str):
        return ", ".join(said(each, unit) for each in values)
    return f"{said(first)} to {said(last, unit)}"


def content(made: Step, called: Calls, machine: Machine, played: float | None) -> dict[str, Any]:
    """The same with all its digits; keys in docs/json.md."""
    first = made.timelines[0]
    return {
        **_step(made),
        "ranks": made.ranks,
        "machine": machine.title,
        "played_seconds": played,
        "buckets": [
            {**asdict(each), "exposed": first.exposed(each), "algorithm": call.title,
             "basis": call.basis}
            for each, call in zip(first.buckets, called.buckets, strict=True)
        ],
    }  # fmt: skip


def _step(made: Step) -> dict[str, Any]:
    first = made.timelines[0]
    return {
        "seconds": made.seconds,
        "per_micro_batch": made.per_micro_batch,
        "compute": made.training.compute,
        "efficiency": made.efficiency,
        "communication": first.communication,
        "backward_end": first.backward_end,
        "exposed": first.total_exposed,
        "hidden": first.hidden,
        "gather": made.gather,
    }


def swept(made: Sweep, machine: Machine) -> dict[str, Any]:
    """A sweep for machines."""
    return {
        "sweep": made.kind,
        "unit": made.unit,
        "machine": machine.title,
        "best": made.best[0],
        "within_1_percent": made.enough[0],
        "points": [
            {"value": value, "buckets": len(each.timelines[0].buckets), **_step(each)}
            for value, each in made.points
        ],
    }
