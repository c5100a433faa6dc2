"""How a bucket of local sums becomes the mean over all ranks: exactly, to begin with.

A *reduction* is bound to each bucket once, on all ranks together, and run once a step, on
the communication thread.  What else there is (half precision, PowerSGD, one bit, shards)
keeps the same contract:

    bound = reduction.bind(comm, bucket)     # collective
    flat = bound.memory()                    # where this step's local sums are collected, in
                                             # float32 where the gradients are narrower
    ...                                      # all of the bucket's elements are written
    mean = bound.run(divisor)                # collective: (sum over ranks of flat) / divisor

``bind`` and ``run`` are called in the same order on all ranks, ``run`` with the same
``divisor``.  What ``run`` returns must be the same bits on every rank (or, of a sharded
reduction, the rank's own piece of such).
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from refcoll.communicator import Communicator
from refcoll.dataparallel.tensors import Bucket
from refcoll.operators import Array

DETERMINISTIC = "rabenseifner"
"""An all-reduce in which every element is merged by one and the same tree, for every N, ..."""
DETERMINISTIC_SCATTER = "butterfly"
"""... and a reduce-scatter with the same tree."""


class Bound(Protocol):
    """A reduction of one bucket on one rank."""

    def memory(self) -> Array:
        """A flat array of the bucket's count, in ``working`` dtype, undefined, for one step."""

    def run(self, divisor: float) -> Array:
        """The mean, flat; valid until the next ``memory()``.  Collective.

        With NaN, infinities and overflow as IEEE 754 has them, and no warnings.
        """


class Reduction(Protocol):
    """A way to reduce buckets."""

    keeps_state: bool
    """Whether a bound one carries something from step to step, such as an error feedback."""

    def bind(self, comm: Communicator, bucket: Bucket) -> Bound:
        """Prepare it for a bucket.  Collective."""


class Options:
    """Shows its options: ranks compare them."""

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in sorted(vars(self).items()))
        return f"{type(self).__name__}({given})"


class AllReduce(Options):
    """The sum by a collective of this library, divided once.

    With ``accumulate`` a wider dtype in which values travel and are merged.  Gradients
    narrower than float32 are divided first, in float32, and rounded before they travel: their
    sum might overflow, as might weights (pytorch#57410).
    """

    keeps_state = False

    def __init__(self, algorithm: str = "auto", accumulate: object = None) -> None:
        self.algorithm, self.accumulate = algorithm, accumulate

    def bind(self, comm: Communicator, bucket: Bucket) -> Bound:
        """A plan on memory of its own that the transport moves well."""
        return _AllReduced(self, comm, bucket)


class _AllReduced:
    def __init__(self, how: AllReduce, comm: Communicator, bucket: Bucket) -> None:
        self._travelling = comm.empty(bucket.count, bucket.dtype)
        wide = working(bucket.dtype)
        self._flat = self._travelling if wide == bucket.dtype else np.empty(bucket.count, wide)
        self._plan = comm.plan(
            "all_reduce",
            self._travelling,
            out=self._travelling,
            algorithm=how.algorithm,
            accumulate=how.accumulate,
        )

    def memory(self) -> Array:
        return self._flat

    def run(self, divisor: float) -> Array:
        narrow = self._flat is not self._travelling
        if narrow:
            self._travelling[...] = shares(self._flat, divisor, self._travelling.dtype)
        self._plan.run()
        if not narrow:
            divide(self._travelling, divisor)
        return self._travelling


def working(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """float32, or the dtype itself if that is as wide."""
    return np.dtype(np.float32) if dtype.itemsize < 4 else dtype


def shares(values: Array, divisor: float, dtype: np.dtype[Any]) -> Array:
    """``values`` over the divisor, rounded to ``dtype``."""
    with np.errstate(all="ignore"):
        rounded: Array = (values / values.dtype.type(divisor)).astype(dtype)
    return rounded


def divide(values: Array, divisor: float) -> None:
    """In place; in float32 where ``values`` are narrower, and rounded once."""
    if divisor == 1:
        return
    wide = values.astype(np.float32) if values.dtype.itemsize < 4 else values
    with np.errstate(all="ignore"):
        np.divide(wide, wide.dtype.type(divisor), out=wide)
        if wide is not values:
            values[...] = wide.astype(values.dtype)
