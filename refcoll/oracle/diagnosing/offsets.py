"""Hypotheses about results that are a little too high or too low, and where they are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from refcoll.operators import Array, kind
from refcoll.oracle.diagnosing.evidence import Evidence

_CHANCE = 1e-3
"""That all wrong elements have something in common by chance may be no more likely."""


def small_offset(e: Evidence, rank: int) -> str | None:
    """Whole numbers of which each merge may have added, or taken away, one."""
    places = e.wrong[rank]
    if e.call.op != "sum" or e.probe not in ("coded", "extremes", "rough"):
        return None
    if kind(e.got(rank).dtype) not in "if":
        return None
    off = _differences(e.got(rank)[places], e.wanted(rank)[places])
    near = 0.01 if e.probe == "rough" and 0.02 ** len(places) < _CHANCE else 0
    if not (np.abs(off - np.rint(off)) <= near).all():
        return None
    off = np.rint(off)
    if not ((off != 0) & (np.abs(off) < e.size)).all() or np.ptp(np.sign(off)):
        return None
    least, most = int(np.abs(off).min()), int(np.abs(off).max())
    much = str(least) if least == most else f"{least} to {most}"
    way = "high" if off[0] > 0 else "low"
    return f"{e.where(places)}: too {way} by {much}{_only_where(e, rank)}"


def _differences(one: Array, other: Array) -> Array:
    if one.dtype.kind in "iu":
        return np.array([float(int(a) - int(b)) for a, b in zip(one, other, strict=True)])
    return one.astype(np.float64) - other.astype(np.float64)


def _only_where(e: Evidence, rank: int) -> str:
    """What the wrong elements have in common, if that is not by chance."""
    places = e.wrong[rank]
    for said, where in _conditions(e.parts(rank)):
        if where[places].all() and where.mean() ** len(places) < _CHANCE:
            return f", only where {said}"
    return ""


def _conditions(parts: Array) -> Iterator[tuple[str, Array]]:
    """The narrower ones first."""
    negative, positive = (parts < 0).sum(axis=0), (parts > 0).sum(axis=0)
    yield "all inputs are negative", negative == len(parts)
    yield "all inputs are positive", positive == len(parts)
    yield "two inputs or more are negative", negative >= 2
    yield "two inputs or more are positive", positive >= 2
    yield "inputs have both signs", (negative > 0) & (positive > 0)
    yield "an input is negative", negative > 0
    yield "an input is zero", (parts == 0).any(axis=0)


OFFSETS: Sequence[Callable[[Evidence, int], str | None]] = (small_offset,)
"""Asked when no rank is missing or doubled: that, too, may be a little."""
