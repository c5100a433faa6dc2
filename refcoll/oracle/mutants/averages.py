"""Mutants that make the mean wrongly, or of what should be a sum."""

from __future__ import annotations

import numpy as np

from refcoll.operators import Array, kind
from refcoll.oracle.mutants.mutant import Faulty, ShowsAt, mutants


class AverageByCount(Faulty):
    """The mean divides by the number of elements (meta-pytorch/torchcomms#287)."""

    shows_at = ShowsAt("all_reduce", operators=("avg",), counts="not N")
    says = "number of elements"

    def finish(self, op: str, values: Array) -> None:
        if op == "avg" and self._count:
            values /= self._count

    def load(self, x: Array, out: Array | None) -> Array:
        self._count = x.size
        return super().load(x, out)


class AverageTwice(Faulty):
    """The inputs are divided by N, and the sum again."""

    shows_at, says = ShowsAt("all_reduce", operators=("avg",)), "divided by N twice"

    def all_reduce(self, x: Array, out: Array, op: str) -> None:
        scaled = (x / self.size).astype(x.dtype) if op == "avg" else x
        super().all_reduce(scaled, out, op)


class AverageNever(Faulty):
    """The mean is the sum."""

    shows_at, says = ShowsAt("reduce_scatter", operators=("avg",)), "sum, not the mean"

    def finish(self, op: str, values: Array) -> None:
        return


class AverageForSum(Faulty):
    """The sum is divided by N."""

    shows_at, says = ShowsAt("all_reduce", operators=("sum",)), "mean, not the sum"

    def finish(self, op: str, values: Array) -> None:
        super().finish("avg" if kind(values.dtype) in "fc" else op, values)


class AverageTruncates(Faulty):
    """The mean is made in whole numbers."""

    shows_at, says = ShowsAt("all_reduce", operators=("avg",)), "whole number"

    def finish(self, op: str, values: Array) -> None:
        super().finish(op, values)
        if op == "avg":
            np.trunc(values, out=values)


class AveragePerLevel(Faulty):
    """Averages within pairs, and divides by N between them."""

    shows_at, says = ShowsAt("all_reduce", operators=("avg",)), "divided by"

    def all_reduce(self, x: Array, out: Array, op: str) -> None:
        level = 2 if op == "avg" and self.size > 2 else 1
        super().all_reduce((x / level).astype(x.dtype), out, op)


MUTANTS = mutants(
    "operators", AverageByCount, AverageTwice, AverageNever, AverageForSum, AverageTruncates,
    AveragePerLevel,
)  # fmt: skip
