"""Hypotheses about digits that are lost: below the normal range, behind the point, on the way."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from refcoll.operators import Array, kind
from refcoll.oracle.diagnosing.evidence import Evidence
from refcoll.oracle.doubled import total
from refcoll.oracle.floats import real_parts
from refcoll.oracle.merging import merged


def flushed(e: Evidence, rank: int) -> str | None:
    """Subnormals taken for zero."""
    places = e.wrong[rank]
    got, wanted = (real_parts(x[places]) for x in (e.got(rank), e.wanted(rank)))
    if e.probe != "tiny" or (got[got != wanted] != 0).any():
        return None
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


def through_floats(e: Evidence, rank: int) -> str | None:
    """Integers that a float's digits do not hold."""
    places, got, wanted = e.wrong[rank], e.got(rank), e.wanted(rank)
    if kind(got.dtype) != "i":
        return None
    one, other = got[places].astype(object), wanted[places].astype(object)
    at_end = np.isin(one, [np.iinfo(got.dtype).min, np.iinfo(got.dtype).max, 0])
    off = np.array([float(abs(g - w)) for g, w in zip(one, other, strict=True)])
    size = np.array([float(abs(w)) for w in other])
    for name, digits in (("float64", 53), ("float32", 24), ("float16", 11)):
        within = at_end | (off <= 2 * e.size * size / 2**digits)
        # Rounded in that dtype most would be off by more than a little.
        much = at_end | (off >= size / 2**digits / 16)
        if e.few(rank) and not _held(name, wanted[e.right(rank)]):
            continue  # right ones have more digits than that
        if within.all() and much.mean() > 0.5 and (size > 2**digits).all():
            return f"{e.where(places)}: integers passed through {name}, which has {digits} digits"
    return None


def _held(name: str, values: Array) -> bool:
    """Whether all of the integers are numbers of the float dtype, or beyond the integers' end."""
    within = values[values < np.iinfo(values.dtype).max]
    with np.errstate(over="ignore"):
        back = within.astype(name)
    return bool(within.tolist() == back.tolist())  # Python compares the two exactly


def narrowed(e: Evidence, rank: int) -> str | None:
    """Integers whose high bits are lost."""
    got = e.got(rank)
    if kind(got.dtype) != "i" or got.dtype.itemsize == 1:
        return None
    for name, other in _narrowed(e, rank):
        if np.array_equal(got, other):
            return f"{e.where(e.wrong[rank])}: passed through {name}: the high bits are lost"
    return None


def _narrowed(e: Evidence, rank: int) -> Iterator[tuple[str, Array]]:
    """By dtype: the right result, and that of the inputs, if they pass through it."""
    dtype, parts = e.got(rank).dtype, e.parts(rank)
    for width in (4, 2, 1):
        for name in (
            f"{signed}{8 * width}" for signed in ("int", "uint") if width < dtype.itemsize
        ):
            yield name, e.wanted(rank).astype(name).astype(dtype)
            if e.call.op not in (None, "avg"):
                yield name, merged(str(e.call.op), parts.astype(name)).astype(dtype)


LOSSES: Sequence[Callable[[Evidence, int], str | None]] = (
    flushed, whole_numbers, divided_often, through_floats, narrowed,
)  # fmt: skip
"""Asked at once."""
