"""Whole numbers: small ones, of which every order of merging is exact, and integers at the ends."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from refcoll.operators import Array
from refcoll.oracle.probing.asked import Asked


def coded(asked: Asked) -> Array:
    """So small that no order of merging rounds or overflows; differs by rank and element."""
    op = asked.call.op or ""
    if asked.kind == "b":
        return asked.whole(0, 1).astype(asked.dtype)
    if op == "prod":
        return _factors(asked)
    if op.startswith("bitwise"):
        raw = asked.generator.bytes(asked.length * asked.dtype.itemsize)
        return np.asarray(np.frombuffer(raw, asked.dtype) * asked.whole(0, 1).astype(asked.dtype))
    if op.startswith("logical"):
        truths = np.array([0, 0, 1, 2, 1 << 8 * asked.dtype.itemsize - 2], asked.dtype)
        return np.asarray(truths[asked.whole(0, len(truths) - 1)])
    return _summands(asked)


def _summands(asked: Asked) -> Array:
    """Magnitudes that add up to no more than 2^digits - 1, or 2^digits of a float."""
    most, limit = most_of(asked), 2**asked.digits - 1
    values = asked.few(asked.whole(0 if asked.dtype.kind == "u" else -most, most), limit)
    if asked.kind != "c":
        return values.astype(asked.dtype)
    imaginary = asked.few(asked.whole(-most, most), limit)
    return (values + 1j * imaginary).astype(asked.dtype)


def most_of(asked: Asked) -> int:
    """The largest magnitude of which ``size`` may be added, or averaged, exactly."""
    # float32 might be kept in less: let that show.
    most = 2**20 if asked.kind in "fc" and asked.digits <= 24 else 2**asked.digits
    return int(max(1, min(2**asked.digits // asked.size - 1, most)))


def _factors(asked: Asked) -> Array:
    """Units, but of each element one rank has a whole number of all digits."""
    units = np.array(_UNITS["u" if asked.dtype.kind == "u" else asked.kind])
    signs = units[asked.whole(0, len(units) - 1)].astype(asked.dtype)
    most = 3 if asked.kind == "c" else most_of(replace(asked, size=2))
    large = asked.whole(1, most).astype(asked.dtype)
    alone = asked.place % asked.size == asked.rank
    return np.asarray(signs * np.where(alone, large, np.ones(1, asked.dtype)), asked.dtype)


_UNITS: dict[str, list[complex]] = {"i": [1, -1], "u": [1], "f": [1.0, -1.0], "c": [1, -1, 1j, -1j]}


def extremes(asked: Asked) -> Array:
    """Around the sign bit.  Of a sum one rank has a large value, so that it fits; of every other
    unsigned one, and of products, two, so that it wraps.
    """
    info = np.iinfo(asked.dtype)
    low, high = int(info.min), int(info.max)
    half = high // 2 + 1 if asked.dtype.kind == "u" else 0
    if asked.call.op in ("sum", "prod"):
        return _large(asked, [v for v in (half, high - asked.size, low or half - 1) if v >= low])
    values = np.array([low, 0, 1, half, max(half - 1, 0), high], asked.dtype)
    return np.asarray(values[asked.whole(0, len(values) - 1)])


def _large(asked: Asked, values: list[int]) -> Array:
    """On one rank an element, or two; the others have what changes nothing."""
    holder = asked.place % asked.size
    chosen = np.array(values, asked.dtype)[asked.whole(0, len(values) - 1)]
    wraps = (asked.dtype.kind == "u") & (asked.place // asked.size % 2 == 0)
    here = (holder == asked.rank) | (wraps & ((holder + 1) % asked.size == asked.rank))
    return np.where(here, chosen, asked.dtype.type(asked.call.op == "prod"))
