"""What plan has found, for people and for machines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import groupby
from typing import Any

from refcoll.benchmarking import BUS_FACTORS
from refcoll.cli.output import console, table
from refcoll.cli.units import said_bytes
from refcoll.planning.breakeven import LAST, Span
from refcoll.planning.machine import NETWORK, NODE, Machine
from refcoll.planning.predicting import Prediction
from refcoll.words import said_seconds


def report(
    machine: Machine,
    collective: str,
    nbytes: int,
    shown: Sequence[Prediction],
    ranges: Sequence[Span],
    times: Mapping[str, float],
) -> None:
    """The verdict, what bounds it, a table, and the break-even sizes."""
    best = min((each for each in shown if not each.measured), key=lambda each: each.seconds)
    print(
        f"{best.algorithm}: {said_seconds(best.seconds)} for {collective} of {said_bytes(nbytes)} "
        f"on {machine.title}"
    )
    for line in _floor(machine, collective, nbytes):
        print(line)
    print()
    header = [*_HEADER, "played"] if times else _HEADER
    console().print(table(None, header, list(_rows(shown, times))))
    print(_LEGEND)
    for line in _notes(shown):
        print(line)
    if ranges:
        print()
        console().print(table("Fastest by size", ("from", "to", "algorithm"), _ranges(ranges)))


def _floor(machine: Machine, collective: str, nbytes: int) -> Iterator[str]:
    """What ranks alone must move, and what links take for that."""
    if collective not in BUS_FACTORS or machine.ranks == 1:
        return
    share = nbytes * BUS_FACTORS[collective](machine.ranks)
    yield f"ranks alone must send {said_bytes(share)} each"
    if machine.nodes == 1:
        link, over, wide = machine.links[NODE], "a rank's link", 1
    else:
        link = machine.links[NETWORK]
        wide = machine.rails if machine.striped else 1
        over = f"{wide} rail{'s' if wide > 1 else ''} of each node, as a ring does"
    wire, rate = wide * link.bandwidth, wide * link.rate
    yield (
        f"  over {over}: {said_seconds(share / wire)} at {said_bytes(wire)}/s on the wire, "
        f"{said_seconds(share / rate)} at the {said_bytes(rate)}/s ({link.achieved:.0%}) achieved"
    )


_HEADER = ("algorithm", "time", "latency", "n 1/2", "sent", "received", "algbw", "busbw")
_LEGEND = """
latency       what even an empty vector takes
n 1/2         the size at which that is half of the time (Hockney): below it latency wins
algbw, busbw  S / time, and that times nccl-tests' factor, in GB/s"""


def _rows(shown: Sequence[Prediction], times: Mapping[str, float]) -> Iterator[list[str]]:
    """One for all algorithms that are predicted to do the same."""
    for _, alike in groupby(shown, _alike):
        group = list(alike)
        row = _row(group)
        if times:
            played = times.get(group[0].algorithm)
            row.append("-" if played is None else said_seconds(played))
        yield row


def _alike(each: Prediction) -> tuple[object, ...]:
    return said_seconds(each.seconds), each.latency, each.basis


def _row(group: Sequence[Prediction]) -> list[str]:
    first, half = group[0], half_size(group[0])
    sent, received = ("-" if some is None else said_bytes(some)
                      for some in (first.sent, first.received))  # fmt: skip
    busbw = "-" if first.busbw is None else f"{first.busbw / 1e9:.1f}"
    return [
        "; ".join(_titled(each) for each in group), said_seconds(first.seconds),
        "-" if first.latency is None else said_seconds(first.latency),
        "-" if half is None else said_bytes(half), sent, received, f"{first.algbw / 1e9:.1f}", busbw,
    ]  # fmt: skip


def _titled(each: Prediction) -> str:
    """With how it is known, where that is not the rule."""
    return each.title if each.basis in ("rounds", "schedule") else f"{each.title} ({each.basis})"


def half_size(each: Prediction) -> float | None:
    """The size at which latency is half of the time (Hockney's n 1/2); None where unknown."""
    if each.latency is None or each.seconds <= each.latency:
        return None
    return each.latency * each.nbytes / (each.seconds - each.latency)


def _notes(shown: Sequence[Prediction]) -> Iterator[str]:
    """What needs saying of some rows."""
    if any(each.basis == "bound" for each in shown):
        yield "bound         at most so long: every message on the slowest link, rails crowded"
    if any(each.algorithm == "in_network" for each in shown):
        yield "in_network    needs switches that add (NVLink SHARP; SHARP between nodes)"
    for source in dict.fromkeys(each.source for each in shown if each.measured):
        yield f"measured      {source.removeprefix('measured: ')}"


def _ranges(ranges: Sequence[Span]) -> list[list[str]]:
    ends = [said_bytes(each.first) for each in ranges[1:]]
    return [
        [said_bytes(each.first), end, each.algorithm]
        for each, end in zip(ranges, [*ends, said_bytes(LAST)], strict=True)
    ]


def content(
    machine: Machine,
    collective: str,
    nbytes: int,
    shown: Sequence[Prediction],
    ranges: Sequence[Span],
    times: Mapping[str, float],
) -> dict[str, Any]:
    """The same with all its digits; keys in docs/json.md."""
    return {
        "collective": collective,
        "size_bytes": nbytes,
        "ranks": machine.ranks,
        "machine": {
            "name": machine.name, "nodes": machine.nodes,
            "ranks_per_node": machine.ranks_per_node, "rails": machine.rails,
            "striped": machine.striped, "sources": dict(machine.sources),
        },
        "predictions": [
            {
                **asdict(each), "algbw": each.algbw / 1e9,
                "busbw": None if each.busbw is None else each.busbw / 1e9,
                "half_size_bytes": half_size(each), "played": times.get(each.algorithm),
            }
            for each in shown
        ],
        "fastest": [asdict(each) for each in ranges],
    }  # fmt: skip
