"""Hypotheses about digits that are lost: below the normal range or behind the point."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from refcoll.operators import kind
from refcoll.oracle.diagnosing.evidence import Evidence
from refcoll.oracle.doubled import total
from refcoll.oracle.floats import real_parts


def flushed(e: Evidence, rank: int) -> str | None:
    """Subnormals taken for zero."""
    places = e.wrong[rank]
    got, wanted = (real_parts(x[places]) for x in (e.got(rank), e.wanted(rank)))
    if e.probe != "tiny" or (got[got != wanted] != 0).any():
        return None
    if e.few(rank) and (e.got(rank)[e.right(rank)] != 0).sum() >= len(places):
        return None  # as subnormal, and not flushed
    return f"{e.where(places)}: subnormal, and flushed to zero"


def whole_numbers(e: Evidence, rank: int) -> str | None:
    """A mean whose fraction is cut off."""
    places, got, wanted = e.wrong[rank], e.got(rank), e.wanted(rank)
    if e.call.op != "avg" or kind(got.dtype) != "f":
        return None
    parts = e.parts(rank)[:, places]
    exact = total(parts)[0] / len(parts)
    if np.isfinite(exact).all():
        for cut in (np.trunc, np.floor, np.rint):
            if (got[places] == cut(exact).astype(wanted.dtype)).all():
                return f"{e.where(places)}: the mean cut to a whole number"
    return None


def divided_often(e: Evidence, rank: int) -> str | None:
    """A mean of integers that is off by as much as several divisions cut off."""
    places, got, wanted = e.wrong[rank], e.got(rank), e.wanted(rank)
    if e.call.op != "avg" or kind(got.dtype) != "i":
        return None
    off = np.abs(got[places].astype(np.float64) - wanted[places].astype(np.float64))
    if off.max() > e.size.bit_length():
        return None
    return (
        f"{e.where(places)}: off by {int(off.max())}: whole numbers divided and cut at several "
        "levels, not once after the sum"
    )


LOSSES: Sequence[Callable[[Evidence, int], str | None]] = (
    flushed, whole_numbers, divided_often,
)  # fmt: skip
"""Asked at once."""
