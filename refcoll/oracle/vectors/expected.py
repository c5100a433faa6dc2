"""Right results, exactly, and what any order of adding, multiplying or averaging may give.

    sum       |got - exact| <= ((1+u)^(N-1) - 1) sum |x|
    prod      |got - exact| <= ((1+u)^(N-1) - 1) |exact|
    avg       |got - exact| <= ((1+u)^(N+1) - 1) sum |x| / N + N s

u is half of the distance from 1 to the next number, s the least subnormal one: dividing each
by N may underflow.  See Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed.,
section 4.2.  All of it is rational arithmetic; only what is written down is rounded, bounds
outwards.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf, nextafter, prod
from typing import Any

import numpy as np

from refcoll.operators import Array
from refcoll.testing.values import dtype_named


@dataclass(frozen=True)
class Interval:
    """What is right for one element."""

    exact: Fraction
    bound: Fraction

    def rounded(self, dtype: np.dtype[Any]) -> float:
        """The number of the dtype that is nearest to the exact one, of two the even one."""
        first = float(np.asarray(float(self.exact)).astype(dtype))
        near = [first, _next(first, dtype, -inf), _next(first, dtype, inf)]
        return min(near, key=lambda x: (abs(Fraction(x) - self.exact), _odd(x, dtype)))

    def low(self, dtype: np.dtype[Any]) -> float:
        """The least number of the dtype that is right."""
        return _outermost(self.exact - self.bound, dtype, -inf)

    def high(self, dtype: np.dtype[Any]) -> float:
        """The greatest number of the dtype that is right."""
        return _outermost(self.exact + self.bound, dtype, inf)

    def upper_bound(self) -> float:
        """The bound as a double, not below it."""
        near = float(self.bound)
        return near if Fraction(near) >= self.bound else nextafter(near, inf)


def intervals(op: str, parts: Array, dtype: str) -> list[Interval]:
    """One an element; a row of ``parts`` is a rank's.  Floats only, all of them finite."""
    columns = parts.astype(np.float64).T.tolist()
    unit, least = _unit(dtype_named(dtype))
    return [_INTERVALS[op]([Fraction(x) for x in column], unit, least) for column in columns]


def _unit(dtype: np.dtype[Any]) -> tuple[Fraction, Fraction]:
    """u and s."""
    import ml_dtypes

    info = ml_dtypes.finfo(dtype)  # type: ignore[no-untyped-call]
    return Fraction(float(info.eps)) / 2, Fraction(float(info.smallest_subnormal))


def _growth(unit: Fraction, roundings: int) -> Fraction:
    return (1 + unit) ** roundings - 1


def _magnitude(xs: Sequence[Fraction]) -> Fraction:
    return sum((abs(x) for x in xs), Fraction())


def _sum(xs: Sequence[Fraction], unit: Fraction, least: Fraction) -> Interval:
    return Interval(sum(xs, Fraction()), _growth(unit, len(xs) - 1) * _magnitude(xs))


def _product(xs: Sequence[Fraction], unit: Fraction, least: Fraction) -> Interval:
    exact = prod(xs, start=Fraction(1))
    return Interval(exact, _growth(unit, len(xs) - 1) * abs(exact))


def _average(xs: Sequence[Fraction], unit: Fraction, least: Fraction) -> Interval:
    """N - 1 additions, a division, and the rounding of 1 / N where that is multiplied with."""
    size = len(xs)
    bound = _growth(unit, size + 1) * _magnitude(xs) / size + size * least
    return Interval(sum(xs, Fraction()) / size, bound)


_INTERVALS: dict[str, Callable[[Sequence[Fraction], Fraction, Fraction], Interval]] = {
    "sum": _sum, "prod": _product, "avg": _average,
}  # fmt: skip


def _next(value: float, dtype: np.dtype[Any], towards: float) -> float:
    one, other = (np.asarray(each).astype(dtype) for each in (value, towards))
    return float(np.nextafter(one, other))


def _odd(value: float, dtype: np.dtype[Any]) -> int:
    raw = np.asarray(value).astype(dtype).reshape(1)
    return int(raw.view(f"u{dtype.itemsize}")[0]) % 2


def _outermost(end: Fraction, dtype: np.dtype[Any], outwards: float) -> float:
    """The number of the dtype at the end of an interval, or the first within it."""
    value = float(np.asarray(float(end)).astype(dtype))
    sign = 1 if outwards > 0 else -1
    while sign * (Fraction(value) - end) > 0:
        value = _next(value, dtype, -outwards)
    while sign * (Fraction(_next(value, dtype, outwards)) - end) <= 0:
        value = _next(value, dtype, outwards)
    return value
