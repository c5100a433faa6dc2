"""PowerSGD: matrices travel as two thin factors.

A gradient M (n x m; a tensor is viewed as its first dimension by all others) is close to a
matrix of low rank r.  One step of subspace iteration finds such a one, P Q^T, by two
all-reduces, because both products are linear in M.  On each rank, with C = M + error:

    P = C Q              n x r     all-reduced: mean of C, times Q
    P = orthonormal(P)             the same bits on every rank
    Q = C^T P            m x r     all-reduced: (mean of C)^T P
    M ~ P Q^T                      the result;  error = C - P Q^T

The next step starts from this Q (warm start), so that over steps of much the same gradient
it becomes the best approximation of rank r.  Q begins with numbers from a seed.

A matrix is compressed if (n + m) r * min_compression_rate < n m, with r = min(rank, n, m).
Everything else in the bucket is all-reduced as it is, in one message with the Ps.

Bytes: itemsize * (sum over compressed of (n + m) r + elements of the others); to each rank
come 2 (N - 1) / N times as many under a ring.  Itemsize is the bucket's, but at least 4.

Bits: the products with C are each rank's own affair and left to BLAS.  What is computed from
all-reduced values, on every rank alike, is computed element by element or in a fixed order.

Source: Vogels, Karimireddy, Jaggi 2019, "PowerSGD: practical low-rank gradient compression
for distributed optimization"; the rule which matrices, and one message for many, as in
PyTorch's powerSGD_hook.  Otherwise than there, a column of P or Q that has died (the gradient
was zero, say) is drawn anew, where a warm start would never leave zero again.  Numbers are
drawn from a uniform, not a normal distribution: that takes no logarithm, whose last bit is
the C library's.
"""

from __future__ import annotations

from math import isfinite
from numbers import Real

import numpy as np

from refcoll.communicator import Communicator
from refcoll.dataparallel.factors import Matrix, area, cut, matrices
from refcoll.dataparallel.feedback import finite, share
from refcoll.dataparallel.orthonormal import orthonormalise
from refcoll.dataparallel.reductions import Options, working
from refcoll.dataparallel.tensors import Bucket
from refcoll.errors import ArgumentError, DisagreementError, flag, integer, within
from refcoll.operators import Array


class PowerSGD(Options):
    """Low-rank approximation with error feedback.  The same arguments on all ranks."""

    keeps_state = True

    def __init__(
        self,
        rank: int = 1,
        min_compression_rate: float = 2.0,
        warm_start: bool = True,
        error_feedback: bool = True,
        seed: int = 0,
        algorithm: str = "auto",
    ) -> None:
        self.rank = within(rank, "rank", 1)
        self.min_compression_rate = _positive(min_compression_rate, "min_compression_rate")
        self.warm_start = flag(warm_start, "warm_start")
        self.error_feedback = flag(error_feedback, "error_feedback")
        self.seed = integer(seed, "seed")
        if not 0 <= self.seed < 1 << 32:
            raise ArgumentError(f"seed={self.seed} must be from 0 to {(1 << 32) - 1}")
        self.algorithm = algorithm

    def bind(self, comm: Communicator, bucket: Bucket) -> LowRank:
        """Plans of the two all-reduces, and the state."""
        return LowRank(self, comm, bucket)

    def matrices(self, bucket: Bucket) -> tuple[Matrix, ...]:
        """Those that are compressed."""
        return matrices(bucket, self.rank, self.min_compression_rate)

    def nbytes_reduced(self, bucket: Bucket) -> int:
        """Bytes that are all-reduced in a step."""
        thin = self.matrices(bucket)
        factors = sum((each.rows + each.columns) * each.rank for each in thin)
        others = bucket.count - sum(each.rows * each.columns for each in thin)
        return working(bucket.dtype).itemsize * (factors + others)


class LowRank:
    """PowerSGD, bound to a bucket."""

    def __init__(self, how: PowerSGD, comm: Communicator, bucket: Bucket) -> None:
        _require_agreement(how, comm)
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


def _require_agreement(how: PowerSGD, comm: Communicator) -> None:
    """Other differences change what is reduced, which every plan compares; these would not."""
    mine = np.array([how.seed, how.warm_start], np.int64)
    everyone = comm.all_gather(mine).reshape(comm.size, -1)
    if (everyone != everyone[0]).any():
        raise DisagreementError(
            "PowerSGD must be given the same seed and warm_start on all ranks; by rank they are "
            + ", ".join(f"{seed} and {bool(warm)}" for seed, warm in everyone.tolist())
        )


def _positive(value: object, name: str) -> float:
    """``value`` as a float.  Raises ArgumentError unless it is a finite number above 0."""
    if isinstance(value, Real) and not isinstance(value, bool):
        number = float(value)
        if isfinite(number) and number > 0:
            return number
    raise ArgumentError(f"{name}={value!r:.80} must be a finite number above 0")
