"""Hypotheses about where in memory elements were taken from: strides and addresses."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from refcoll.operators import Array
from refcoll.oracle.calls import MISALIGNED, STRIDED
from refcoll.oracle.diagnosing.evidence import Evidence
from refcoll.oracle.guarded import gap
from refcoll.oracle.truth import truth


def strides_ignored(e: Evidence, rank: int) -> str | None:
    """Inputs read as if their elements lay side by side."""
    if e.call.layout != STRIDED:
        return None
    right = truth(e.probe, e.call, [_side_by_side(x) for x in e.inputs], rank)
    if right is None or not e.equal(rank, right.wanted):
        return None
    return f"{e.where(e.wrong[rank])}: gaps of a strided view were taken for its elements"


def _side_by_side(x: Array) -> Array:
    """What lies from the address of a strided input on."""
    read = np.resize(gap(x.dtype).view(x.dtype), x.size)
    read[::2] = x[: -(-x.size // 2)]
    return read


def bytes_shifted(e: Evidence, rank: int) -> str | None:
    """All of it a few bytes off, as when an address is rounded to a multiple of the width."""
    got, wanted = e.got(rank).tobytes(), e.wanted(rank).tobytes()
    if e.call.layout != MISALIGNED or len(got) < 2 * e.got(rank).itemsize:
        return None
    for by in range(1, e.got(rank).itemsize):
        said = f"{by} byte{'s' if by > 1 else ''}"
        if got[:-by] == wanted[by:]:
            return f"right, but {said} too early: was the address rounded down?"
        if got[by:] == wanted[:-by]:
            return f"right, but {said} too late: was the address rounded up?"
    return None


VIEWS: Sequence[Callable[[Evidence, int], str | None]] = (strides_ignored, bytes_shifted)
