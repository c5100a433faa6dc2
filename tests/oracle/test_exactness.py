"""Exact in every order, up to 128 ranks: by magnitudes, not by trying orders; and silence.

Whole multiples of a unit add up exactly in any order if the sum of their magnitudes is at most
2^p units (p digits of the dtype); integers wrap in no order if it is within their range; products
are exact if all factors but one are units.
"""

from functools import reduce

import ml_dtypes
import numpy as np
import pytest

from refcoll.operators import kind, operator
from refcoll.oracle.calls import Call, operators_for
from refcoll.oracle.probes import inputs, probes_for
from refcoll.oracle.truth import truth
from refcoll.testing.values import DTYPES, dtype_named

SIZES = [1, 2, 3, 4, 5, 8, 16, 33, 64, 100, 127, 128]
DIGITS = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}
FLOATS = list(DIGITS)
INTEGERS = [each for each in DTYPES if "int" in each]
COUNT = 40


def rows(probe, dtype, op, size, count=COUNT):
    """All ranks' inputs, a row each; of complex numbers the parts."""
    given = np.stack(inputs(probe, Call("all_reduce", count, dtype, op), size, seed=3))
    return given.view(given.real.dtype) if given.dtype.kind == "c" else given


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", [*FLOATS, "complex64", "complex128"])
def test_sums_of_whole_floats_fit_their_digits(dtype, size):
    for probe in ("coded", "special"):
        wide = rows(probe, dtype, "sum", size).astype(np.float64)
        finite = np.where(np.isfinite(wide), wide, 0)
        digits = DIGITS[{"complex64": "float32", "complex128": "float64"}.get(dtype, dtype)]
        assert (finite == np.rint(finite)).all()
        assert np.abs(finite).sum(axis=0).max() <= 2**digits


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", FLOATS)
def test_sums_of_subnormals_are_subnormal(dtype, size):
    info = ml_dtypes.finfo(dtype_named(dtype))
    raw = rows("tiny", dtype, "sum", size)
    units = raw.view(f"u{raw.dtype.itemsize}").astype(int)  # positive subnormals count from 0
    assert (raw >= 0).all()
    assert units.sum(axis=0).min() > 0
    assert units.sum(axis=0).max() < 2 ** (DIGITS[dtype] - 1)
    assert int(np.asarray(info.smallest_normal).view(f"u{raw.dtype.itemsize}")) == 2 ** (
        DIGITS[dtype] - 1
    )


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", INTEGERS)
def test_sums_of_integers_wrap_in_no_order(dtype, size):
    for probe in ("coded", "extremes"):
        exact = rows(probe, dtype, "sum", size).astype(object)
        info = np.iinfo(dtype)
        positive, negative = np.maximum(exact, 0).sum(axis=0), np.minimum(exact, 0).sum(axis=0)
        assert max(positive) <= info.max
        assert min(negative) >= info.min


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS, "complex64"])
def test_of_products_all_factors_but_one_are_units(dtype, size):
    given = np.stack(inputs("coded", Call("all_reduce", COUNT, dtype, "prod"), size, seed=3))
    others = np.abs(given.astype(complex) if given.dtype.kind == "c" else given.astype(float)) != 1
    assert others.sum(axis=0).max() <= 1
    if dtype in FLOATS:
        tiny = np.abs(rows("tiny", dtype, "prod", size).astype(float))
        assert (tiny != 1).sum(axis=0).max() <= 1
        huge = np.abs(rows("huge", dtype, "prod", size).astype(float))
        assert (huge != 1).sum(axis=0).max() <= 2  # whose product is a power of two, or infinite


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", [*FLOATS, "complex64", "complex128"])
def test_rough_products_stay_normal_in_every_order(dtype, size):
    given = np.stack(inputs("rough", Call("all_reduce", COUNT, dtype, "prod"), size, seed=3))
    wide = np.abs(given.astype(complex if given.dtype.kind == "c" else float))
    info = ml_dtypes.finfo(given.real.dtype)
    assert np.abs(np.log2(wide)).sum(axis=0).max() < min(info.maxexp, -info.minexp) - 1


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", FLOATS)
def test_what_overflows_does_so_in_every_order(dtype, size):
    """Of one sign, or the greatest number and its opposite, or one number alone."""
    greatest = float(ml_dtypes.finfo(dtype_named(dtype)).max)
    columns = rows("huge", dtype, "sum", size).astype(float).T / greatest
    for column in columns:
        one_sign = (column >= 0).all() or (column <= 0).all()
        assert one_sign or sorted(column[column != 0].tolist()) == [-1, 1]
        if one_sign and size > 2 and (column != 0).sum() > 1:
            assert np.abs(column).sum() >= 1.5  # halves, of three ranks and more


@pytest.mark.parametrize("size", [2, 5, 33, 127, 128])
@pytest.mark.parametrize("dtype", [each for each in DTYPES if each != "bool"])
def test_coded_sums_tell_ranks_apart(dtype, size):
    """One rank left out, or counted for another, shows in at least a third of the elements."""
    given = rows("coded", dtype, "sum", size, count=131)
    for rank in range(size):
        assert (given[rank] != 0).mean() > 1 / 3
        assert (given[rank] != given[rank - 1]).mean() > 1 / 3


def in_orders(op, given):
    """What right implementations compute: along chains, by a tree, in two levels, and wider."""

    def merge(left, right):
        found = left.copy()
        operator(op).merge(left, right, found)
        return found

    size = len(given)
    yield reduce(merge, given)
    yield reduce(merge, given[::-1])
    yield reduce(merge, [*given[1::2], *given[::2]])
    left = list(given)
    while len(left) > 1:
        left = [merge(*left[i : i + 2]) if i + 1 < len(left) else left[i]
                for i in range(0, len(left), 2)]  # fmt: skip
    yield left[0]
    if op in ("sum", "avg") and kind(given[0].dtype) == "f":
        yield np.sum(np.array(given).astype(np.longdouble), axis=0).astype(given[0].dtype)
    groups = [given[first : first + 8] for first in range(0, size, 8)]
    yield reduce(merge, [reduce(merge, group) for group in groups])


def averaged(op, given):
    """Averages divide last, first, or multiply by the reciprocal."""
    size = len(given)
    if op != "avg":
        yield from in_orders(op, given)
        return
    one = given[0].real.dtype.type
    for total in in_orders(op, given):
        mean = total.copy()
        operator("avg").finish(mean, size)
        yield mean
    yield next(in_orders("sum", [(x / one(size)).astype(x.dtype) for x in given]))
    yield (next(in_orders("sum", given)) * (one(1) / one(size))).astype(given[0].dtype)


@pytest.mark.parametrize("size", [3, 128])
@pytest.mark.parametrize("dtype", DTYPES)
def test_silence_on_what_is_right(dtype, size):
    for op in operators_for(dtype):
        call = Call("all_reduce", 24, dtype, op)
        for probe in probes_for(call):
            given = inputs(probe, call, size, seed=1)
            right = truth(probe, call, given, 0)
            with np.errstate(all="ignore"):
                for got in averaged(op, given):
                    done = got.copy()
                    if op.startswith("logical"):
                        operator(op).finish(done, size)
                    assert not right.check(done).any(), (op, probe)


@pytest.mark.parametrize("size", [2, 128])
@pytest.mark.parametrize("dtype", [each for each in DTYPES if each != "bool"])
def test_one_rank_left_out_is_never_right(dtype, size):
    call = Call("all_reduce", 131, dtype)
    given = inputs("coded", call, size, seed=1)
    right = truth("coded", call, given, 0)
    with np.errstate(all="ignore"):
        assert right.check(next(in_orders("sum", given[1:]))).mean() > 1 / 3
