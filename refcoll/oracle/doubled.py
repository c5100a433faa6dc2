"""Sums and products to twice the digits of float64, for all columns of an array at once.

A number is an unevaluated sum of two, high + low.  Error-free transformations (two_sum is
Knuth's, two_product Dekker's) make of each operation its rounded result and the exact error.
Sums: Ogita, Rump and Oishi, "Accurate sum and dot product" (2005): after n summands the result,
rounded to float64, is within u |s| + (n u)^2 sum |x|.  Products: Joldes, Muller and Popescu,
"Tight and rigorous error bounds for basic building blocks of double-word arithmetic" (2017): a
relative error of 2 u^2 each.  Where anything overflows the result is not finite.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from refcoll.operators import Array

Doubled: TypeAlias = tuple[Array, Array]
"""high and low: float64, and |low| is at most half of the last place of high."""
_SPLITTER = 2.0**27 + 1


def total(rows: Array) -> Doubled:
    """The sum of each column."""
    high, low = np.zeros(rows.shape[1]), np.zeros(rows.shape[1])
    for row in rows.astype(np.float64):
        high, error = _two_sum(high, row)
        low = low + error
    return _two_sum(high, low)


def product(rows: Array) -> Doubled:
    """The product of each column."""
    found: Doubled = (np.ones(rows.shape[1]), np.zeros(rows.shape[1]))
    for row in rows.astype(np.float64):
        found = _times(found, row)
    return found


def complex_product(rows: Array) -> tuple[Doubled, Doubled]:
    """The real and the imaginary part of the product of each column."""
    count = rows.shape[1]
    real, imaginary = (np.ones(count), np.zeros(count)), (np.zeros(count), np.zeros(count))
    for row in rows.astype(np.complex128):
        real, imaginary = (
            _plus(_times(real, row.real), _times(imaginary, -row.imag)),
            _plus(_times(real, row.imag), _times(imaginary, row.real)),
        )
    return real, imaginary


def divided(x: Doubled, by: int) -> Doubled:
    """x / by."""
    high = x[0] / by
    back, error = _two_product(high, np.asarray(float(by)))
    return _two_sum(high, ((x[0] - back) - error + x[1]) / by)


def distance(x: Array, exact: Doubled) -> Array:
    """|x - exact|."""
    return np.asarray(np.abs((x.astype(np.float64) - exact[0]) - exact[1]))


def _times(x: Doubled, y: Array) -> Doubled:
    high, error = _two_product(x[0], y)
    return _two_sum(high, x[1] * y + error)


def _plus(x: Doubled, y: Doubled) -> Doubled:
    high, error = _two_sum(x[0], y[0])
    low, rest = _two_sum(x[1], y[1])
    high, error = _two_sum(high, error + low)
    return _two_sum(high, error + rest)


def _two_sum(x: Array, y: Array) -> Doubled:
    high = x + y
    added = high - x
    return high, (x - (high - added)) + (y - added)


def _two_product(x: Array, y: Array) -> Doubled:
    high = x * y
    (one, rest), (other, left) = _split(x), _split(y)
    return high, ((one * other - high) + one * left + rest * other) + rest * left


def _split(x: Array) -> Doubled:
    """Halves of 26 digits, whose products are exact."""
    large = _SPLITTER * x
    first: Array = large - (large - x)
    return first, x - first
