"""Hypotheses about where values come from: left as they were, elsewhere, somebody's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from refcoll.chunks import balanced
from refcoll.operators import Array
from refcoll.oracle.evidence import Evidence
from refcoll.oracle.guarded import poisoned


def unwritten(e: Evidence, rank: int) -> str | None:
    """The poison of before the call is still there."""
    if e.call.in_place or not poisoned(e.got(rank))[e.wrong[rank]].all():
        return None
    return f"{e.where(e.wrong[rank])} not written at all{_tail(e, rank)}"


def zeros(e: Evidence, rank: int) -> str | None:
    """Nothing but zeros, where that is wrong."""
    places = e.wrong[rank]
    if (e.got(rank)[places] != 0).any() or len(places) < 2:
        return None
    return f"zeros in {e.where(places)}{_tail(e, rank)}"


def _tail(e: Evidence, rank: int) -> str:
    """If they are the last ones."""
    places, count = e.wrong[rank], e.got(rank).size
    last = len(places) < count and places[0] == count - len(places)
    return f": the tail, from element {places[0]} on, is not processed" if last else ""


def stale(e: Evidence, rank: int) -> str | None:
    """The result of the call before."""
    if e.before is None or not e.equal(rank, e.before[rank]):
        return None
    return f"{e.where(e.wrong[rank])}: what the previous call gave, so stale memory was read"


def one_input(e: Evidence, rank: int) -> str | None:
    """A single rank's input, where several should be merged."""
    if e.call.op is None or e.call.op == "avg":
        return None
    parts = e.parts(rank)
    for other in [rank, *range(len(parts))]:
        if other < len(parts) and e.equal(rank, parts[other]):
            whose = "the rank's own input" if other == rank else f"rank {other}'s input"
            return f"{e.where(e.wrong[rank])}: {whose} alone, nothing merged into it"
    return None


def other_piece(e: Evidence, rank: int) -> str | None:
    """A piece that belongs to another rank."""
    if e.call.collective not in ("reduce_scatter", "scatter"):
        return None
    for other in range(e.size):
        if other != rank and e.truths[other] is not None and e.equal(rank, e.wanted(other)):
            by = (other - rank) % e.size
            return f"the chunk of rank (r + {by}) mod {e.size}: rotated by {by}"
    return None


def moved_blocks(e: Evidence, rank: int) -> str | None:
    """The right blocks in a wrong order, or the same block in several places."""
    wanted = e.wanted(rank)
    many = e.call.collective in ("all_gather", "gather", "all_to_all")
    layout = balanced(wanted.size, e.size)
    lengths = {layout.length(index) for index in range(e.size)}
    if e.size < 2 or len(lengths) > 1 or not wanted.size:
        return None
    blocks = wanted.reshape(e.size, -1)
    sources = [_source(e.got(rank).reshape(e.size, -1)[i], blocks) for i in range(e.size)]
    if None in sources or sources == [*range(e.size)]:
        return None
    what = "block" if many else "chunk"
    rotated = {(source - i) % e.size for i, source in enumerate(sources)}  # type: ignore[operator]
    if len(rotated) == 1:
        by = rotated.pop()
        return f"{what} i holds {what} (i + {by}) mod {e.size}: rotated by {by}"
    said = ", ".join(f"{i} holds {s}" for i, s in enumerate(sources) if s != i)
    return f"{what}s in a wrong place: {said}"


def _source(block: Array, blocks: Array) -> int | None:
    equal = [i for i, each in enumerate(blocks) if each.tobytes() == block.tobytes()]
    return equal[0] if equal else None


def permuted(e: Evidence, rank: int) -> str | None:
    """The right values in other elements."""
    for said, other in _permutations(e.wanted(rank)):
        if e.equal(rank, other):
            return f"{e.where(e.wrong[rank])}: {said}"
    return None


def _permutations(wanted: Array) -> Iterator[tuple[str, Array]]:
    if wanted.size < 2:
        return
    yield "the elements in reverse order", wanted[::-1]
    for by in range(1, min(4, wanted.size)):
        yield f"shifted: element i holds element i + {by}", np.roll(wanted, -by)
        yield f"shifted: element i holds element i - {by}", np.roll(wanted, by)
    for rows in (2, 3, 4, 5, 7, 8):
        if wanted.size % rows == 0 and wanted.size > rows:
            yield f"in storage order of a {rows}-row transpose", wanted.reshape(rows, -1).T.ravel()


def nccl_place(e: Evidence, rank: int) -> str | None:
    """In place, NCCL puts a rank's piece where it was, MPI at the start."""
    if e.call.collective != "reduce_scatter" or not e.call.in_place or not rank:
        return None
    own = e.inputs[rank][: e.call.count]
    if e.equal(rank, own):
        return (
            "its input's first elements: MPI's in-place result stands at the start of the buffer, "
            "NCCL's at the rank's own piece"
        )
    return None


MOVEMENTS: Sequence[Callable[[Evidence, int], str | None]] = (
    unwritten, zeros, stale, nccl_place, other_piece, one_input, moved_blocks, permuted,
)  # fmt: skip
