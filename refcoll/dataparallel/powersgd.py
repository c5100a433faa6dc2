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
from refcoll.dataparallel.factors import Matrix, matrices
from refcoll.dataparallel.low_rank import LowRank
from refcoll.dataparallel.reductions import Options, working
from refcoll.dataparallel.tensors import Bucket
from refcoll.errors import ArgumentError, DisagreementError, flag, integer, within


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
        _require_agreement(self, comm)
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
