"""Mutants that are off by as little as can be, or lose what is small, or a carry."""

from __future__ import annotations

import numpy as np

from refcoll.operators import Array, kind
from refcoll.oracle.mutants.mutant import Faulty, ShowsAt, mutants


class ScaledThereAndBack(Faulty):
    """Values are scaled before they travel, and back: 1/3 times 3 rounds twice."""

    shows_at = ShowsAt("all_reduce", dtypes=("float32",), operators=("sum",))
    says = "one unit in the last place"

    def finish(self, op: str, values: Array) -> None:
        values /= 3
        values *= 3
        super().finish(op, values)


class RoundsTowardsZero(Faulty):
    """Sums are cut, not rounded."""

    shows_at = ShowsAt("reduce", size=2, dtypes=("float32",), operators=("sum",))
    says = "one unit in the last place"

    def merge(self, op: str, left: Array, right: Array) -> None:
        with np.errstate(all="ignore"):
            exact = left.astype(np.float64) + right
            left[:] = exact
            beyond = np.abs(left) > np.abs(exact)
            left[beyond] = np.nextafter(left, left.dtype.type(0))[beyond]


class Bfloat16Cut(Faulty):
    """Sums are made in float32, and their lower half is dropped: cut, not rounded."""

    shows_at = ShowsAt("all_reduce", dtypes=("bfloat16",), operators=("sum",))
    says = "too near to zero: cut, not rounded"

    def merge(self, op: str, left: Array, right: Array) -> None:
        with np.errstate(all="ignore"):
            wide = left.astype(np.float32) + right.astype(np.float32)
        left.view(np.uint16)[:] = wide.view(np.uint32) >> 16


class LastBitByLane(Faulty):
    """Every eighth element comes out one place too high."""

    shows_at = ShowsAt("scan", dtypes=("float64",), operators=("sum",))
    says = "one unit in the last place, too high"

    def store(self, values: Array, out: Array) -> None:
        super().store(values, out)
        out[::8] = np.nextafter(out[::8], np.inf)


class NegativesCarry(Faulty):
    """The sum of two negative integers is one too high: the carry out of the sign is added, as
    checksums do."""

    shows_at = ShowsAt("all_reduce", dtypes=("int32", "int64"), operators=("sum",))
    says = "too high by 1 to 3, only where two inputs or more are negative"

    def merge(self, op: str, left: Array, right: Array) -> None:
        both = (left < 0) & (right < 0)
        super().merge(op, left, right)
        if kind(left.dtype) == "i":
            left[both] += 1


class CarryLost(Faulty):
    """Integers of 64 bits are added as two halves, and the carry between them is lost."""

    shows_at = ShowsAt("all_reduce", dtypes=("int64", "uint64"), operators=("sum",))
    says = "the low 32 bits are right, and what they carry is lost"

    def merge(self, op: str, left: Array, right: Array) -> None:
        halves = left.view(np.uint32)
        halves += np.ascontiguousarray(right).view(np.uint32)


class SmallLeftOut(Faulty):
    """What is less than a hundredth of the largest is not sent, as by sparse all-reduces."""

    shows_at = ShowsAt("all_reduce", dtypes=("float32",), operators=("sum",))
    says = "small contributions are left out"

    def load(self, x: Array, out: Array | None) -> Array:
        size = np.abs(x)
        return np.where(size < size.max(initial=0) / 100, np.zeros_like(x), x)


MUTANTS = mutants(
    "rounding", ScaledThereAndBack, RoundsTowardsZero, Bfloat16Cut, LastBitByLane, NegativesCarry,
    CarryLost, SmallLeftOut,
)  # fmt: skip
