"""Hypotheses about memory: what was not written, or was there before."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain

import numpy as np

from refcoll.operators import Array, kind
from refcoll.oracle.diagnosing.evidence import Evidence
from refcoll.oracle.guarded import poison, poisoned
from refcoll.oracle.merging import merged, merging
from refcoll.words import ranked


def unwritten(e: Evidence, rank: int) -> str | None:
    """The poison of before the call is still there, but for some bytes of an element maybe."""
    places = e.wrong[rank]
    still = poisoned(e.got(rank)[places])
    part = np.flatnonzero(~still)
    if len(part) > 1 or not still.any() or not _partly(e, rank, places[part]):
        return None
    return f"{e.where(places)} not written at all{_tail(e, rank)}"


def only_own(e: Evidence, rank: int) -> str | None:
    """Of blocks from all ranks, all but the rank's own are as they were before the call."""
    got = e.got(rank)
    others = np.flatnonzero(np.arange(got.size) // max(e.call.count, 1) != rank)
    if (
        not e.gathers
        or not poisoned(got[others]).all()
        or not np.array_equal(others, e.wrong[rank])
    ):
        return None
    return "its own block is there, and no other was written at all"


def _partly(e: Evidence, rank: int, places: Array) -> bool:
    """Whether each byte is the right one or poison."""
    width = e.got(rank).dtype.itemsize
    got, wanted = (
        np.ascontiguousarray(x[places]).view(np.uint8).reshape(-1, width)
        for x in (e.got(rank), e.wanted(rank))
    )
    return bool(((got == wanted) | (got == poison(e.got(rank).dtype))).all())


def zeros(e: Evidence, rank: int) -> str | None:
    """Nothing but zeros, where that is wrong."""
    places = e.wrong[rank]
    if len(places) < 2 or e.probe in ("tiny", "special"):
        return None
    if e.binary and (len(places) < _FEWEST or e.got(rank).any()):
        return None  # of truths half are
    if (e.got(rank)[places] != 0).any() or (e.wanted(rank)[places] == 0).all():
        return None
    return f"zeros in {e.where(places)}{_tail(e, rank)}"


_FEWEST = 4
"""Truths, that are 0 by chance now and then."""


def _tail(e: Evidence, rank: int) -> str:
    """If they are the last ones."""
    places, count = e.wrong[rank], e.got(rank).size
    last = len(places) < count and places[0] == count - len(places)
    return f": the tail, from element {places[0]} on, is not processed" if last else ""


def stale(e: Evidence, rank: int) -> str | None:
    """The result of the call before, or of one before that."""
    values = np.unique(e.got(rank)[e.wrong[rank]])
    if len(values) == 1 and (values[0] == 0 or len(e.wrong[rank]) > 1):
        return None  # which many calls give
    said = f"{e.where(e.wrong[rank])}: what {{}} gave, so stale memory was read"
    if e.before is not None and e.equal(rank, e.before[rank]):
        return said.format(e.previous)
    for ago, results in enumerate(e.older, 2):
        if not e.few(rank) and e.equal(rank, results[rank]):
            return said.format(f"the {ago}{_TH.get(ago, 'th')} last call of this length")
    return None


_TH = {2: "nd", 3: "rd"}


def not_cleared(e: Evidence, rank: int) -> str | None:
    """The result of a call before, and this one's added to it."""
    if e.call.op != "sum" or e.probe not in ("coded", "extremes") or e.few(rank):
        return None
    for results in filter(None, (e.before, *e.older)):
        old = results[rank]
        if old is not None and e.equal(rank, e.wanted(rank) + old):
            return (
                f"{e.where(e.wrong[rank])}: what an earlier call gave, and this one's added to it: "
                "an accumulator that is not cleared"
            )
    return None


def stale_inputs(e: Evidence, rank: int) -> str | None:
    """Some ranks' inputs of the call before, merged with others' of this one."""
    if e.earlier is None or e.call.op in (None, "avg") or e.probe not in ("coded", "extremes"):
        return None
    now, then = e.parts(rank), merging(e.call, e.earlier, rank)
    ranks = len(now)
    alone = ([r] for r in range(ranks))
    below = (list(range(first)) for first in range(2, ranks + 1))
    others = [[r for r in range(ranks) if r != rank]]
    for old in chain(alone, below, others):
        mixed = now.copy()
        mixed[old] = then[old]
        if e.equal(rank, merged(str(e.call.op), mixed)):
            said = "inputs of {} are those" if len(old) > 1 else "input of {} is that"
            who = said.format(ranked(old))
            return f"{e.where(e.wrong[rank])}: the {who} of {e.previous}"
    return None


def surely_stale_inputs(e: Evidence, rank: int) -> str | None:
    """The same, where that is no chance; asked before ranks are looked for that are missing."""
    return None if e.few(rank) and e.call.op != "sum" else stale_inputs(e, rank)


def onto_poison(e: Evidence, rank: int) -> str | None:
    """The output, or memory that nobody wrote, taken for zeros and added to."""
    places, got, wanted = e.wrong[rank], e.got(rank), e.wanted(rank)
    if e.call.op is None or e.probe == "special":
        return None
    said = f"{e.where(places)}: uninitialised memory, such as what the output held before, was read"
    if kind(got.dtype) in "fc":
        return f"{said}: NaN, which no input holds" if (got != got)[places].all() else None
    if got.dtype.kind == "b":
        return None
    held = poison(got.dtype).view(got.dtype)
    return f"{said} and added to" if e.equal(rank, wanted + held) else None


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


LEFTOVERS: Sequence[Callable[[Evidence, int], str | None]] = (
    only_own, unwritten, zeros, stale, not_cleared, nccl_place, onto_poison, surely_stale_inputs,
)  # fmt: skip
