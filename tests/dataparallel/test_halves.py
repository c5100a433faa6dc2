"""Half precision: what is kept, what overflows and what underflows, from closed forms."""

from __future__ import annotations

from math import inf, nan

import numpy as np
import pytest

from reducing import bucket_of, reduced, ring_bytes, steps_of, traffic
from refcoll import ArgumentError
from refcoll.dataparallel.halves import Half

LEAST = 2.0**-24
"""The least float16."""
each = pytest.mark.parametrize


def on_all(size, values):
    return np.broadcast_to(np.array(values), (1, size, len(values)))


def mean_of(half, size, values, divisor=None, dtype="float32"):
    means, _ = reduced(half, bucket_of((len(values),), dtype=dtype), on_all(size, values), divisor)
    return means[0].astype(np.float64).tolist()


@each(
    ("dtype", "divide", "mean", "words"),
    [
        ("float16", "first", [20000, 0], ["kept", "underflow"]),
        ("float16", "last", [inf, LEAST], ["overflow", "subnormal"]),
        # 6e-8 / 2 is sent as 2^-24, of which four make 2^-22, and half of that is the result.
        ("float16", "split", [20000, 2 * LEAST], ["kept", "underflow"]),
    ],
)
def test_the_known_case_of_four_ranks(dtype, divide, mean, words):
    """The exact mean is [20000, 6e-8]."""
    half = Half(dtype, divide)
    assert mean_of(half, 4, [20000, 6e-8]) == mean
    assert half.explain(np.array([20000, 6e-8]), 4) == words


@each("divide", ["first", "last", "split"])
def test_bfloat16_has_the_range_and_eight_bits(divide):
    """A division by 4, or twice by 2, and a sum of four alike are exact in binary."""
    half = Half("bfloat16", divide)
    assert mean_of(half, 4, [19968, 2.0**-100, 1 + 2**-9]) == [19968, 2.0**-100, 1]
    assert half.explain(np.array([19968, 2.0**-100, 1e39]), 4) == ["kept", "kept", "overflow"]


def test_dividing_first_is_the_default_and_before_rounding():
    """3 * 2^15 is beyond float16, but an eighth and a sixteenth of it are not."""
    assert Half().divide == "first"
    for divisor, share in ((8, 3 * 2**12), (16, 3 * 2**11)):
        rows = np.zeros((1, 8, 1))
        rows[0, 3] = 3 * 2**15
        means, _ = reduced(Half(), bucket_of((1,)), rows, divisor)
        assert means.tolist() == [[share]]


@each("divide", ["first", "last", "split"])
@each("size", [1, 2, 3, 5])
@each("dtype", ["float16", "bfloat16"])
def test_the_mean_is_right_within_the_roundings_of_the_sum(dtype, divide, size):
    """One rounding of each share and N - 1 of partial sums, each of at most a unit of the sum of
    magnitudes; the divisor is not the number of ranks."""
    unit = {"float16": 2.0**-11, "bfloat16": 2.0**-8}[dtype]
    steps = steps_of(2, size, 37)
    means, _ = reduced(Half(dtype, divide), bucket_of((37,)), steps, divisor=3 * size)
    exact = steps.sum(axis=1) / (3 * size)
    bound = (size + 1) * unit * np.abs(steps).sum(axis=1) / (3 * size)
    assert (np.abs(means - exact) <= bound + 1e-6).all()


def test_the_last_division_is_in_the_gradients_own_precision():
    """A sum of 1, 1 and 2 is a float16, a third of it is not."""
    means, _ = reduced(Half("float16", "last"), bucket_of((1,)), np.array([[[1], [1], [2]]]))
    assert means.tolist() == [[np.float32(4) / np.float32(3)]]


@each("divide", ["first", "last", "split"])
def test_infinities_and_nans_are_those_of_the_mean(divide):
    mean = mean_of(Half("float16", divide), 3, [inf, -inf, nan, 3.0])
    assert mean[:2] == [inf, -inf]
    assert np.isnan(mean[2])
    assert mean[3] == pytest.approx(3, rel=2e-3)
    assert Half().explain(np.array([inf, nan]), 3) == ["not finite"] * 2


@each("dtype", ["float16", "bfloat16", "float32", "float64", "longdouble"])
def test_gradients_of_any_float_dtype(dtype):
    if dtype == "bfloat16":
        dtype = Half("bfloat16").dtype
    for half in (Half("float16"), Half("bfloat16"), Half("float16", "last")):
        assert mean_of(half, 2, [0.5, -3.0, 96.0], dtype=dtype) == [0.5, -3.0, 96.0]


@each("size", [1, 2, 3, 4, 5])
@each("shapes", [[(0,)], [()], [(7,), (2, 5)], [(64,)]])
@each("dtype", ["float16", "bfloat16"])
def test_bytes_on_the_wire(dtype, shapes, size):
    half, bucket = Half(dtype, algorithm="ring"), bucket_of(*shapes)
    assert half.nbytes_reduced(bucket) == 2 * bucket.count
    expected = ring_bytes(bucket.count, 2, size)
    assert [rank.received_bytes for rank in traffic(half, bucket, size)] == expected
    assert sum(expected) == 2 * (size - 1) * half.nbytes_reduced(bucket)


@each(
    ("arguments", "said"),
    [
        ({"dtype": "int8"}, "dtype='int8' must be 'float16' or 'bfloat16'"),
        ({"dtype": np.float16}, "must be 'float16' or 'bfloat16'"),
        ({"divide": "never"}, "divide='never' must be 'first', 'last' or 'split'"),
    ],
)
def test_wrong_arguments(arguments, said):
    with pytest.raises(ArgumentError, match=said):
        Half(**arguments)


def test_wrong_size_to_explain():
    with pytest.raises(ArgumentError, match="size=0 must be at least 1"):
        Half().explain(np.ones(1), 0)
