"""The least time that a schedule's own bytes take, from a measured ceiling.

Bytes that pass through a device's memory, read or written, when the ranks of a ring all-reduce
of S bytes share it:

    in process   a merge reads two chunks and writes one, a copy reads one and writes one:
                 (N-1) chunks of S/N merged and as many copied, on N ranks: 5 (N-1) S
    by MPI       what comes to be merged lands first: one more write and read: 7 (N-1) S

They are counted from the schedule, step by step; tests hold them to these closed forms.
Staged messages pass the bus as well, once each way: 2 (N-1) S.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from refcoll import program
from refcoll.chunks import Layout
from refcoll.programs import Program
from refcoll.schedule import Copy, Reduce, Send, indices

GOAL = 0.8
"""Share of its bound that a ring of ranks in one process is meant to reach."""
MERGED, COPIED = 3, 2
"""Times that a byte passes through memory when it is merged, and when it is copied."""
LANDED = 2
"""And when it lies somewhere before it is merged."""


def ring(ranks: int, nbytes: int) -> tuple[Program, Layout]:
    """The schedule that is timed, and how ``nbytes`` of float32 are cut."""
    made = program("all_reduce", "ring", ranks)
    return made, made.layout(nbytes // 4)


def moved(made: Program, layout: Layout, itemsize: int, lands: bool) -> int:
    """Bytes that pass through device memory, all ranks together."""
    merged = MERGED + LANDED * lands
    times = {Copy: COPIED, Reduce: merged, Send: 0}
    return itemsize * sum(
        times[type(action)] * layout.lengths[chunk]
        for graph in made.graphs
        for node in graph
        for action in node.actions
        for chunk in indices(action.chunks)
    )


def crossing(made: Program, layout: Layout, itemsize: int) -> int:
    """Bytes that are sent, all ranks together: what the bus carries each way when staged."""
    sends = (a for graph in made.graphs for node in graph for a in node.actions)
    chunks = (c for a in sends if isinstance(a, Send) for c in indices(a.chunks))
    return itemsize * sum(layout.lengths[chunk] for chunk in chunks)


def held(found: dict[str, Any], nbytes: int, bytes_per_second: float | None) -> dict[str, Any]:
    """``found``, which has ``seconds``, with what ``nbytes`` at that rate make the least: keys
    ``moved``, ``bound_seconds`` and ``share``; the last two null where there is no rate."""
    bound = nbytes / bytes_per_second if bytes_per_second else None
    share = bound / found["seconds"] if bound is not None else None
    return {**found, "moved": nbytes, "bound_seconds": bound, "share": share}


def below(rings: Sequence[dict[str, Any]]) -> list[str]:
    """Which rings miss the goal, in words."""
    shares = ((each["ranks"], each["share"]) for each in rings)
    return [f"{n} ranks {share:.0%}" for n, share in shares if share is not None and share < GOAL]
