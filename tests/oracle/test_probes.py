"""Inputs by design: exact in any order, different on every rank and in every element."""

import math
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest

from refcoll.oracle.calls import Call, operators_for
from refcoll.oracle.guarded import poisoned
from refcoll.oracle.probes import PROBES, inputs, probes_for
from refcoll.oracle.truth import truth
from refcoll.testing.values import DTYPES, dtype_named

FLOATS = ("float16", "bfloat16", "float32", "float64")


def merged_in(order, given, ufunc):
    total = given[order[0]].copy()
    for rank in order[1:]:
        total = ufunc(total, given[rank]).astype(total.dtype)
    return total


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("size", [2, 3, 5])
def test_coded_sums_are_exact_in_every_order(dtype, size):
    given = inputs("coded", Call("all_reduce", 64, dtype), size, seed=3)
    exact = [sum(Fraction(float(x[i])) for x in given) for i in range(64)]
    for order in permutations(range(size)):
        got = merged_in(order, given, np.add)
        assert [Fraction(float(each)) for each in got] == exact


@pytest.mark.parametrize("dtype", FLOATS)
def test_coded_products_and_subnormal_sums_are_exact_in_every_order(dtype):
    for probe, op, ufunc in (("coded", "prod", np.multiply), ("tiny", "sum", np.add)):
        given = inputs(probe, Call("all_reduce", 40, dtype, op), 4, seed=1)
        results = {merged_in(order, given, ufunc).tobytes() for order in permutations(range(4))}
        assert len(results) == 1, probe
        merge = np.prod if op == "prod" else np.sum
        exact = merge(np.array([x.astype(np.float64) for x in given]), axis=0)
        assert np.array_equal(merged_in(range(4), given, ufunc).astype(np.float64), exact)


def test_subnormal_sums_stay_subnormal():
    given = inputs("tiny", Call("all_reduce", 40, "float32"), 8, seed=1)
    total = np.sum([x.astype(np.float64) for x in given], axis=0)
    assert (total > 0).all()
    assert (total < np.finfo(np.float32).tiny).all()


@pytest.mark.parametrize("dtype", [each for each in DTYPES if each != "bool"])
def test_coded_sums_never_overflow(dtype):
    given = inputs("coded", Call("all_reduce", 200, dtype), 8, seed=2)
    exact = sum(x.astype(object) for x in given)
    assert (np.add.reduce(given, dtype=dtype_named(dtype)).astype(object) == exact).all()


@pytest.mark.parametrize("dtype", ["float32", "int32", "float16"])
def test_ranks_and_elements_differ(dtype):
    given = np.stack(inputs("coded", Call("all_reduce", 131, dtype), 4, seed=0))
    for one in range(4):
        for other in range(one):
            assert (given[one] != given[other]).mean() > 0.95
        assert (given[one][1:] != given[one][:-1]).mean() > 0.95


def test_every_probe_is_used_and_follows_from_its_seed():
    used = set()
    for dtype in DTYPES:
        for op in [*operators_for(dtype), None]:
            call = Call("all_reduce" if op else "all_gather", 24, dtype, op)
            for probe in probes_for(call):
                used.add(probe)
                one, again = inputs(probe, call, 3, 5), inputs(probe, call, 3, 5)
                assert all(a.tobytes() == b.tobytes() for a, b in zip(one, again, strict=True))
                assert [x.size for x in one] == [24] * 3
                assert {x.dtype for x in one} == {dtype_named(dtype)}
    assert used == set(PROBES)


def test_special_values_stand_on_every_rank_in_turn():
    given = np.stack(inputs("special", Call("all_reduce", 131), 4, seed=0))
    assert (given != given).any(axis=1).all()
    assert np.isposinf(given).any(axis=1).all()
    assert np.isneginf(given).any(axis=1).all()
    assert ((given == 0) & np.signbit(given)).any(axis=1).all()
    assert (given != given).sum(axis=0).max() == 1


def test_of_a_sum_of_extremes_all_partial_sums_fit():
    for dtype in ("int8", "int64"):
        given = inputs("extremes", Call("all_reduce", 50, dtype), 4, seed=0)
        exact = sum(x.astype(object) for x in given)
        info = np.iinfo(dtype)
        assert all(info.min <= each <= info.max for each in exact)
        assert any(abs(each) > info.max // 2 for each in exact)


@pytest.mark.parametrize("op", ["sum", "prod"])
def test_unsigned_extremes_wrap_in_some_elements(op):
    """In others they come near to the end of the range, so that the sign bit is set."""
    for dtype in ("uint8", "uint64"):
        given = inputs("extremes", Call("all_reduce", 50, dtype, op), 4, seed=0)
        exact = [math.prod(each) if op == "prod" else sum(each) for each in _columns(given)]
        end = 2 ** (8 * np.dtype(dtype).itemsize)
        wrapped = [each for each in exact if each >= end]
        assert 10 < len(wrapped) < 40
        assert any(end // 2 <= each < end for each in exact)
        right = truth("extremes", Call("all_reduce", 50, dtype, op), given, 0)
        assert right.wanted.tolist() == [each % end for each in exact]


def _columns(given):
    return zip(*(x.tolist() for x in given), strict=True)


def test_no_moved_bits_are_those_of_an_element_that_was_never_written():
    for dtype in ("int8", "uint8", "int16", "float16", "bfloat16"):
        (given,) = inputs("bits", Call("broadcast", 5000, dtype, None), 1, seed=0)
        assert not poisoned(given).any()
        assert len(np.unique(given.view(f"u{given.itemsize}"))) > 200


def test_bits_hold_negative_zeros_and_nans():
    (given,) = inputs("bits", Call("broadcast", 1000, "float32", None), 1, seed=0)
    assert ((given == 0) & np.signbit(given)).any()
    assert len({each.tobytes() for each in given[given != given]}) > 1
