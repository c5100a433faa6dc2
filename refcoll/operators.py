"""Operators: what merging two values means, for which dtypes, and for special values.

    operator                   bool  integer  float  complex
    sum, prod                   -      yes     yes     yes     integers wrap modulo 2^bits
    min, max                   yes     yes     yes      -
    avg                         -       -      yes     yes     the sum, divided once by N
    bitwise_and, _or, _xor     yes     yes      -       -
    logical_and, _or, _xor     yes     yes      -       -      integers give 0 or 1

float is float16, float32, float64, longdouble, and bfloat16 or float8 by ml_dtypes.

    special values, alike on every rank
    sum, prod     IEEE 754: NaN propagates; inf - inf and 0 * inf are NaN; overflow is inf
    min, max      IEEE 754-2019 minimum and maximum: NaN propagates; -0.0 < +0.0
    avg           the sum may overflow though the mean would not: accumulate wider to avoid it
    NaNs          compare equal to each other: which NaN it is (its payload) is not specified
    float8        what a type lacks (infinities, -0.0) becomes what ml_dtypes makes of it

Bits never depend on timing, but on the algorithm: every rank evaluates the algorithm's own
expression tree.  With ``accumulate`` a vector is converted first, travels, is merged (and
divided) in that dtype, and is converted back once at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from refcoll.errors import ArgumentError, flag

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]
Merge: TypeAlias = Callable[[Array, Array, Array], object]
"""merge(left, right, out): out, which may be left or right, becomes left op right."""


@dataclass(frozen=True, eq=False)
class Operator:
    """A merge of two arrays of one dtype, associative up to rounding."""

    name: str
    merge: Merge
    kinds: str = "bifc"
    """The dtype kinds it is defined for: of b(ool), i(nteger), f(loat), c(omplex)."""
    commutative: bool = True
    last: Callable[[Array, int], object] | None = None
    """last(values, size): what is done to the merge of ``size`` ranks' values, in place."""
    ufunc: np.ufunc | None = None
    """numpy's function that ``merge`` is, but for warnings, which the caller must silence."""

    def finish(self, values: Array, size: int) -> None:
        """Turn the merge of ``size`` ranks' values into the result, in place."""
        if self.last is not None:
            self.last(values, size)

    def require(self, dtype: np.dtype[Any]) -> None:
        """Raise ArgumentError where the operator is not defined for ``dtype``."""
        if kind(dtype) not in self.kinds:
            defined = ", ".join(_KINDS[each] for each in self.kinds)
            raise ArgumentError(
                f"op={self.name!r} is not defined for dtype={dtype.name}, only for {defined}"
            )


_KINDS = {"b": "bool", "i": "integers", "f": "floats", "c": "complex numbers"}


def kind(dtype: np.dtype[Any]) -> str:
    """b, i, f or c.  Raises ArgumentError for anything that is not a number or bool."""
    known = {"b": "b", "i": "i", "u": "i", "f": "f", "c": "c"}.get(dtype.kind)
    if known is None and is_extension_float(dtype):
        known = "f"
    if known is None:
        raise ArgumentError(
            f"dtype={dtype} is not numeric: use bool, an integer, float or complex dtype, "
            "or an ml_dtypes float such as bfloat16"
        )
    return known


def is_extension_float(dtype: np.dtype[Any]) -> bool:
    """Whether it is bfloat16 or one of ml_dtypes' float8 types, all of which have NaN."""
    ours = dtype.type.__module__.startswith("ml_dtypes")
    return ours and dtype.name.startswith(("bfloat16", "float8"))


def _ufunc(ufunc: np.ufunc) -> Merge:
    def merge(left: Array, right: Array, out: Array) -> object:
        return ufunc(left, right, out=out)

    return merge


def _quiet(ufunc: np.ufunc) -> Merge:
    """NaN, overflow and wrap-around are results here, not accidents to warn of."""

    def merge(left: Array, right: Array, out: Array) -> object:
        with np.errstate(all="ignore"):
            return ufunc(left, right, out=out)

    return merge


def _extremum(ufunc: np.ufunc, zero: Callable[[Array, Array], Array]) -> Merge:
    """numpy's minimum or maximum, which leaves the sign of zero open, with that settled."""

    def merge(left: Array, right: Array, out: Array) -> object:
        if kind(out.dtype) != "f":
            return ufunc(left, right, out=out)
        with np.errstate(all="ignore"):
            zeros = (left == 0) & (right == 0)
            settled = zero(left[zeros], right[zeros]) if zeros.any() else None
            ufunc(left, right, out=out)
        if settled is not None:
            out[zeros] = settled
        return out

    return merge


def _product(left: Array, right: Array, out: Array) -> object:
    """The product; of complex numbers from separately rounded parts.

    numpy's own complex product may fuse a multiplication and an addition in one place of an
    array and not in another, so that bits would depend on where an element lies.
    """
    with np.errstate(all="ignore"):
        if kind(out.dtype) != "c":
            return np.multiply(left, right, out=out)
        real = left.real * right.real - left.imag * right.imag
        imag = left.real * right.imag + left.imag * right.real
        out.real, out.imag = real, imag
        return out


def _divide(values: Array, size: int) -> None:
    """Each element, or each part of a complex one, divided and rounded once.

    float32 has more than twice the digits of narrower floats, so that dividing there and
    rounding again gives what dividing exactly would; and it can hold the number of ranks.
    """
    parts = (values.real, values.imag) if kind(values.dtype) == "c" else (values,)
    for part in parts:
        wide = part.astype(np.float32) if part.dtype.itemsize < 4 else part
        with np.errstate(all="ignore"):
            part[...] = (wide / wide.dtype.type(size)).astype(part.dtype)


def _truth(values: Array, size: int) -> None:
    """0 or 1, also where there was but one rank and nothing to merge."""
    np.not_equal(values, 0, out=values, casting="unsafe")


def _least_zero(left: Array, right: Array) -> Array:
    """-0.0 if either is: the sum of two zeros is -0.0 only where both are."""
    least: Array = -((-left) + (-right))
    return least


def _greatest_zero(left: Array, right: Array) -> Array:
    """+0.0 if either is."""
    greatest: Array = left + right
    return greatest


_BUILT_IN = (
    Operator("sum", _quiet(np.add), "ifc", ufunc=np.add),
    Operator("prod", _product, "ifc"),
    Operator("min", _extremum(np.minimum, _least_zero), "bif"),
    Operator("max", _extremum(np.maximum, _greatest_zero), "bif"),
    Operator("avg", _quiet(np.add), "fc", last=_divide, ufunc=np.add),
    Operator("bitwise_and", _ufunc(np.bitwise_and), "bi"),
    Operator("bitwise_or", _ufunc(np.bitwise_or), "bi"),
    Operator("bitwise_xor", _ufunc(np.bitwise_xor), "bi"),
    Operator("logical_and", _ufunc(np.logical_and), "bi", last=_truth),
    Operator("logical_or", _ufunc(np.logical_or), "bi", last=_truth),
    Operator("logical_xor", _ufunc(np.logical_xor), "bi", last=_truth),
)
OPERATORS: Mapping[str, Operator] = {operator.name: operator for operator in _BUILT_IN}


def operator(op: str | Operator) -> Operator:
    """The operator of that name, or the one given.  Raises ArgumentError for others."""
    if isinstance(op, Operator):
        return op
    if not isinstance(op, str) or op not in OPERATORS:
        raise ArgumentError(
            f"op={op!r:.80} is not an operator; use one of {', '.join(OPERATORS)}, "
            "or refcoll.user_operator(...)"
        )
    return OPERATORS[op]


def is_builtin(op: Operator) -> bool:
    """Whether it is one of those that have names of their own, not a user's."""
    return OPERATORS.get(op.name) is op


def user_operator(
    function: Callable[[Array, Array], Array], name: str, *, commutative: bool = False
) -> Operator:
    """An operator from ``function(left, right)``, elementwise on arrays, associative.

    The function must return an array of its arguments' shape and dtype, and leave them as
    they are; else the merge raises ArgumentError.  Unless the operator is said to commute,
    only algorithms that keep rank order accept it.
    """

    if not callable(function):
        raise ArgumentError(f"function={function!r:.80} must be a function of two arrays")
    if not isinstance(name, str) or not name:
        raise ArgumentError(f"name={name!r:.80} must be a string, by which messages call it")
    commutative = flag(commutative, "commutative")

    def merge(left: Array, right: Array, out: Array) -> object:
        merged = function(left, right)
        if getattr(merged, "shape", None) != out.shape or merged.dtype != out.dtype:
            raise ArgumentError(
                f"op={name!r} must return an array of shape {out.shape} and dtype "
                f"{out.dtype.name}, but returned {merged!r:.80}"
            )
        out[...] = merged
        return out

    return Operator(name, merge, commutative=commutative)
