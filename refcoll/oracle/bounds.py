"""Exact results of floats that round, and how far any order of merging may be from them.

    sum               |got - exact| <= ((1+u)^(N-1) - 1) sum |x|
    average           |got - exact| <= ((1+u)^(N+1) - 1) sum |x| / N + N s
    product           |got - exact| <= ((1+u)^(N-1) - 1) |exact|
    complex product   |got - exact| <= ((1+v)^(N-1) - 1) |exact|,  v = sqrt(2) 2u / (1 - 2u)

u is half of the distance from 1 to the next number, s the least subnormal number.  An average is
N - 1 additions, a division and the rounding of 1 / N where that is multiplied with; each of N
shares may underflow.  Of complex sums and averages each part is a real one.  Sources: Higham,
Accuracy and Stability of Numerical Algorithms, 2nd ed., section 4.2 and lemma 3.5.
"""

from __future__ import annotations

from math import expm1, log1p, sqrt
from typing import Any

import numpy as np

from refcoll.operators import Array
from refcoll.oracle.doubled import Doubled, complex_product, divided, product, total
from refcoll.oracle.floats import least, unit


def roundings(dtype: np.dtype[Any], times: int) -> float:
    """(1+u)^times - 1, and a little for the rounding of this function and of its use."""
    return _growth(unit(dtype), times)


def _growth(each: float, times: int) -> float:
    return expm1(times * log1p(each)) * (1 + 1e-6)


def of_sum(parts: Array) -> tuple[Doubled, Array]:
    """By column the exact sum, and how far a result may be from it."""
    return total(parts), roundings(parts.dtype, len(parts) - 1) * magnitudes(parts)


def of_average(parts: Array) -> tuple[Doubled, Array]:
    """By column the exact mean, and how far a result may be from it."""
    size = len(parts)
    bound = roundings(parts.dtype, size + 1) * magnitudes(parts) / size
    return divided(total(parts), size), bound + size * least(parts.dtype)


def of_product(parts: Array) -> tuple[Doubled, Array]:
    """By column the exact product, and how far a result may be from it."""
    exact = product(parts)
    return exact, roundings(parts.dtype, len(parts) - 1) * np.abs(exact[0])


def of_complex_product(parts: Array) -> tuple[Doubled, Doubled, Array]:
    """By column the parts of the exact product, and how far, in the plane, a result may be."""
    real, imaginary = complex_product(parts)
    u = unit(parts.real.dtype)
    growth = _growth(sqrt(2) * 2 * u / (1 - 2 * u), len(parts) - 1)
    return real, imaginary, growth * np.hypot(real[0], imaginary[0])


def magnitudes(parts: Array) -> Array:
    """Of each column the sum of absolute values."""
    wide = parts.astype(np.complex128 if parts.dtype.kind == "c" else np.float64)
    return np.asarray(np.abs(wide).sum(axis=0))
