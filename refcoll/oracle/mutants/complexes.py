"""Mutants that are right for real numbers, and not for complex ones."""

from __future__ import annotations

import numpy as np

from refcoll.operators import Array, operator
from refcoll.oracle.mutants.mutant import Faulty, ShowsAt, mutants


class Complex64ForComplex128(Faulty):
    """complex128 is summed in complex64."""

    shows_at = ShowsAt("all_reduce", dtypes=("complex128",), operators=("sum",))
    says = "accumulated in complex64, not complex128"

    def merge(self, op: str, left: Array, right: Array) -> None:
        work = left.astype(np.complex64)
        operator(op).merge(work, right.astype(np.complex64), work)
        left[:] = work


class ComplexProductNarrow(Complex64ForComplex128):
    """complex128 is multiplied in complex64."""

    shows_at = ShowsAt("reduce", dtypes=("complex128",), operators=("prod",))


class ComplexByBfloat16(Faulty):
    """The parts of complex64 travel as bfloat16."""

    shows_at = ShowsAt("reduce_scatter", dtypes=("complex64",), operators=("sum", "avg"))
    says = "accumulated in bfloat16, not complex64"

    def merge(self, op: str, left: Array, right: Array) -> None:
        import ml_dtypes

        super().merge(op, left, right)
        parts = left.view(left.real.dtype)
        parts[:] = parts.astype(ml_dtypes.bfloat16).astype(parts.dtype)


class ComplexFlushesToZero(Faulty):
    """Adding flushes subnormal parts to zero."""

    shows_at = ShowsAt("scan", dtypes=("complex64",), operators=("sum",))
    says = "subnormal, and flushed to zero"

    def merge(self, op: str, left: Array, right: Array) -> None:
        super().merge(op, left, right)
        parts = left.view(left.real.dtype)
        with np.errstate(all="ignore"):
            parts[np.abs(parts) < np.finfo(parts.dtype).tiny] = 0


class ComplexInfinityClamped(Faulty):
    """Parts that overflow become the largest number."""

    shows_at = ShowsAt("exscan", dtypes=("complex64",), operators=("sum",))
    says = "infinite, but came out"

    def merge(self, op: str, left: Array, right: Array) -> None:
        super().merge(op, left, right)
        parts = left.view(left.real.dtype)
        most = np.finfo(parts.dtype).max
        np.clip(parts, -most, most, out=parts)


class OneRankConjugates(Faulty):
    """One rank's library stores complex numbers with the other sign of the imaginary part."""

    shows_at = ShowsAt("all_reduce", dtypes=("complex64", "complex128"), operators=("sum",))
    says = "what rank 2 puts in is conjugated"

    def load(self, x: Array, out: Array | None) -> Array:
        return np.conj(x) if self.rank == 2 else x.copy()


MUTANTS = mutants(
    "complex numbers", Complex64ForComplex128, ComplexProductNarrow, ComplexByBfloat16,
    ComplexFlushesToZero, ComplexInfinityClamped, OneRankConjugates,
)  # fmt: skip
