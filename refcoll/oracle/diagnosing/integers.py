"""Hypotheses about integers that are right in some of their digits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from refcoll.operators import Array, kind
from refcoll.oracle.diagnosing.evidence import Evidence
from refcoll.oracle.merging import merged

_CERTAIN = 16
"""So many bits that are right in wrong elements, all together, are no chance."""


def through_floats(e: Evidence, rank: int) -> str | None:
    """Integers that a float's digits do not hold: what it loses are the low ones."""
    places, got, wanted = e.wrong[rank], e.got(rank), e.wanted(rank)
    if kind(got.dtype) != "i" or _low_bits_right(e, rank):
        return None
    off = np.abs([float(each) for each in _wrapped(got[places], wanted[places])])
    at_end = np.isin(got[places], [np.iinfo(got.dtype).min, np.iinfo(got.dtype).max, 0])
    size = _magnitudes(e, rank)
    if not (at_end.any() or e.few(rank) or np.ptp(off)):
        return None  # always the same is no rounding
    for name, digits in (("float64", 53), ("float32", 24), ("float16", 11)):
        within = at_end | (off <= 2 * e.size * size / 2**digits)
        # Rounded in that dtype most would be off by more than a little.
        much = at_end | (off >= size / 2**digits / 16)
        if e.few(rank) and not _held(name, wanted[e.right(rank)]):
            continue  # right ones have more digits than that
        if within.all() and much.mean() > 0.5 and (size > 2**digits).all():
            return f"{e.where(places)}: integers passed through {name}, which has {digits} digits"
    return None


def _magnitudes(e: Evidence, rank: int) -> Array:
    """Of the numbers that were rounded, in wrong elements; of sums those before they cancel."""
    places = e.wrong[rank]
    if e.call.op != "sum":
        return np.asarray(np.abs(e.wanted(rank)[places].astype(np.float64)))
    return np.asarray(np.abs(e.parts(rank)[:, places].astype(np.float64)).sum(axis=0))


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


def low_bits_right(e: Evidence, rank: int) -> str | None:
    """Sums made in parts, such as two halves: what one hands to the next is lost."""
    places, low = e.wrong[rank], _low_bits_right(e, rank)
    if e.call.op != "sum" or not low:
        return None
    carries = [-each >> low for each in _wrapped(e.got(rank)[places], e.wanted(rank)[places])]
    said = f"{e.where(places)}: off by multiples of 2^{low}: the low {low} bits are right"
    if all(0 < carry < e.size for carry in carries):
        return f"{said}, and what they carry is lost, up to {max(carries)}"
    return f"{said}, the higher ones are not"


def _low_bits_right(e: Evidence, rank: int) -> int:
    """How many are right in all wrong elements, in whole bytes; 0 where that is chance."""
    places, got = e.wrong[rank], e.got(rank)
    if kind(got.dtype) != "i":
        return 0
    off = _wrapped(got[places], e.wanted(rank)[places])
    low = min((each & -each).bit_length() - 1 for each in off) // 8 * 8
    return low if low * len(places) >= _CERTAIN else 0


def _wrapped(got: Array, wanted: Array) -> list[int]:
    """The differences, as signed numbers of that width; none is 0."""
    width = 8 * got.dtype.itemsize
    off = [int(one) - int(other) for one, other in zip(got, wanted, strict=True)]
    return [(each + (1 << width - 1)) % (1 << width) - (1 << width - 1) for each in off]


INTEGERS: Sequence[Callable[[Evidence, int], str | None]] = (through_floats, narrowed)
"""Asked at once; whether low bits are right is asked when no rank is missing or doubled."""
