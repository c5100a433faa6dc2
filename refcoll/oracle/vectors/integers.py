"""Integers by design: digits that name ranks, wrap-around, more bits than a double has."""

from __future__ import annotations

import numpy as np

from refcoll.operators import Array
from refcoll.oracle.calls import Call
from refcoll.testing.values import dtype_named


def powers(call: Call, size: int, seed: int) -> list[Array] | None:
    """Rank r puts in 4^r."""
    if 4**size >= 2**24 or call.dtype not in ("float32", "int32", "int64", "float64"):
        return None
    lengths = [call.input_length(rank, size) for rank in range(size)]
    return [np.full(lengths[r], 4**r, dtype_named(call.dtype)) for r in range(size)]


def wrapping(call: Call, size: int, seed: int) -> list[Array] | None:
    """The upper half of the range; signed overflow is an error in C, so nothing is said of it."""
    if not call.dtype.startswith("u") or size < 2:
        return None
    return _integers(call, size, seed, int(np.iinfo(call.dtype).max) // 2 + 1, 1.0)


def long(call: Call, size: int, seed: int) -> list[Array] | None:
    """Odd numbers of 57 bits or so, that sum to less than 2^63."""
    if not call.dtype.endswith("int64"):
        return None
    return [x | 1 for x in _integers(call, size, seed, 2**62 // size, 0.25)]


def _integers(call: Call, size: int, seed: int, least: int, spread: float) -> list[Array]:
    lengths = [call.input_length(rank, size) for rank in range(size)]
    width = int(least * spread)
    make = [np.random.default_rng([seed, rank, least % 2**32]) for rank in range(size)]
    return [
        (least + make[r].integers(0, width, lengths[r], dtype=np.uint64)).astype(call.dtype)
        for r in range(size)
    ]
