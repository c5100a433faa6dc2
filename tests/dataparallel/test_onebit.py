"""One bit: against ten lines of float64, the telescoping sum, and bytes that arrived."""

from __future__ import annotations

from math import inf, nan, sqrt

import numpy as np
import pytest

from reducing import bucket_of, reduced, steps_of, traffic
from refcoll import ArgumentError
from refcoll.dataparallel.onebit import OneBit

SIZES = [1, 2, 3, 4, 5]
each = pytest.mark.parametrize


def reference(steps, feedback=True):
    """1-bit Adam's two-sided all-reduce (Tang et al. 2021), written from its formulas."""
    size, count = steps.shape[1:]
    chunk = -(-count // (8 * size)) * 8
    quantized = lambda c: np.where(c < 0, -1, 1) * np.float32(sqrt((c * c).mean()))  # noqa: E731
    worker, server = np.zeros((size, count)), np.zeros(count)
    for x in steps:
        sent = np.array([quantized(each) for each in x + worker])
        mean = sent.mean(axis=0) + server
        cuts = range(chunk, count, chunk)
        applied = np.concatenate([quantized(each) for each in np.split(mean, cuts)])
        yield applied
        if feedback:
            worker, server = x + worker - sent, mean - applied


@each("feedback", [True, False])
@each("count", [1, 8, 31, 32, 33, 100])
@each("size", SIZES)
def test_it_is_the_reference(size, count, feedback):
    steps = steps_of(6, size, count)
    means, _ = reduced(OneBit(feedback), bucket_of((count,), dtype="float64"), steps)
    np.testing.assert_allclose(means, list(reference(steps, feedback)), rtol=1e-12)


def test_float32_is_near_the_reference():
    steps = steps_of(6, 3, 100).astype(np.float32)
    means, _ = reduced(OneBit(), bucket_of((10, 10)), steps)
    np.testing.assert_allclose(means, list(reference(steps.astype(np.float64))), rtol=1e-5)


@each("scale", [2.0**-100, 2.0**100])
def test_small_and_great_gradients_are_as_good_as_others(scale):
    """Their squares are no float32."""
    steps = steps_of(6, 3, 100).astype(np.float32)
    means, _ = reduced(OneBit(), bucket_of((100,)), steps)
    scaled, _ = reduced(OneBit(), bucket_of((100,)), steps * np.float32(scale))
    assert np.array_equal(scaled, means * np.float32(scale))


@each(("divisor", "factor"), [(2, 1), (6, 3), (3, 1.5), (1, 0.5)])
def test_the_divisor_is_what_is_said(divisor, factor):
    steps = steps_of(3, 2, 40)
    means, _ = reduced(OneBit(), bucket_of((40,), dtype="float64"), steps, divisor)
    np.testing.assert_allclose(means, list(reference(steps / factor)), rtol=1e-12)


def test_one_rank_by_hand():
    """|(3, -4)| / sqrt 2 is the scale; as server nothing is left to lose."""
    scale = np.float32(sqrt(12.5))
    means, (bound,) = reduced(OneBit(), bucket_of((2,)), np.array([[[3.0, -4.0]]]))
    assert means.tolist() == [[scale, -scale]]
    assert bound.worker.error.tolist() == [3 - scale, scale - 4]
    assert bound.server.error.tolist() == [0, 0]


def test_the_sign_of_zero_is_plus():
    """The root of the mean square of 0, 0, 1, -1 is sqrt(1/2)."""
    means, _ = reduced(OneBit(False), bucket_of((4,)), np.array([[[0.0, -0.0, 1.0, -1.0]]]))
    assert np.sign(means).tolist() == [[1, 1, 1, -1]]
    assert np.abs(means) == pytest.approx(sqrt(0.5))


def test_zeros_stay_zeros():
    means, bounds = reduced(OneBit(), bucket_of((9,)), np.zeros((2, 3, 9)))
    assert not means.any()
    assert not any(bound.worker.error.any() or bound.server.error.any() for bound in bounds)


@each("size", SIZES)
@each("count", [5, 64, 129])
def test_nothing_is_lost_only_late(size, count):
    """Applied + server errors + mean worker error = true means; of each step, N + 6 roundings of
    values below 16 are left."""
    steps = steps_of(40, size, count, seed=1).astype(np.float32)
    means, bounds = reduced(OneBit(), bucket_of((count,)), steps)
    worker = np.mean([bound.worker.error for bound in bounds], axis=0, dtype=np.float64)
    server = np.concatenate([bound.server.error for bound in bounds])
    assert max(np.abs(means).max(), np.abs(worker).max(), np.abs(server).max()) < 16
    left = means.sum(axis=0, dtype=np.float64) + worker + server
    true = steps.mean(axis=1, dtype=np.float64).sum(axis=0)
    assert np.abs(left - true).max() <= 40 * (size + 6) * 16 * 2.0**-24


@each("bad", [nan, inf, -inf])
@each("rank", [0, 2])
def test_what_is_not_finite_is_told_to_all_and_forgotten(bad, rank):
    """As if the step had not been: the state is that of the other steps alone."""
    steps = steps_of(5, 3, 50)
    steps[2, rank, 7] = bad
    bucket = bucket_of((50,), dtype="float64")
    means, bounds = reduced(OneBit(), bucket, steps)
    without, others = reduced(OneBit(), bucket, np.delete(steps, 2, axis=0))
    assert np.isnan(means[2]).all()
    assert np.array_equal(np.delete(means, 2, axis=0), without)
    for one, other in zip(bounds, others, strict=True):
        assert np.array_equal(one.worker.error, other.worker.error)
        assert np.array_equal(one.server.error, other.server.error)


def test_a_scale_beyond_float32_is_not_finite():
    steps = np.full((2, 2, 3), 1.0)
    steps[0] = 1e39
    means, bounds = reduced(OneBit(), bucket_of((3,), dtype="float64"), steps)
    assert np.isnan(means[0]).all()
    assert means[1].tolist() == [1, 1, 1]
    assert not any(bound.worker.error.any() for bound in bounds)


def test_a_server_alone_may_overflow():
    """Two workers' scales are float32, their sum is not: refused on both sides."""
    steps = np.full((2, 2, 3), 3e38, np.float32)
    steps[1] = 1
    means, bounds = reduced(OneBit(), bucket_of((3,)), steps)
    assert np.isnan(means[0]).all()
    assert means[1].tolist() == [1, 1, 1]
    assert not any(bound.worker.error.any() or bound.server.error.any() for bound in bounds)


@each("dtype", ["float16", "bfloat16", "longdouble"])
def test_other_dtypes_keep_their_errors_in_float32_or_wider(dtype):
    if dtype == "bfloat16":
        dtype = pytest.importorskip("ml_dtypes").bfloat16
    bucket = bucket_of((4,), dtype=dtype)
    means, bounds = reduced(OneBit(), bucket, np.array([[[1.0, -1, 1, 1], [1.0, -1, 1, 1]]]))
    assert means.astype(np.float64).tolist() == [[1, -1, 1, 1]]
    assert bounds[0].worker.error.dtype == max(np.dtype(np.float32), bucket.dtype)


@each("size", SIZES)
@each("around", [-1, 0, 1])
@each("times", [1, 3])
def test_bytes_on_the_wire(size, around, times):
    """A scale of 4 bytes, and a bit an element in whole bytes, twice to every other rank."""
    count = 8 * size * times + around
    assert_bytes(bucket_of((count,)), size, times + (around > 0))


@each("size", SIZES)
@each(("shapes", "signs"), [([(0,)], 0), ([()], 1), ([(0, 3), (), (2, 2)], 1)])
def test_bytes_of_scalars_and_nothing(size, shapes, signs):
    assert_bytes(bucket_of(*shapes), size, signs)


def assert_bytes(bucket, size, signs):
    expected = 2 * (size - 1) * (signs + 4)
    assert OneBit().nbytes_received(bucket, size) == expected
    for rank in traffic(OneBit(), bucket, size):
        assert (rank.received_bytes, rank.sent_bytes) == (expected, expected)


def test_the_example_of_the_docstring():
    assert OneBit().nbytes_received(bucket_of((70,)), 4) == 42


@each("size", [1, 3])
def test_an_empty_bucket(size):
    means, _ = reduced(OneBit(), bucket_of((0,)), np.zeros((2, size, 0)))
    assert means.shape == (2, 0)


def test_wrong_arguments():
    with pytest.raises(ArgumentError, match="error_feedback=1 must be True or False"):
        OneBit(1)
