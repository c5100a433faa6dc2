"""What plan has found, for people and for machines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Any

from refcoll.benchmarking import BUS_FACTORS
from refcoll.cli.output import console, table
from refcoll.cli.units import said_bytes
from refcoll.planning.breakeven import LAST, Span
from refcoll.planning.machine import NETWORK, NODE, Machine, counted
from refcoll.planning.predicting import Prediction
from refcoll.registry import find
from refcoll.words import said_seconds


@dataclass(frozen=True)
class Planned:
    """A collective of one size on a machine, by all algorithms shown."""

    machine: Machine
    collective: str
    nbytes: int
    shown: Sequence[Prediction]
    fastest: Sequence[Span]
    """By size."""
    fastest_alone: Sequence[Span]
    """Where no switch adds."""
    played: Mapping[str, float]
    """Seconds that schedules take under the clock, by algorithm."""

    @property
    def models(self) -> list[Prediction]:
        """Those that were not measured, best first."""
        return [each for each in self.shown if not each.measured]


def report(made: Planned, formulas: bool) -> None:
    """The verdict, what bounds it, a table, and the break-even sizes."""
    for line in (*_verdict(made), *_floor(made)):
        print(line)
    print()
    header = [*_HEADER, "played"] if made.played else _HEADER
    console().print(table(None, header, list(_rows(made))))
    print(_LEGEND)
    for line in _notes(made.shown):
        print(line)
    if formulas:
        for line in ("", *_formulas(made)):
            print(line)
    helped = made.fastest != made.fastest_alone
    for spans, alone in ((made.fastest, ""), (made.fastest_alone if helped else [], _ALONE)):
        if spans:
            print(f"\nFastest by size{alone}")
            console().print(table(None, ("from", "to", "algorithm"), _ranges(spans)))


_HEADER = ("algorithm", "time", "latency", "n 1/2", "sent", "received", "algbw", "busbw")
_LEGEND = """
latency       what even an empty vector takes
n 1/2         the size at which that is half of the time (Hockney): below it latency wins
algbw, busbw  S / time, and that times nccl-tests' factor, in GB/s"""
_ALONE = ", without switches that add"


def _verdict(made: Planned) -> Iterator[str]:
    best, *_ = made.models or made.shown
    yield (
        f"{best.title}: {said_seconds(best.seconds)} for {made.collective} of "
        f"{said_bytes(made.nbytes)} on {made.machine.title}"
    )
    alone = [each for each in made.models if not _needs_switches(each)]
    if alone and _needs_switches(best):
        yield f"  {alone[0].title}: {said_seconds(alone[0].seconds)}{_ALONE}"


def _needs_switches(each: Prediction) -> bool:
    return not each.measured and find(each.collective, each.algorithm).needs_helpers


def _floor(made: Planned) -> Iterator[str]:
    """What ranks alone must move, and what links take for that."""
    machine = made.machine
    if made.collective not in ("all_reduce", "reduce_scatter", "all_gather") or machine.ranks == 1:
        return
    share = made.nbytes * BUS_FACTORS[made.collective](machine.ranks)
    link, wide, over = machine.links[NODE], 1, "its link"
    if machine.nodes > 1:
        link, wide = machine.links[NETWORK], machine.rails if machine.striped else 1
        over = f"{counted(wide, 'rail')} of every node, as one ring does"
    wire, rate = wide * link.bandwidth, wide * link.rate
    yield f"  {said_bytes(share)} is the least that ranks alone must send each; over {over}"
    yield (
        f"  that is {said_seconds(share / wire)} at {said_bytes(wire)}/s, the wire's rate, and "
        f"{said_seconds(share / rate)} at the {said_bytes(rate)}/s ({link.achieved:.0%}) achieved"
    )


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
        "; ".join(_titled(each) for each in group),
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


def _notes(shown: Sequence[Prediction]) -> Iterator[str]:
    """What needs saying of some rows."""
    if any(each.basis == "bound" for each in shown):
        yield "bound         at most so long: every message on the slowest link, rails crowded"
    if any(_needs_switches(each) for each in shown):
        yield "in_network    needs switches that add (NVLink SHARP; SHARP between nodes)"
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
    shape = ("name", "nodes", "ranks_per_node", "rails", "striped", "nodes_per_switch")
    return {
        "collective": made.collective,
        "size_bytes": made.nbytes,
        "ranks": machine.ranks,
        "machine": {
            **{key: getattr(machine, key) for key in shape}, "sources": dict(machine.sources),
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
