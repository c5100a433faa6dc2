"""PowerSGD: exact cases, the truncated SVD, the telescoping sum, and bytes that arrived."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest

from reducing import bucket_of, reduced, ring_bytes, steps_of, traffic
from refcoll import ArgumentError, DisagreementError, spawn
from refcoll.dataparallel.powersgd import PowerSGD

SIZES = [1, 2, 3, 4, 5]
each = pytest.mark.parametrize


def of_rank(rank, size, shape, seed=0):
    """A matrix of that rank, as the mean of ``size`` that are not: [mean], [rank, element]."""
    random = np.random.default_rng(seed)
    mean = random.standard_normal((shape[0], rank)) @ random.standard_normal((rank, shape[1]))
    parts = random.standard_normal((size, *shape))
    return mean, (parts - parts.mean(axis=0) + mean).reshape(size, -1)


@each(("shape", "rank"), [((20, 30), 1), ((30, 20), 2), ((40, 12), 3)])
@each("size", SIZES)
def test_a_mean_of_rank_r_is_reproduced(size, shape, rank):
    """Also where no rank's own matrix is of low rank, and whatever the divisor is."""
    mean, parts = of_rank(rank, size, shape)
    how = PowerSGD(rank, 1.0, error_feedback=False)
    bucket = bucket_of(shape, dtype="float64")
    for divisor in (size, 3 * size, 0.7):
        means, _ = reduced(how, bucket, [parts] * 3, divisor)
        expected = np.tile(mean.ravel() * size / divisor, (3, 1))
        np.testing.assert_allclose(means, expected, atol=1e-11 * size / divisor)


def test_it_finds_the_best_approximation_of_rank_r():
    """The truncated SVD, to which subspace iteration converges as (s3 / s2)^2t (Golub and Van
    Loan), here 2^-2t; by a warm start alone."""
    random = np.random.default_rng(3)
    left, right = (np.linalg.qr(random.standard_normal((n, 6)))[0] for n in (40, 30))
    values = np.array([16, 8, 4, 2, 1, 0.5])
    matrix = (left * values) @ right.T
    best = (left[:, :2] * values[:2]) @ right[:, :2].T
    steps, bucket = [matrix.reshape(1, -1)] * 25, bucket_of((40, 30), dtype="float64")
    warm, _ = reduced(PowerSGD(2, error_feedback=False), bucket, steps)
    cold, _ = reduced(PowerSGD(2, error_feedback=False, warm_start=False), bucket, steps)
    assert np.abs(warm[-1] - best.ravel()).max() < 1e-6
    assert np.abs(warm[0] - best.ravel()).max() > 1e-2
    assert all(np.abs(each - best.ravel()).max() > 1e-2 for each in cold)
    assert np.abs(cold[-1] - cold[0]).max() > 1e-3  # another start each time


def test_tensors_are_viewed_as_the_first_dimension_by_the_others():
    """A kernel of 4 dimensions whose 12 x 18 matrix is of rank 1, and no other view of it is."""
    mean, parts = of_rank(1, 2, (12, 18))
    means, _ = reduced(PowerSGD(), bucket_of((12, 2, 3, 3), dtype="float64"), [parts])
    np.testing.assert_allclose(means[0], mean.ravel(), atol=1e-12)


def test_what_is_not_compressed_is_exact():
    """Powers of two apart, the sums are exact, and there are no errors."""
    bucket = bucket_of((3,), (20, 20), (), (2, 2), (0, 4))
    flat = np.zeros((2, bucket.count))
    for name, value in (("t0", 1.5), ("t1", 1.0), ("t2", 8.0), ("t3", -2.25)):
        flat[:, bucket.spans[name]] = value
    flat[1] *= 3
    means, bounds = reduced(PowerSGD(), bucket, [flat] * 2)
    expected = flat.mean(axis=0)
    matrix = np.zeros(bucket.count, bool)
    matrix[bucket.spans["t1"]] = True
    assert np.array_equal(means[:, ~matrix], np.tile(expected[~matrix], (2, 1)))
    assert not any(bound.error[~matrix].any() for bound in bounds)


@each("size", SIZES)
@each("warm_start", [True, False])
def test_nothing_is_lost_only_late(size, warm_start):
    """Applied + mean error = true means; of each step a few roundings of values below 64."""
    bucket = bucket_of((16, 24), (7,), (30, 9))
    steps = steps_of(30, size, bucket.count, seed=size).astype(np.float32)
    means, bounds = reduced(PowerSGD(2, 1.0, warm_start), bucket, steps)
    errors = np.array([bound.error for bound in bounds], np.float64)
    assert 0.1 < np.abs(errors).max() < 64
    left = means.sum(axis=0, dtype=np.float64) + errors.mean(axis=0)
    true = steps.mean(axis=1, dtype=np.float64).sum(axis=0)
    assert np.abs(left - true).max() <= 30 * (size + 3) * 64 * 2.0**-24


def test_without_feedback_there_is_no_error():
    steps = steps_of(3, 2, 600)
    _, bounds = reduced(PowerSGD(error_feedback=False), bucket_of((20, 30)), steps)
    assert not any(bound.error.any() for bound in bounds)


def test_n_ranks_do_what_one_does_with_the_mean():
    """Both products are linear in the matrix (Vogels et al. 2019, section 3)."""
    bucket = bucket_of((20, 30), (25, 10), dtype="float64")
    steps = steps_of(8, 4, bucket.count)
    many, _ = reduced(PowerSGD(2), bucket, steps)
    one, _ = reduced(PowerSGD(2), bucket, steps.mean(axis=1, keepdims=True))
    np.testing.assert_allclose(many, one, atol=1e-10)


def test_replicas_agree_though_their_matrix_products_round_differently(monkeypatch):
    """As on machines of different kinds.  ``reduced`` compares the ranks' bits."""
    noise = np.random.default_rng(0)

    def product(left, right, out):
        out[...] = (left @ right) * (1 + 1e-6 * noise.standard_normal(out.shape))

    monkeypatch.setattr(np, "matmul", product)
    bucket = bucket_of((20, 30), (30, 40))
    _, bounds = reduced(PowerSGD(2), bucket, steps_of(5, 3, bucket.count))
    for bound in bounds[1:]:
        for mine, first in zip(bound.directions, bounds[0].directions, strict=True):
            assert mine.tobytes() == first.tobytes()


def test_a_direction_that_has_died_is_drawn_anew():
    """After gradients of zero, and of rank 1 where two columns travel, rank 2 is exact again."""
    mean, parts = of_rank(2, 2, (20, 30))
    _, poor = of_rank(1, 2, (20, 30), seed=1)
    steps = [np.zeros_like(parts), np.zeros_like(parts), poor, parts]
    bucket = bucket_of((20, 30), dtype="float64")
    means, _ = reduced(PowerSGD(2, error_feedback=False), bucket, steps)
    assert not means[:2].any()
    np.testing.assert_allclose(means[3], mean.ravel(), atol=1e-6)


def test_the_rank_is_no_more_than_a_matrix_has():
    """Three columns have no more than rank 3; asked for, they travel as factors all the same."""
    bucket, steps = bucket_of((200, 3), dtype="float64"), steps_of(3, 2, 600)
    how = PowerSGD(9, min_compression_rate=0.25)
    assert how.nbytes_reduced(bucket) == 8 * 203 * 3
    means, _ = reduced(how, bucket, steps)
    np.testing.assert_allclose(means, steps.mean(axis=1), atol=1e-12)


@each("dtype", ["float16", "longdouble"])
def test_other_dtypes_are_summed_in_float32_or_wider(dtype):
    parts = np.tile(np.outer(np.arange(1.0, 21), np.arange(-10.0, 20)).ravel(), (2, 1))
    bucket = bucket_of((20, 30), dtype=dtype)
    means, bounds = reduced(PowerSGD(), bucket, [parts] * 2)
    assert means.astype(np.float64) == pytest.approx(np.tile(parts[0], (2, 1)), rel=1e-3, abs=1e-3)
    assert bounds[0].error.dtype == max(np.dtype(np.float32), bucket.dtype)


def test_small_gradients_are_as_good_as_others():
    """Their squares are below the least float32."""
    mean, parts = of_rank(1, 2, (20, 30))
    means, _ = reduced(PowerSGD(), bucket_of((20, 30)), [parts * 2.0**-100])
    np.testing.assert_allclose(means[0] * 2.0**100, mean.ravel(), atol=1e-5)


@each("size", SIZES)
@each(
    ("rank", "shapes", "counts"),
    [
        (1, [(20, 30)], (20, 30)),
        (2, [(20, 30), (5,), (6, 5, 5), ()], (40 + 12 + 5 + 1, 60 + 50)),
        (4, [(8, 16)], (128, 0)),  # 24 * 4 * 2 is not less than 128
        (1, [(4, 4)], (16, 0)),  # 8 * 2 is 16: no less
        (9, [(200, 3)], (600, 0)),
        (1, [(0, 3), (0,)], (0, 0)),
        (1, [(0, 3), (), (32, 32)], (1 + 32, 32)),
    ],
)
def test_bytes_on_the_wire(rank, shapes, counts, size):
    """``counts``: elements of the first all-reduce and of the second, counted by hand."""
    how, bucket = PowerSGD(rank, algorithm="ring"), bucket_of(*shapes)
    assert how.nbytes_reduced(bucket) == 4 * sum(counts)
    expected = np.sum([ring_bytes(count, 4, size) for count in counts], axis=0).tolist()
    assert [each.received_bytes for each in traffic(how, bucket, size)] == expected
    assert sum(expected) == 2 * (size - 1) * how.nbytes_reduced(bucket)


@each(("dtype", "itemsize"), [("float16", 4), ("float32", 4), ("float64", 8)])
def test_bytes_by_dtype(dtype, itemsize):
    bucket = bucket_of((20, 30), (5,), dtype=dtype)
    assert PowerSGD().nbytes_reduced(bucket) == itemsize * (20 + 30 + 5)


@each(
    ("arguments", "said"),
    [
        ({"rank": 0}, "rank=0 must be at least 1"),
        ({"rank": 1.5}, "rank=1.5 is not an integer"),
        ({"min_compression_rate": 0}, "min_compression_rate=0 must be a finite number above 0"),
        ({"min_compression_rate": inf}, "must be a finite number above 0"),
        ({"min_compression_rate": "2"}, "must be a finite number above 0"),
        ({"warm_start": 1}, "warm_start=1 must be True or False"),
        ({"error_feedback": None}, "error_feedback=None must be True or False"),
        ({"seed": -1}, "seed=-1 must be from 0 to 4294967295"),
        ({"seed": 1 << 32}, "must be from 0 to 4294967295"),
    ],
)
def test_wrong_arguments(arguments, said):
    with pytest.raises(ArgumentError, match=said):
        PowerSGD(**arguments)


@each("arguments", [{"seed": 1}, {"warm_start": False}, {"rank": 2}])
def test_arguments_that_differ_between_ranks(arguments):
    def body(comm):
        how = PowerSGD(**arguments) if comm.rank == 1 else PowerSGD()
        with pytest.raises(DisagreementError, match="count" if "rank" in arguments else "seed"):
            how.bind(comm, bucket_of((20, 30)))

    spawn(3, body, timeout=20)
