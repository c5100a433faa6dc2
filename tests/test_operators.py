"""The table at the top of refcoll/operators.py, row by row: which dtypes, which values."""

from __future__ import annotations

from fractions import Fraction
from functools import reduce

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from operator_table import (
    DEFINED,
    DTYPES,
    EVERYTHING,
    EXTENSIONS,
    PYTHON,
    TABLE,
    merged,
    named,
    wrapped,
)
from refcoll import ArgumentError, program, simulate, user_operator
from refcoll.operators import OPERATORS, kind, operator
from samples import looped

# ---- which operator for which dtype --------------------------------------------------------


def test_the_table_lists_all_operators():
    assert set(OPERATORS) == set(TABLE)


@named(EVERYTHING)
@looped(name=TABLE)
def test_an_operator_is_defined_where_the_table_says_so(name, dtype):
    (group,) = [group for group, dtypes in DTYPES.items() if dtype in dtypes]
    if group in TABLE[name]:
        OPERATORS[name].require(dtype)
        ones = np.ones(3, dtype)
        OPERATORS[name].merge(ones, ones, np.empty_like(ones))
    else:
        with pytest.raises(ArgumentError) as error:
            OPERATORS[name].require(dtype)
        assert name in str(error.value)
        assert dtype.name in str(error.value)


@named(EVERYTHING)
def test_kinds(dtype):
    (group,) = [group for group, dtypes in DTYPES.items() if dtype in dtypes]
    assert kind(dtype) == group[0]


@pytest.mark.parametrize(
    "dtype", ["datetime64[s]", "timedelta64[s]", "U3", "S3", "O", "i4,f8", ml_dtypes.int4]
)
def test_what_is_not_a_number_is_refused(dtype):
    with pytest.raises(ArgumentError, match="not numeric"):
        kind(np.dtype(dtype))


def test_an_operator_by_name_or_as_it_is():
    assert operator("sum") is OPERATORS["sum"]
    assert operator(OPERATORS["max"]) is OPERATORS["max"]
    for unknown in ("plus", "", None, np.add):
        with pytest.raises(ArgumentError, match="is not an operator; use one of sum, prod"):
            operator(unknown)


def test_all_built_in_operators_commute():
    assert all(each.commutative for each in OPERATORS.values())


# ---- values --------------------------------------------------------------------------------


@named(DTYPES["integer"])
@pytest.mark.parametrize("name", PYTHON)
@given(data=st.data())
@settings(max_examples=25, deadline=None)
def test_integers_are_exact_and_wrap(name, dtype, data):
    info = np.iinfo(dtype)
    values = st.lists(st.integers(int(info.min), int(info.max)), min_size=4, max_size=4)
    left, right = data.draw(values), data.draw(values)
    out = np.empty(4, dtype)
    OPERATORS[name].merge(np.array(left, dtype), np.array(right, dtype), out)
    expected = [wrapped(PYTHON[name](a, b), dtype) for a, b in zip(left, right, strict=True)]
    assert out.tolist() == expected


@pytest.mark.parametrize(
    ("name", "truth"),  # for False False, False True, True False, True True
    [
        ("min", "0001"),
        ("max", "0111"),
        ("bitwise_and", "0001"),
        ("bitwise_or", "0111"),
        ("bitwise_xor", "0110"),
        ("logical_and", "0001"),
        ("logical_or", "0111"),
        ("logical_xor", "0110"),
    ],
)
def test_truth_tables(name, truth):
    out = merged(name, [0, 0, 1, 1], [0, 1, 0, 1], np.bool_)
    assert out.tolist() == [digit == "1" for digit in truth]


@named(DTYPES["float"] + DTYPES["complex"])
def test_small_values_are_exact(dtype):
    assert np.array_equal(merged("sum", [1, 2, -4], [2, -3, 0.5], dtype), [3, -1, -3.5])
    assert np.array_equal(merged("prod", [1, 2, -4], [2, -3, 0.5], dtype), [2, -6, -2])
    if dtype not in DTYPES["complex"]:
        assert np.array_equal(merged("min", [1, 2, -4], [2, -3, 0.5], dtype), [1, -3, -4])
        assert np.array_equal(merged("max", [1, 2, -4], [2, -3, 0.5], dtype), [2, 2, 0.5])


@named([np.dtype(np.complex64), np.dtype(np.complex128)])
def test_complex_products(dtype):
    assert merged("prod", [1 + 2j], [3 - 1j], dtype).tolist() == [5 + 5j]


@pytest.mark.parametrize(("name", "dtype"), DEFINED)
@looped(into=["left", "right"])
def test_the_result_may_replace_an_operand(name, dtype, into):
    left = np.array([1, 0, 1, 0, 2, -0.0, 0.0] * 9).astype(dtype)
    right = np.array([0, 0, 1, 1, 3, 0.0, -0.0] * 9).astype(dtype)
    expected = np.empty_like(left)
    OPERATORS[name].merge(left, right, expected)
    out = left if into == "left" else right
    OPERATORS[name].merge(left, right, out)
    # Of a longdouble's 16 bytes 6 mean nothing; these small values fit in less.
    assert out.astype(complex).tobytes() == expected.astype(complex).tobytes()


# ---- what is done once, at the end ---------------------------------------------------------


@pytest.mark.parametrize("size", [1, 2, 3, 7, 10])
def test_avg_divides_once_after_the_sum(size):
    """N times 1/N rounded is not 1 for N = 3 in float16 (0.99951), but N/N is."""
    total = reduce(lambda a, b: merged("avg", a, b, np.float16), [np.ones(2, np.float16)] * size)
    assert total.tolist() == [size, size]
    OPERATORS["avg"].finish(total, size)
    assert total.tolist() == [1, 1]


@named([np.dtype(d) for d in (np.float16, np.float32, np.float64, np.complex64, np.complex128)])
@given(values=st.lists(st.integers(-9, 9), min_size=1, max_size=9))
@settings(deadline=None)
def test_avg_is_the_correctly_rounded_quotient(dtype, values):
    """Of complex numbers each part: none of its neighbours is nearer to the exact one."""
    total = np.array([sum(values)]).astype(dtype) * dtype.type(1j if dtype.kind == "c" else 1)
    OPERATORS["avg"].finish(total, len(values))
    part = total[0].imag if dtype.kind == "c" else total[0]
    quotient = Fraction(sum(values), len(values))
    below, above = (np.nextafter(part, part.dtype.type(s * np.inf)) for s in (-1, 1))
    error = abs(Fraction(float(part)) - quotient)
    assert all(error <= abs(Fraction(float(x)) - quotient) for x in (below, above))
    assert total[0].real == (0 if dtype.kind == "c" else part)


@named([dtype for dtype in EXTENSIONS if dtype.itemsize == 1])
@pytest.mark.parametrize("size", [2, 3, 7, 9, 17, 100, 1000])
def test_avg_of_every_float8_is_the_nearest_there_is(dtype, size):
    """Though a float8 may have no 9, say: 40/9 = 4.44 is nearer to 4 than to 40/8 = 5."""
    everything = np.arange(256, dtype=np.uint8).view(dtype).astype(float)
    finite = everything[np.isfinite(everything)]
    result = finite.astype(dtype)
    OPERATORS["avg"].finish(result, size)
    # |value/size - candidate| times size, which is exact in float64.
    errors = np.abs(finite[:, None] - size * finite[None, :])
    assert np.array_equal(np.abs(finite - size * result.astype(float)), errors.min(axis=1))


@pytest.mark.parametrize("name", ["logical_and", "logical_or", "logical_xor"])
@named(DTYPES["integer"] + DTYPES["bool"])
def test_logical_results_are_0_or_1_on_one_rank_as_on_many(name, dtype):
    one = simulate(program("all_reduce", "ring", 1), [np.array([0, 1, 5]).astype(dtype)], name)
    assert one[0].tolist() == [0, 1, 1]
    x = np.array([[0, 0, 5, 5], [0, 6, 0, 6]]).astype(dtype)
    truth = {"logical_and": [0, 0, 0, 1], "logical_or": [0, 1, 1, 1], "logical_xor": [0, 1, 1, 0]}
    for result in simulate(program("all_reduce", "ring", 2), list(x), name):
        assert result.tolist() == truth[name]


@pytest.mark.parametrize("name", sorted(set(TABLE) - {"avg"} - {n for n in TABLE if "log" in n}))
def test_other_operators_leave_the_merge_as_it_is(name):
    values = np.array([0, 1, 5, 7])
    OPERATORS[name].finish(values, 4)
    assert values.tolist() == [0, 1, 5, 7]


# ---- one's own -----------------------------------------------------------------------------


@pytest.mark.parametrize("into", ["left", "right", "third"])
def test_a_user_operator_keeps_its_operands_in_order(into):
    op = user_operator(lambda left, right: 10 * left + right, "digits")
    left, right = np.array([1, 2]), np.array([3, 4])
    out = {"left": left, "right": right, "third": np.empty_like(left)}[into]
    op.merge(left, right, out)
    assert out.tolist() == [13, 24]


def test_a_user_operator_commutes_only_if_it_is_said_to():
    assert not user_operator(np.maximum, "mine").commutative
    assert user_operator(np.maximum, "mine", commutative=True).commutative


@named(EVERYTHING)
def test_a_user_operator_is_defined_for_every_number(dtype):
    user_operator(np.add, "mine").require(dtype)


def test_a_user_operator_may_return_one_of_its_operands():
    op = user_operator(lambda left, right: right, "last")
    left, right = np.array([1, 2]), np.array([3, 4])
    op.merge(left, right, left)
    assert left.tolist() == [3, 4]
