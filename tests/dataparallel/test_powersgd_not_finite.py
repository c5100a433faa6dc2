"""PowerSGD: a NaN, an infinity or an overflow is told to all ranks and leaves the state alone."""

from __future__ import annotations

from math import inf, nan

import numpy as np
import pytest

from reducing import bucket_of, reduced, steps_of
from refcoll.dataparallel.powersgd import PowerSGD

each = pytest.mark.parametrize


@each("bad", [nan, inf, -inf])
@each("where", [0, 650])
@each("warm_start", [True, False])
def test_what_is_not_finite_is_told_to_all_and_forgotten(bad, where, warm_start):
    """In a matrix or in a vector, as if the step had not been."""
    how = PowerSGD(warm_start=warm_start)
    bucket = bucket_of((20, 30), (60,), dtype="float64")
    steps = steps_of(5, 3, bucket.count)
    steps[2, 1, where] = bad
    means, bounds = reduced(how, bucket, steps)
    without, others = reduced(how, bucket, np.delete(steps, 2, axis=0))
    assert np.isnan(means[2]).all()
    assert np.array_equal(np.delete(means, 2, axis=0), without)
    for one, other in zip(bounds, others, strict=True):
        assert np.array_equal(one.error, other.error)


@each("where", ["matrix", "vector"])
def test_sums_that_overflow_are_forgotten_too(where):
    """Every rank's values are finite: in the vector their sum is not; in the matrix P is, but Q
    has 1e38 sqrt(20) on each of two ranks, and float32 ends at 3.4e38."""
    bucket = bucket_of((20, 30), (60,))
    steps = steps_of(4, 2, bucket.count).astype(np.float32)
    if where == "matrix":
        steps[2, :, 0:600:30] = 1e38
    else:
        steps[2, :, 650] = 3e38
    means, bounds = reduced(PowerSGD(), bucket, steps)
    without, others = reduced(PowerSGD(), bucket, np.delete(steps, 2, axis=0))
    assert np.isnan(means[2]).all()
    assert np.array_equal(means[3], without[2])
    assert np.array_equal(bounds[0].error, others[0].error)


def test_an_infinity_is_seen_though_it_meets_zeros_alone(monkeypatch):
    """With a BLAS that skips what it would multiply by zero, as some do."""

    def product(left, right, out):
        used = right.any(axis=1)
        out[...] = left[:, used] @ right[used]

    monkeypatch.setattr(np, "matmul", product)
    steps = steps_of(4, 1, 600).reshape(4, 1, 20, 30)
    steps[:, :, :, 0] = 0
    steps[:, :, 4, :] = 0
    steps[2, 0, 4, 0] = inf
    means, (bound,) = reduced(
        PowerSGD(), bucket_of((20, 30), dtype="float64"), steps.reshape(4, 1, 600)
    )
    assert np.isnan(means[2]).all()
    assert np.isfinite(means[[0, 1, 3]]).all()
    assert np.isfinite(bound.error).all()
