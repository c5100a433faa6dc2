"""What is known of a float dtype, ml_dtypes' included."""

from __future__ import annotations

from typing import Any

import numpy as np

from refcoll.operators import Array


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
