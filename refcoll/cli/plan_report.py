"""What plan has found, for people and for machines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import groupby
from typing import Any

from refcoll.cli.output import console, table
from refcoll.cli.plan_verdict import ALONE, Planned, needs_switches, verdict
from refcoll.cli.units import said_bytes
from refcoll.planning.breakeven import LAST, Span
from refcoll.planning.predicting import Prediction
from refcoll.registry import find
from refcoll.words import said_seconds


def report(made: Planned, formulas: bool) -> None:
    """The verdict, what bounds it, how far off it may be, a table, and the break-even sizes."""
    for line in verdict(made):
        print(line)
    print()
    header = [*_HEADER, "played"] if made.played else _HEADER
    console().print(table(None, header, list(_rows(made))))
    print(_LEGEND)
    for line in _notes(made.shown, made.machine.nodes > 1):
        print(line)
    if formulas:
        for line in ("", *_formulas(made)):
            print(line)
    helped = made.fastest != made.fastest_alone
    for spans, alone in ((made.fastest, ""), (made.fastest_alone if helped else [], ALONE)):
        if spans:
            print(f"\nFastest by size{alone}")
            console().print(table(None, ("from", "to", "algorithm"), _ranges(spans)))


_HEADER = ("algorithm", "time", "latency", "n 1/2", "sent", "received", "algbw", "busbw")
_LEGEND = """
latency       what even an empty vector takes
n 1/2         the size at which that is half of the time (Hockney): below it latency wins
algbw, busbw  S / time, and that times nccl-tests' factor, in GB/s"""


def _rows(made: Planned) -> Iterator[list[str]]:
    """One for all algorithms that are predicted to do the same."""
    for _, alike in groupby(made.shown, _alike):
        group = list(alike)
        row = _row(group)
        if made.played:
            taken = made.played.get(group[0].algorithm)
            row.append("-" if taken is None else said_seconds(taken))
        yield row


def _alike(each: Prediction) -> tuple[object, ...]:
    return said_seconds(each.seconds), each.latency, each.basis


def _row(group: Sequence[Prediction]) -> list[str]:
    first = group[0]
    sizes = half_size(first), first.sent, first.received
    return [
        "; ".join(dict.fromkeys(map(_titled, group))),
        said_seconds(first.seconds),
        "-" if first.latency is None else said_seconds(first.latency),
        *("-" if size is None else said_bytes(size) for size in sizes),
        f"{first.algbw / 1e9:.4g}",
        "-" if first.busbw is None else f"{first.busbw / 1e9:.4g}",
    ]


def _titled(each: Prediction) -> str:
    """With how it is known, where that is not the rule."""
    return each.title if each.basis in ("rounds", "schedule") else f"{each.title} ({each.basis})"


def half_size(each: Prediction) -> float | None:
    """The size at which latency is half of the time (Hockney's n 1/2); None where unknown."""
    if each.latency is None or each.seconds <= each.latency:
        return None
    return each.latency * each.nbytes / (each.seconds - each.latency)


def _notes(shown: Sequence[Prediction], far: bool) -> Iterator[str]:
    """What needs saying of some rows."""
    if any(each.basis == "bound" for each in shown):
        yield "bound         at most so long: every message on the slowest link, rails crowded"
    if any(needs_switches(each) for each in shown):
        yield "in_network    needs switches that add (NVLink SHARP; SHARP between nodes)"
        if far:
            yield f"{'':14}no published time of it on several nodes is compared: error unknown"
    for source in dict.fromkeys(each.source for each in shown if each.measured):
        yield f"measured      {source.removeprefix('measured: ')}"


def _formulas(made: Planned) -> Iterator[str]:
    """What each algorithm says of itself (``refcoll.formulas``), and what the letters mean."""
    yield "Times on links of one class, leaving overhead, gaps and shared rails aside"
    found = [find(each.collective, each.algorithm) for each in made.models]
    known = {each.name: each.time for each in found if each.time is not None}
    for name, time in known.items():
        yield f"  {name}: {time}"
    letters = dict.fromkeys(pair for time in known.values() for pair in time.where.items())
    for letter, said in letters:
        yield f"  {letter} = {said}"


def _ranges(spans: Sequence[Span]) -> list[list[str]]:
    ends = [said_bytes(each.first) for each in spans[1:]]
    return [
        [said_bytes(each.first), end, each.algorithm]
        for each, end in zip(spans, [*ends, said_bytes(LAST)], strict=True)
    ]


def content(made: Planned) -> dict[str, Any]:
    """The same with all its digits; keys in docs/json.md."""
    machine = made.machine
    shape = ("name", "nodes", "ranks_per_node", "rails", "striped", "nodes_per_switch", "uplinks")
    return {
        "collective": made.collective,
        "size_bytes": made.nbytes,
        "ranks": machine.ranks,
        "machine": {
            **{key: getattr(machine, key) for key in shape}, "sources": dict(machine.sources),
        },
        "published_error": made.known and {
            "count": len(made.known.rows), "median": made.known.median,
            "worst": made.known.worst.error,
        },
        "predictions": [_told(each, made.played) for each in made.shown],
        "fastest": [asdict(each) for each in made.fastest],
        "fastest_alone": [asdict(each) for each in made.fastest_alone],
    }  # fmt: skip


def _told(each: Prediction, played: Mapping[str, float]) -> dict[str, Any]:
    return {
        **asdict(each),
        "algbw": each.algbw / 1e9,
        "busbw": None if each.busbw is None else each.busbw / 1e9,
        "half_size_bytes": half_size(each),
        "played_seconds": played.get(each.algorithm),
    }
