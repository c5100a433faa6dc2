"""Half precision on the wire: cast down, all-reduce, cast up.

    "first"   sum of half(x / d)               the sum overflows only where the mean does;
                                               what is small is divided into nothing
    "last"    (sum of half(x)) / d             as many small values as half precision has;
                                               the sum may overflow where the mean does not
    "split"   (sum of half(x / sqrt d)) / sqrt d    half of either, on a logarithmic scale

Divisions are done in float32 or wider, before casting down and after casting up; only the
sums are rounded in half precision, at each hop.  Four ranks, all with [20000, 6e-8]:

    float16, first    [20000, 0]           6e-8 / 4 is below 6.0e-8, the least float16
    float16, last     [inf, 6.0e-8]        4 * 20000 is above 65504, the greatest
    bfloat16          [20000, 6.0e-8]      float32's range, with 8 bits of precision

Bytes: 2 an element, so half of float32's; under a ring, 2 (N - 1) / N of them to each rank.

Dividing first is the default, as in PyTorch's fp16_compress_hook, since an infinity costs a
whole step and an underflow one small element (pull requests 57410 and 59522; the hook casts
before it divides, so that there a share beyond 65504 is infinite whatever the mean).  Loss
scaling (Micikevicius et al. 2018, "Mixed precision training") lifts small values out of the
way of underflow.
"""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np

from refcoll.communicator import Communicator
from refcoll.dataparallel.reductions import Options, working
from refcoll.dataparallel.reductions import divide as divide_in_place
from refcoll.dataparallel.tensors import Bucket
from refcoll.errors import ArgumentError, within
from refcoll.operators import Array

_LEAST = {"float16": (2.0**-24, 2.0**-14), "bfloat16": (2.0**-133, 2.0**-126)}
"""The least positive number, and the least that has all digits."""
_DIVISIONS = ("first", "last", "split")


class Half(Options):
    """The sum in half precision, divided ``"first"``, ``"last"`` or ``"split"``."""

    keeps_state = False

    def __init__(
        self, dtype: str = "float16", divide: str = "first", algorithm: str = "auto"
    ) -> None:
        self.dtype = _half(_chosen(dtype, "dtype", tuple(_LEAST)))
        self.divide = _chosen(divide, "divide", _DIVISIONS)
        self.algorithm = algorithm

    def bind(self, comm: Communicator, bucket: Bucket) -> Halved:
        """A plan on memory of its own that the transport moves well."""
        return Halved(self, comm, bucket)

    def nbytes_reduced(self, bucket: Bucket) -> int:
        """Bytes that are all-reduced in a step."""
        return self.dtype.itemsize * bucket.count

    def divisors(self, divisor: float) -> tuple[float, float]:
        """By what is divided before the sum, and by what after it."""
        root = sqrt(divisor)
        return {"first": (divisor, 1.0), "last": (1.0, divisor), "split": (root, root)}[self.divide]

    def explain(self, values: Array, size: int, divisor: float | None = None) -> list[str]:
        """What becomes of each element, where all ``size`` ranks bring the same ``values``.

        not finite   it was so before
        overflow     their sum is beyond the greatest number: infinity
        underflow    what is sent is below the least number: 0, or twice too much
        subnormal    what is sent is below the least normal number: some digits are lost
        kept         none of these

        The divisor is ``size`` unless given.  Roundings in the sum are left out of account.
        """
        size = within(size, "size", 1)
        before, _ = self.divisors(size if divisor is None else divisor)
        given = np.abs(np.ravel(values).astype(np.float64))
        least, normal = _LEAST[self.dtype.name]
        with np.errstate(all="ignore"):
            sent = given / before
            total = (sent * size).astype(self.dtype).astype(np.float64)
        cases = {
            "not finite": ~np.isfinite(given),
            "overflow": np.isinf(total),
            "underflow": (sent > 0) & (sent < least),
            "subnormal": (sent > 0) & (sent < normal),
        }
        return [str(each) for each in np.select(list(cases.values()), list(cases), "kept")]


class Halved:
    """Half precision, bound to a bucket."""

    def __init__(self, how: Half, comm: Communicator, bucket: Bucket) -> None:
        self._how = how
        self._dtype = bucket.dtype
        self._flat = comm.empty(bucket.count, working(bucket.dtype))
        self._half = comm.empty(bucket.count, how.dtype)
        self._plan = comm.plan("all_reduce", self._half, out=self._half, algorithm=how.algorithm)

    def memory(self) -> Array:
        """Where the step's local sums go."""
        return self._flat

    def run(self, divisor: float) -> Array:
        """Down, summed, up."""
        before, after = self._how.divisors(divisor)
        with np.errstate(all="ignore"):
            divide_in_place(self._flat, before)
            self._half[...] = self._flat.astype(self._half.dtype)
            self._plan.run()
            self._flat[...] = self._half.astype(self._flat.dtype)
            divide_in_place(self._flat, after)
        return self._flat.astype(self._dtype, copy=False)


def _chosen(value: object, name: str, choices: tuple[str, ...]) -> str:
    """``value``, if it is one of the choices.  Raises ArgumentError."""
    if isinstance(value, str) and value in choices:
        return value
    said = ", ".join(repr(each) for each in choices[:-1])
    raise ArgumentError(f"{name}={value!r:.80} must be {said} or {choices[-1]!r}")


def _half(name: str) -> np.dtype[Any]:
    if name == "float16":
        return np.dtype(np.float16)
    import ml_dtypes

    dtype: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
    return dtype
