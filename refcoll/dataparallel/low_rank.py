"""PowerSGD at work on one bucket of one rank: see ``powersgd`` for what it computes, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from refcoll.communicator import Communicator
from refcoll.dataparallel.factors import area, cut
from refcoll.dataparallel.feedback import finite, share
from refcoll.dataparallel.orthonormal import orthonormalise
from refcoll.dataparallel.reductions import working
from refcoll.dataparallel.tensors import Bucket
from refcoll.operators import Array

if TYPE_CHECKING:
    from refcoll.dataparallel.powersgd import PowerSGD


class LowRank:
    """PowerSGD, bound to a bucket."""

    def __init__(self, how: PowerSGD, comm: Communicator, bucket: Bucket) -> None:
        self._how, self._size, self._matrices = how, comm.size, how.matrices(bucket)
        self._others = np.ones(bucket.count, bool)
        for each in self._matrices:
            self._others[each.span] = False
        dtype = working(bucket.dtype)
        ps = [(each.rows, each.rank) for each in self._matrices]
        qs = [(each.columns, each.rank) for each in self._matrices]
        self._dtype = bucket.dtype
        self._flat = comm.empty(bucket.count, working(bucket.dtype))
        self._first = comm.empty(area(ps) + int(self._others.sum()), dtype)
        self._second = comm.empty(area(qs), dtype)
        self._sums = [
            comm.plan("all_reduce", each, out=each, algorithm=how.algorithm)
            for each in (self._first, self._second)
        ]
        self._ps, self._qs = cut(self._first, ps), cut(self._second, qs)
        self._tail = self._first[area(ps) :]
        self._random = np.random.default_rng([how.seed, bucket.index])
        self.error = np.zeros(bucket.count, dtype)
        """What earlier steps left out, flat; zero where nothing is compressed."""
        self.directions = [self._start(shape) for shape in qs]
        """The Qs from which the next step starts, orthonormal; the same on every rank."""

    def memory(self) -> Array:
        """Where the step's local sums go."""
        return self._flat

    def run(self, divisor: float) -> Array:
        """The approximate mean; NaN throughout where any rank has a NaN or an infinity."""
        with np.errstate(all="ignore"):
            local = share(self._flat, divisor, self._size) + self.error
            mean = self._mean(local)
            if mean is None:
                self._flat[...] = np.nan
                return self._flat.astype(self._dtype, copy=False)
            if self._how.error_feedback:
                self.error = np.where(self._others, 0, local - mean)
            self._restart()
            self._flat[...] = mean
        return self._flat.astype(self._dtype, copy=False)

    def _mean(self, local: Array) -> Array | None:
        """P Q^T and the others' mean; None, on all ranks, where something is not finite."""
        self._project(local)
        self._sums[0].run()
        if not finite(self._first):
            return None
        self._first /= self._size
        for p in self._ps:
            orthonormalise(p, self._drawn)
        for matrix, p, q in zip(self._matrices, self._ps, self._qs, strict=True):
            np.matmul(matrix.view(local).T, p, out=q)
        if self._matrices:
            self._sums[1].run()
        if not finite(self._second):
            return None
        self._second /= self._size
        return self._decompressed()

    def _project(self, local: Array) -> None:
        """P = C Q, and what is not compressed, side by side."""
        for matrix, p, q in zip(self._matrices, self._ps, self.directions, strict=True):
            np.matmul(matrix.view(local), q, out=p)
        self._tail[...] = local[self._others]
        if not finite(local):
            self._first[...] = np.nan  # an infinity times zero may be lost in a BLAS

    def _decompressed(self) -> Array:
        """P Q^T by r outer products, element by element."""
        mean = np.zeros_like(self.error)
        mean[self._others] = self._tail
        for matrix, p, q in zip(self._matrices, self._ps, self._qs, strict=True):
            product = matrix.view(mean)
            for left, right in zip(p.T, q.T, strict=True):
                product += left[:, None] * right
        return mean

    def _restart(self) -> None:
        """The Qs for the next step."""
        for direction, q in zip(self.directions, self._qs, strict=True):
            direction[...] = q if self._how.warm_start else self._start(q.shape)
            orthonormalise(direction, self._drawn)

    def _start(self, shape: tuple[int, ...]) -> Array:
        start = np.zeros(shape, self._first.dtype)
        orthonormalise(start, self._drawn)
        return start

    def _drawn(self, count: int) -> Array:
        return (self._random.random(count) - 0.5).astype(self._first.dtype)
