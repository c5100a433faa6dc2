"""Floats by design: special values, cancellation, overflow, payloads of NaNs."""

from __future__ import annotations

from dataclasses import replace
from math import frexp
from typing import Any

import numpy as np

from refcoll.operators import Array
from refcoll.oracle.calls import Call
from refcoll.oracle.probes import inputs
from refcoll.testing.values import dtype_named


def special(call: Call, size: int, seed: int) -> list[Array]:
    """NaN, infinities, inf - inf, and zeros: four kinds of elements for each rank.

    Of the probe's six kinds two say no more: -inf alone, and zeros that are all negative.  In
    a reduce-scatter part r has those elements whose odd value is on rank r.
    """
    scattered = call.collective == "reduce_scatter"
    given = inputs("special", replace(call, count=6 * size), size, seed)
    place = np.arange(given[0].size)
    chosen = np.isin(place % 6, (0, 1, 3, 5))
    if scattered:
        chosen &= place % (6 * size) // 6 == place // (6 * size)
    return [each[chosen] for each in given]


def cancelling(call: Call, size: int, seed: int) -> list[Array] | None:
    """In element i rank i mod N has a large number, and the next rank its opposite."""
    if size < 2:
        return None
    given = inputs("rough", call, size, seed + 1)
    digits = {"float16": 11, "bfloat16": 8, "float32": 24}.get(call.dtype, 53)
    place = np.arange(given[0].size)
    for rank, each in enumerate(given):
        sign = (place % size == rank) * 1.0 - ((place + 1) % size == rank)
        each[:] = (each.astype(np.float64) / 4 + sign * 2.0 ** (digits // 2)).astype(each.dtype)
    return given


def overflowing(call: Call, size: int, seed: int) -> list[Array] | None:
    """Everyone has the largest number, of a sign that depends on the element."""
    if size < 2:
        return None
    return _alike(call, size, float(_info(call.dtype).max))


def nearly_overflowing(call: Call, size: int, seed: int) -> list[Array]:
    """Powers of two of which N are no more than the largest one."""
    largest = frexp(float(_info(call.dtype).max))[1] - 1
    return _alike(call, size, 2.0 ** (largest - (size - 1).bit_length()))


def _alike(call: Call, size: int, value: float) -> list[Array]:
    lengths = [call.input_length(rank, size) for rank in range(size)]
    signs = [np.where(np.arange(length) % 2, -1.0, 1.0) for length in lengths]
    return [(value * each).astype(dtype_named(call.dtype)) for each in signs]


def _info(dtype: str) -> Any:
    import ml_dtypes

    return ml_dtypes.finfo(dtype_named(dtype))  # type: ignore[no-untyped-call]


def payloads(call: Call, size: int) -> list[Array]:
    """NaNs with the rank and the element in the payload, signalling and quiet by turns."""
    wide = call.dtype == "float64"
    exponent, shift = (0x7FF << 52, 51) if wide else (0xFF << 23, 22)
    made = []
    for rank in range(size):
        place = np.arange(call.input_length(rank, size))
        raw = exponent + (place % 2 << shift) + rank * 256 + place + 1
        made.append(raw.astype("u8" if wide else "u4").view(call.dtype))
    return made
