"""What is right: no order of merging is ever called wrong, and what is beyond it is."""

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refcoll.oracle.calls import Call
from refcoll.oracle.comparing import bounded
from refcoll.oracle.merging import merged
from refcoll.oracle.probes import inputs
from refcoll.oracle.truth import truth
from refcoll.testing.values import dtype_named

FLOATS = ("float16", "bfloat16", "float32", "float64")


def by_some_tree(values, draw, ufunc):
    """Merged pair by pair, in an order that is drawn."""
    left = list(values)
    while len(left) > 1:
        one = left.pop(draw(st.integers(0, len(left) - 1)))
        other = left.pop(draw(st.integers(0, len(left) - 1)))
        with np.errstate(all="ignore"):
            left.append(ufunc(one, other).astype(one.dtype))
    return left[0]


@pytest.mark.parametrize("op", ["sum", "prod", "avg"])
@pytest.mark.parametrize("dtype", [*FLOATS, "complex64", "complex128"])
@settings(max_examples=25, deadline=None)
@given(data=st.data(), size=st.integers(1, 9), seed=st.integers(0, 99))
def test_no_order_of_adding_or_multiplying_violates_the_bound(dtype, op, data, size, seed):
    call = Call("all_reduce", 16, dtype, op)
    for probe in ("rough", "coded"):
        listed = inputs(probe, call, size, seed)
        got = by_some_tree(listed, data.draw, np.multiply if op == "prod" else np.add)
        if op == "avg":
            got = (got / got.real.dtype.type(size)).astype(got.dtype)
        assert not truth(probe, call, listed, 0).check(got).any()


@settings(max_examples=25, deadline=None)
@given(data=st.data(), size=st.integers(1, 9), seed=st.integers(0, 99))
def test_dividing_first_or_by_a_reciprocal_is_a_mean_too(data, size, seed):
    call = Call("all_reduce", 16, "float32", "avg")
    listed = inputs("coded", call, size, seed)
    right = truth("coded", call, listed, 0)
    first = by_some_tree([x / np.float32(size) for x in listed], data.draw, np.add)
    last = by_some_tree(listed, data.draw, np.add) * np.float32(1 / size)
    assert not right.check(first).any()
    assert not right.check(last).any()


@pytest.mark.parametrize("dtype", FLOATS)
def test_shares_of_a_mean_may_underflow_and_no_more_than_that(dtype):
    """Three of the least number, divided first: each share is 0, or rounded up to it."""
    parts = np.full((3, 1), float(ml_dtypes.finfo(dtype_named(dtype)).smallest_subnormal))
    right = bounded("avg", parts.astype(dtype_named(dtype)))
    got = [np.array([parts[0, 0] * times], dtype_named(dtype)) for times in range(7)]
    assert [bool(right.check(each)[0]) for each in got] == [False] * 5 + [True] * 2


@pytest.mark.parametrize("dtype", FLOATS)
def test_the_wanted_sum_is_the_exact_one_rounded_once(dtype):
    call = Call("all_reduce", 50, dtype)
    listed = inputs("rough", call, 7, 0)
    wanted = truth("rough", call, listed, 0).wanted
    for place in range(50):
        exact = sum(Fraction(float(x[place])) for x in listed)
        spacing = Fraction(float(np.spacing(np.abs(wanted[place]))))
        assert abs(Fraction(float(wanted[place])) - exact) <= spacing / 2


@pytest.mark.parametrize("dtype", FLOATS)
def test_a_bit_more_than_the_bound_is_wrong(dtype):
    call = Call("all_reduce", 50, dtype)
    listed = inputs("rough", call, 2, 0)
    right = truth("rough", call, listed, 0)
    scale = np.abs(np.stack(listed).astype(np.float64)).sum(axis=0)
    digits = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}[dtype]
    beyond = (right.wanted.astype(np.float64) + scale * 2.0 ** (3 - digits)).astype(
        right.wanted.dtype
    )
    assert right.check(beyond).all()


@pytest.mark.parametrize("op", ["sum", "prod", "avg"])
def test_complex_numbers_merged_in_half_of_their_digits_are_wrong(op):
    call = Call("all_reduce", 50, "complex128", op)
    listed = inputs("rough", call, 4, 0)
    right = truth("rough", call, listed, 0)
    narrow = [x.astype(np.complex64) for x in listed]
    got = (np.prod if op == "prod" else np.sum)(narrow, axis=0) / (4 if op == "avg" else 1)
    assert right.check(got.astype(np.complex128)).mean() > 0.9


@pytest.mark.parametrize("op", ["sum", "prod"])
def test_the_bound_of_doubles_is_the_theorem_s_and_not_twice_that(op):
    """Of two numbers one rounding: what is one place further from the exact result is wrong."""
    call = Call("all_reduce", 200, "float64", op)
    listed = inputs("rough", call, 2, 0)
    right = truth("rough", call, listed, 0)
    got = np.multiply(*listed) if op == "prod" else np.add(*listed)
    same_sign = np.sign(listed[0]) == np.sign(listed[1])
    beyond = np.nextafter(np.nextafter(got, np.inf), np.inf)[same_sign]
    assert not right.check(got).any()
    whole = got.copy()
    whole[same_sign] = beyond
    assert right.check(whole)[same_sign].all()


def special(op="min"):
    call = Call("all_reduce", 131, op=op)
    listed = inputs("special", call, 4, 0)
    return np.stack(listed), truth("special", call, listed, 0)


def test_a_minimum_may_propagate_nans_or_ignore_them_but_not_now_and_then():
    parts, right = special()
    propagated, ignored = np.minimum.reduce(parts), np.fmin.reduce(parts)
    assert not right.check(propagated).any()
    assert not right.check(ignored).any()
    mixed = propagated.copy()
    mixed[:65] = ignored[:65]
    assert right.check(mixed).any()


def test_zeros_may_have_either_sign_where_something_is_merged():
    parts, right = special()
    flipped = np.where(
        np.minimum.reduce(parts) == 0, -np.minimum.reduce(parts), np.minimum.reduce(parts)
    )
    assert not right.check(flipped).any()


def test_a_lost_infinity_or_nan_of_a_sum_is_wrong():
    with np.errstate(invalid="ignore"):
        parts, right = special("sum")
        total = np.add.reduce(parts)
    assert not right.check(total).any()
    assert right.check(np.nan_to_num(total)).sum() == (~np.isfinite(total)).sum()


def test_parts_of_complex_sums_are_held_to_account_each_for_itself():
    call = Call("all_reduce", 1, "complex64")
    listed = [np.array([complex(np.nan, 1)], np.complex64), np.array([2 + 3j], np.complex64)]
    right = truth("special", call, listed, 0)
    assert not right.check(np.array([complex(np.nan, 4)], np.complex64)).any()
    assert right.check(np.array([complex(np.nan, 5)], np.complex64)).all()
    assert right.check(np.array([complex(2, 4)], np.complex64)).all()


def test_what_is_moved_keeps_its_bits():
    call = Call("broadcast", 2, "float32", None)
    listed = [np.array([-0.0, np.nan], np.float32), np.zeros(0, np.float32)]
    right = truth("bits", call, listed, 1)
    assert right.check(np.array([0.0, -np.nan], np.float32)).tolist() == [True, True]
    assert right.check(listed[0]).tolist() == [False, False]


def test_a_bool_is_0_or_1():
    call = Call("all_reduce", 2, "bool", "logical_or")
    right = truth("coded", call, [np.array([True, False])] * 2, 0)
    assert right.check(np.array([2, 0], np.uint8).view(bool)).tolist() == [True, False]


def test_alone_a_logical_result_may_be_the_input():
    call = Call("all_reduce", 3, "int32", "logical_and")
    right = truth("coded", call, [np.array([0, 7, 1], np.int32)], 0)
    assert right.check(np.array([0, 7, 1], np.int32)).tolist() == [False] * 3
    assert right.check(np.array([0, 1, 7], np.int32)).tolist() == [False, False, True]


def test_scans_merge_the_ranks_up_to_this_one_or_below_it():
    listed = [np.array([10**rank], np.int32) for rank in range(4)]
    for collective, rights in (("scan", [1, 11, 111, 1111]), ("exscan", [None, 1, 11, 111])):
        found = [truth("coded", Call(collective, 1, "int32"), listed, rank) for rank in range(4)]
        assert [each and int(each.wanted[0]) for each in found] == rights


def test_integers_wrap():
    parts = np.array([[200], [100]], np.uint8)
    assert merged("sum", parts).tolist() == [44]


def test_bfloat16_is_merged_in_a_wide_dtype():
    parts = np.array([[256]] + [[1]] * 7, dtype_named("bfloat16"))
    assert merged("sum", parts).tolist() == [263.0]
