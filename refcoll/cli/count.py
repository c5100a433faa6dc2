"""refcoll count: steps and bytes of an algorithm, with the least possible beside."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from typing import Annotated

import typer

from refcoll.cli.chosen import chosen
from refcoll.cli.formulas import time_content, time_lines
from refcoll.cli.options import (
    AlgorithmName,
    Collective,
    Json,
    NodeShape,
    Radix,
    Ranks,
    Root,
    Segments,
    Shards,
)
from refcoll.cli.output import console, table, write_json
from refcoll.cli.units import bytes_per_second, nbytes, said_bytes, seconds
from refcoll.errors import ArgumentError
from refcoll.interpreters.cost import cost
from refcoll.interpreters.count import Counts
from refcoll.interpreters.count import count as counted
from refcoll.programs import Program
from refcoll.topology import LINKS
from refcoll.words import said_seconds

_EACH_RANK = 16
"""Up to so many ranks are listed one by one where they differ."""


def count(
    algorithm: AlgorithmName,
    ranks: Ranks = None,
    size: Annotated[str, typer.Option("--size", "-s", help="vector size S, such as 14GB")] = "1GB",
    collective: Collective = None,
    bandwidth: Annotated[
        str | None, typer.Option(help="of each rank's link each way: 450GB/s, 400Gb/s")
    ] = None,
    latency: Annotated[str | None, typer.Option(help="per message, with --bandwidth: 3us")] = None,
    root: Root = 0,
    nodes: NodeShape = None,
    segments: Segments = None,
    radix: Radix = None,
    shards: Shards = None,
    json: Json = None,
) -> None:
    """Count steps and bytes per rank for N ranks and S bytes, beside the least possible.

    T is the time in closed form: alpha seconds a message, beta a byte moved, gamma a byte
    merged.  With --bandwidth also in seconds, along the schedule.
    """
    program = chosen(
        algorithm,
        collective,
        ranks,
        default_ranks=8,
        root=root,
        nodes=nodes,
        segments=segments,
        radix=radix,
        shards=shards,
    )
    total = program.whole(nbytes(size))
    alpha = seconds("0s" if latency is None else latency)
    if latency is not None and bandwidth is None:
        raise ArgumentError(f"latency={latency} is for the time, which needs --bandwidth too")
    counts = counted(program, total)
    times = None if bandwidth is None else _times(program, total, bandwidth, alpha)
    if str(json) != "-":
        for line in _summary(program, counts, total, times):
            print(line)
        each = _each_rank(counts)
        if len({tuple(row[1:]) for row in each}) > 1 and program.ranks <= _EACH_RANK:
            print()
            console().print(table(None, _EACH_HEADER, each))
    write_json(json, _content(program, counts, total, times))


def _times(program: Program, total: int, bandwidth: str, alpha: float) -> dict[str, float]:
    """Seconds for several ports and for one, and what they are without latency."""
    rate = bytes_per_second(bandwidth)
    return {
        "several_ports": cost(program, total, latency=alpha, bandwidth=rate),
        "one_port": cost(program, total, latency=alpha, bandwidth=rate, ports="one"),
        "without_latency": cost(program, total, latency=0, bandwidth=rate),
    }


def _summary(
    program: Program, counts: Counts, total: int, times: dict[str, float] | None
) -> Iterator[str]:
    yield f"{program.title}, S = {said_bytes(total)}"
    steps = "1 step" if counts.steps == 1 else f"{counts.steps} steps"
    yield f"  {steps} (depth {counts.depth}, rounds on one port {counts.rounds})"
    yield (
        f"  {said_bytes(counts.sent)} per rank sent, {said_bytes(counts.received)} received "
        "(the most that one rank does)"
    )
    if len(program.nodes) > 1:
        for link, (most, whole) in by_link(program, counts).items():
            yield f"  {link}: {said_bytes(most)} sent by a rank at most, {said_bytes(whole)} in all"
    least = said_bytes(float(counts.least))
    yield f"  {least} is the least that some rank must: {_verdict(counts)}"
    if counts.latency_optimal and counts.rounds:
        yield f"  {counts.rounds} rounds are the least that any schedule takes"
    if program.claims and program.claims.time:
        yield from time_lines(program.claims)
    if times is not None:
        yield f"  {_said_times(times, counts)}"


def by_link(program: Program, counts: Counts) -> dict[str, tuple[int, int]]:
    """Per class of links in use: bytes by the rank that sends most there, and by all."""
    sent: dict[str, Counter[int]] = {}
    assert program.topology is not None
    for (source, to), size in counts.links.items():
        sent.setdefault(program.topology.link(source, to), Counter())[source] += size
    return {
        link: (max(sent[link].values()), sum(sent[link].values())) for link in LINKS if link in sent
    }


def _said_times(times: dict[str, float], counts: Counts) -> str:
    whole, one = times["several_ports"], times["one_port"]
    said = (
        f"{said_seconds(whole)}: {said_seconds(times['without_latency'])} without latency, and "
        f"{counts.depth} alpha on the longest chain of messages"
    )
    return said + (f"; {said_seconds(one)} on one port" if one > whole * (1 + 1e-9) else "")


def _verdict(counts: Counts) -> str:
    if counts.bandwidth_optimal:
        return "no schedule in this model does better"
    if counts.helpers:
        return f"of ranks alone; here {counts.helpers} helpers do arithmetic too"
    if counts.least == 0:
        return "nothing needs to move"
    most = max(counts.sent, counts.received)
    ratio = most / float(counts.least)
    if ratio < 1.0005:
        return "this one takes no more, but for chunks of unequal length"
    return f"this one takes {ratio:.3g} times that"


_EACH_HEADER = ("rank", "steps", "sent", "received", "messages sent", "messages received")


def _each_rank(counts: Counts) -> list[list[str]]:
    return [
        [str(rank), str(each.steps), said_bytes(each.sent), said_bytes(each.received),
         str(each.messages_sent), str(each.messages_received)]
        for rank, each in enumerate(counts.ranks)
    ]  # fmt: skip


def _content(
    program: Program, counts: Counts, total: int, times: dict[str, float] | None
) -> dict[str, object]:
    """Keys as below; bytes and steps are the most of any rank, ``ranks`` has them all."""
    return {
        "algorithm": program.name,
        "collective": program.collective.name,
        "size_bytes": total,
        "steps": counts.steps,
        "depth": counts.depth,
        "rounds": counts.rounds,
        "sent_bytes": counts.sent,
        "received_bytes": counts.received,
        "lower_bound_bytes": float(counts.least),
        "bandwidth_optimal": counts.bandwidth_optimal,
        "latency_optimal": counts.latency_optimal,
        "least_rounds": counts.least_rounds,
        "link_classes": {
            link: {"most_by_a_rank_bytes": most, "bytes": whole}
            for link, (most, whole) in by_link(program, counts).items()
        },
        "ranks": [asdict(rank) for rank in counts.ranks],
        "links": [{"source": a, "to": b, "bytes": n} for (a, b), n in sorted(counts.links.items())],
        "time": time_content(program.claims) if program.claims else None,
        "seconds": times,
    }
