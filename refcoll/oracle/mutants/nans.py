"""Mutants that treat NaN by two rules, or drop it."""

from __future__ import annotations

import numpy as np

from refcoll.operators import Array
from refcoll.oracle.mutants.mutant import Faulty, ShowsAt, mutants

EXTREMA, FLOATS = ("min", "max"), ("float32", "float64")


class _IgnoresSomewhere(Faulty):
    """Some ranks have a vector unit whose minimum ignores NaN; the others propagate it.

    Each of them has all inputs, and merges what its result is made from itself.
    """

    def ignores(self) -> bool:
        """Whether this rank does."""
        return self.rank % 2 == 1

    def extremum(self, op: str, parts: Array) -> Array:
        """By this rank's rule, over the rows."""
        rules = {"min": (np.minimum, np.fmin), "max": (np.maximum, np.fmax)}[op]
        with np.errstate(all="ignore"):
            return np.asarray(rules[self.ignores()].reduce(parts))

    def everybody(self, x: Array) -> Array:
        """All inputs, a row each."""
        whole = np.empty((self.size, x.size), x.dtype)
        whole[self.rank] = x
        self.share([*whole], self.rank)
        return whole


class NaNByRank(_IgnoresSomewhere):
    """Reduce-scatter: odd ranks ignore a NaN that even ones propagate."""

    shows_at = ShowsAt("reduce_scatter", operators=EXTREMA, dtypes=FLOATS)
    says = "it comes through on ranks 0, 2, it is ignored on ranks 1, 3"

    def reduce_scatter(self, x: Array, out: Array, op: str) -> None:
        mine = self.chunks(x)[self.rank].size
        parts = self.everybody(x)[:, self.rank * mine : (self.rank + 1) * mine]
        self.store(self.extremum(op, parts), out)


class NaNByPrefix(_IgnoresSomewhere):
    """Scan: the last rank ignores a NaN, the others propagate it."""

    shows_at = ShowsAt("scan", operators=EXTREMA, dtypes=FLOATS)
    says = "it comes through on ranks 1-2, it is ignored on rank 3"

    def ignores(self) -> bool:
        return self.rank == self.size - 1

    def scan(self, x: Array, out: Array, op: str) -> None:
        self.store(self.extremum(op, self.everybody(x)[: self.rank + 1]), out)


class NaNByExclusivePrefix(_IgnoresSomewhere):
    """Exscan: rank 2 propagates a NaN, rank 3 ignores it; rank 1 merges nothing."""

    shows_at = ShowsAt("exscan", operators=EXTREMA, dtypes=FLOATS)
    says = "it comes through on rank 2, it is ignored on rank 3"

    def exscan(self, x: Array, out: Array | None, op: str) -> None:
        parts = self.everybody(x)[: self.rank]
        if out is not None:
            self.store(self.extremum(op, parts), out)


class NaNByRoot(_IgnoresSomewhere):
    """Reduce: whether a NaN is ignored depends on which rank is the root."""

    shows_at = ShowsAt("reduce", operators=EXTREMA, dtypes=FLOATS)
    says = r"a NaN is ignored, but comes through in reduce \w+ float\d+ x 131 to root 0"

    def reduce(self, x: Array, out: Array | None, op: str, root: int) -> None:
        parts = self.everybody(x)
        if out is not None:
            self.store(self.extremum(op, parts), out)


class SumSkipsNaN(Faulty):
    """NaN is taken for a missing value, and skipped."""

    shows_at = ShowsAt("exscan", operators=("sum",), dtypes=FLOATS)
    says = "a NaN on .* is lost"

    def load(self, x: Array, out: Array | None) -> Array:
        return np.where(x != x, x.dtype.type(0), x)

    def merge(self, op: str, left: Array, right: Array) -> None:
        super().merge(op, left, np.where(right != right, right.dtype.type(0), right))


class ProductSkipsNaN(Faulty):
    """NaN is replaced by 1."""

    shows_at = ShowsAt("scan", operators=("prod",), dtypes=FLOATS)
    says = "a NaN on .* is lost"

    def load(self, x: Array, out: Array | None) -> Array:
        return np.where(x != x, x.dtype.type(1), x)


MUTANTS = mutants(
    "NaN", NaNByRank, NaNByPrefix, NaNByExclusivePrefix, NaNByRoot, SumSkipsNaN, ProductSkipsNaN
)
