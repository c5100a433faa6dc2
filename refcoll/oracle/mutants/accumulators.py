"""Mutants whose accumulators begin, or end, with the wrong value."""

from __future__ import annotations

import numpy as np

from refcoll.operators import Array
from refcoll.oracle.floats import info
from refcoll.oracle.mutants.mutant import Faulty, ShowsAt, mutants

UNSIGNED = ("uint8", "uint16", "uint32", "uint64")


class LeastPositiveFloat(Faulty):
    """Maxima start at the least positive float, which is what numeric_limits::min() is in C++."""

    shows_at = ShowsAt("all_reduce", dtypes=("float32", "float64"), operators=("max",))
    says = "1.17.*e-38, as if that were one more input"

    def load(self, x: Array, out: Array | None) -> Array:
        least = x.dtype.type(info(x.dtype).smallest_normal)
        return np.asarray(np.maximum(x, least))


class MaximumFromZero(Faulty):
    """Accumulators are cleared to 0, whatever the operator: 0 is the maximum of negative ones."""

    shows_at = ShowsAt("reduce", operators=("max",))
    says = r"\b0(\.0)?, as if that were one more input"

    def load(self, x: Array, out: Array | None) -> Array:
        return np.asarray(np.maximum(x, x.dtype.type(0)))


class _Clamps(Faulty):
    """Merges in Python's integers, and clamps the result to what the dtype holds."""

    def merge(self, op: str, left: Array, right: Array) -> None:
        if left.dtype.kind != "u":
            super().merge(op, left, right)
            return
        wide, other = left.astype(object), right.astype(object)
        merged = wide * other if op == "prod" else wide + other
        left[:] = np.minimum(merged, int(np.iinfo(left.dtype).max)).astype(left.dtype)


class UnsignedSumClamped(_Clamps):
    """Unsigned sums are made in a wider type, and clamped, where they should wrap."""

    shows_at = ShowsAt("scan", dtypes=UNSIGNED, operators=("sum",))
    says = "saturated at the end of the range of uint"


class UnsignedProductClamped(_Clamps):
    """Unsigned products are made in a wider type, and clamped, where they should wrap."""

    shows_at = ShowsAt("all_reduce", dtypes=UNSIGNED, operators=("prod",))
    says = "saturated at the end of the range of uint"


MUTANTS = mutants(
    "accumulators", LeastPositiveFloat, MaximumFromZero, UnsignedSumClamped,
    UnsignedProductClamped,
)  # fmt: skip
