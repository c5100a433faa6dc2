"""What a result is held to: equal values, equal bits, or within a bound of what is exact."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from refcoll.operators import Array, kind
from refcoll.oracle import bounds
from refcoll.oracle.doubled import Doubled, distance
from refcoll.oracle.floats import complexes
from refcoll.oracle.merging import is_nan

Check: TypeAlias = Callable[[Array], Array]
"""check(got): which elements are wrong."""


@dataclass(frozen=True)
class Truth:
    """What one rank should get, and how far from it is right."""

    wanted: Array
    """In the call's dtype, rounded if need be."""
    check: Check
    nan_rules: Mapping[str, Check] = field(default_factory=dict)
    """By name, where any of several rules for NaN is right, but only one at a time."""


def same_bits(wanted: Array) -> Truth:
    """Of what is only moved."""
    return Truth(wanted, lambda got: _other_bits(got, wanted))


def _other_bits(got: Array, wanted: Array) -> Array:
    """Elements of which any byte differs."""
    width = wanted.dtype.itemsize
    one, other = (np.ascontiguousarray(x).view(np.uint8).reshape(-1, width) for x in (got, wanted))
    differs: Array = (one != other).any(axis=1)
    return differs


def exactly(wanted: Array) -> Truth:
    """Equal, zeros of either sign; NaN equals NaN; of complex numbers both parts."""
    if wanted.dtype.kind == "c":
        return _in_parts(exactly(wanted.real), exactly(wanted.imag), wanted.dtype)
    if wanted.dtype.kind == "b":
        return same_bits(wanted)  # a bool is a byte, and that of True is 1

    def check(got: Array) -> Array:
        with np.errstate(invalid="ignore"):
            differs: Array = (got != wanted) & ~(is_nan(got) & is_nan(wanted))
            return differs

    return Truth(wanted, check)


def bounded(op: str, parts: Array) -> Truth:
    """A sum, average or product of finite floats, a row a rank, merged in any order."""
    if kind(parts.dtype) != "c":
        found = {"sum": bounds.of_sum, "avg": bounds.of_average, "prod": bounds.of_product}[op]
        return _near(*found(parts), parts.dtype)
    if op == "prod":
        return _near_in_the_plane(*bounds.of_complex_product(parts), parts.dtype)
    return _in_parts(bounded(op, parts.real), bounded(op, parts.imag), parts.dtype)


def _near(exact: Doubled, bound: Array, dtype: np.dtype[Any]) -> Truth:
    def check(got: Array) -> Array:
        with np.errstate(all="ignore"):
            beyond: Array = ~(distance(got, exact) <= bound)
            return beyond

    with np.errstate(over="ignore"):
        return Truth(exact[0].astype(dtype), check)


def _near_in_the_plane(
    real: Doubled, imaginary: Doubled, bound: Array, dtype: np.dtype[Any]
) -> Truth:
    def check(got: Array) -> Array:
        with np.errstate(all="ignore"):
            off = np.hypot(distance(got.real, real), distance(got.imag, imaginary))
            beyond: Array = ~(off <= bound)
            return beyond

    return Truth(complexes(real[0], imaginary[0], dtype), check)


def _in_parts(real: Truth, imaginary: Truth, dtype: np.dtype[Any]) -> Truth:
    wanted = complexes(real.wanted, imaginary.wanted, dtype)
    return Truth(wanted, lambda got: np.asarray(real.check(got.real) | imaginary.check(got.imag)))
