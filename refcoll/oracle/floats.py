"""What is known of a float dtype, ml_dtypes' included."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from refcoll.operators import Array


@lru_cache
def info(dtype: np.dtype[Any]) -> Any:
    """As numpy.finfo."""
    import ml_dtypes

    return ml_dtypes.finfo(dtype)  # type: ignore[no-untyped-call]


def digits(dtype: np.dtype[Any]) -> int:
    """p: whole numbers up to 2^p are exact."""
    return int(info(dtype).nmant) + 1


def unit(dtype: np.dtype[Any]) -> float:
    """u: half of the distance from 1 to the next number."""
    return 2.0 ** -digits(dtype)


def least(dtype: np.dtype[Any]) -> float:
    """The smallest subnormal number."""
    return float(info(dtype).smallest_subnormal)


def complexes(real: Array, imaginary: Array, dtype: np.dtype[Any]) -> Array:
    """Of two parts, without arithmetic: that would mix infinities into NaNs."""
    made = np.empty(real.shape, dtype)
    made.real, made.imag = real, imaginary
    return made


def real_parts(x: Array) -> Array:
    """Of complex numbers the real and the imaginary parts by turns; others as they are."""
    return np.ascontiguousarray(x).view(x.real.dtype) if x.dtype.kind == "c" else x


def ordinals(x: Array) -> Array:
    """Of each float its number in their order: neighbours differ by 1, zeros of both signs not."""
    raw = np.ascontiguousarray(x).view(f"i{x.itemsize}").astype(np.int64)
    magnitude = raw & np.int64(2 ** (8 * x.itemsize - 1) - 1)
    return np.asarray(np.where(raw < 0, -magnitude, magnitude))
