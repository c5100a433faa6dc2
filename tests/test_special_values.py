"""What operators make of NaN, infinities, zeros of both signs, and overflow (IEEE 754-2019)."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest

from operator_table import DTYPES, EXTENSIONS, WITH_INFINITY, merged, named
from refcoll.operators import OPERATORS
from samples import looped


@named(DTYPES["float"])
@pytest.mark.parametrize("name", ["sum", "prod", "min", "max", "avg"])
def test_nan_propagates_from_either_side(name, dtype):
    values = [math.nan, 1, math.nan, 0, -1], [1, math.nan, math.nan, math.nan, 2]
    assert np.isnan(merged(name, *values, dtype)).tolist() == [True] * 4 + [False]


@named(DTYPES["float"])
@pytest.mark.parametrize("name", ["min", "max"])
def test_nan_propagates_at_every_place_of_a_long_vector(name, dtype):
    """Vector instructions, and what is left over after the last of them."""
    for length in range(1, 71):
        for at in {0, length // 2, length - 1}:
            left, right = np.zeros((2, length))
            left[at] = math.nan
            wanted = [i == at for i in range(length)]
            assert np.isnan(merged(name, left, right, dtype)).tolist() == wanted
            assert np.isnan(merged(name, right, left, dtype)).tolist() == wanted


@named(DTYPES["float"])
@looped(length=range(1, 71))
def test_minus_zero_is_below_plus_zero(dtype, length):
    plus, minus = np.full(length, 0.0), np.full(length, -0.0)
    alternating = np.where(np.arange(length) % 2, 0.0, -0.0)
    for left, right in [(plus, minus), (minus, plus), (alternating, -alternating)]:
        for name, negative in [("min", True), ("max", False)]:
            out = merged(name, left, right, dtype)
            assert (out == 0).all()
            assert (np.signbit(out.astype(np.float64)) == negative).all()


@named(DTYPES["float"])
def test_equal_zeros_keep_their_sign(dtype):
    for name in ("min", "max"):
        for zero in (0.0, -0.0):
            out = merged(name, [zero] * 5, [zero] * 5, dtype)
            assert (np.signbit(out.astype(np.float64)) == np.signbit(zero)).all()


@named(DTYPES["float"])
def test_zeros_beside_other_numbers(dtype):
    """The sign of zero is settled where both are zero, and nowhere else."""
    left, right = [-0.0, 0.0, 3, -2, -0.0], [1, -1, -0.0, 0.0, 0.0]
    assert merged("min", left, right, dtype).astype(float).tolist() == [-0.0, -1, -0.0, -2, -0.0]
    assert np.signbit(merged("min", left, right, dtype).astype(float)).all()
    largest = merged("max", left, right, dtype).astype(float)
    assert largest.tolist() == [1, 0, 3, 0, 0]
    assert not np.signbit(largest).any()


@named(WITH_INFINITY)
def test_infinities(dtype):
    inf = math.inf
    assert np.isnan(merged("sum", [inf, -inf], [-inf, inf], dtype).astype(float)).all()
    assert np.isnan(merged("prod", [0, inf], [inf, 0], dtype).astype(float)).all()
    assert merged("sum", [inf, -inf], [inf, 1], dtype).astype(float).tolist() == [inf, -inf]
    assert merged("min", [inf, -inf], [1, 1], dtype).astype(float).tolist() == [1, -inf]
    assert merged("max", [inf, -inf], [1, 1], dtype).astype(float).tolist() == [inf, 1]


@named(WITH_INFINITY)
def test_overflow_is_infinity(dtype):
    largest = (ml_dtypes.finfo if dtype in EXTENSIONS else np.finfo)(dtype).max
    operand = np.array([largest, -largest], dtype)
    out = np.empty_like(operand)
    OPERATORS["sum"].merge(operand, operand, out)
    assert out.astype(float).tolist() == [math.inf, -math.inf]


@named([dtype for dtype in EXTENSIONS if dtype.name != "float8_e3m4"])  # that ends at 15.5
def test_narrow_floats_round_each_merge_to_nearest_even(dtype):
    """With p bits of precision 2^p + 1 lies half-way, and rounds to 2^p, which is even."""
    precision = ml_dtypes.finfo(dtype).nmant + 1
    assert merged("sum", [2.0**precision], [1], dtype).astype(float) == 2.0**precision
    assert merged("sum", [2.0**precision], [2], dtype).astype(float) == 2.0**precision + 2
