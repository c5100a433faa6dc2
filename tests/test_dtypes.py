"""Every dtype, and the values that only some have, by the operators of numpy and IEEE 754."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from on_threads import SIZES, for_any_size, spawn
from refcoll.testing.assertions import same_bits

NUMBERS = [
    np.int8, np.uint16, np.int32, np.uint64, np.float16, np.float32, np.float64, np.longdouble,
    np.complex64, np.complex128, np.clongdouble, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn,
    ml_dtypes.float8_e5m2, ">i4", ">f4", ">f8", ">c16", "<u2",
]  # fmt: skip


@pytest.mark.parametrize("dtype", NUMBERS, ids=lambda d: np.dtype(d).str + np.dtype(d).name)
@pytest.mark.parametrize("algorithm", ["ring", "recursive_doubling", "binomial"])
def test_any_number(dtype, algorithm):
    """Small integers, which every dtype adds exactly: float8_e5m2 holds 0, ..., 8."""
    dtype = np.dtype(dtype)
    x = np.array([[0, 1, 2, 1], [1, 1, 0, 2], [2, 0, 1, 4]])

    def body(comm):
        mine = x[comm.rank].astype(dtype)
        return comm.all_reduce(mine, algorithm=algorithm), comm.all_gather(mine)

    for total, whole in spawn(3, body):
        assert total.dtype == whole.dtype == dtype
        assert total.astype(np.complex128).tolist() == [3, 2, 3, 7]
        assert whole.astype(np.complex128).tolist() == x.reshape(-1).tolist()


@pytest.mark.parametrize(("op", "wanted"), [
    ("logical_and", [0, 0, 1]), ("logical_or", [0, 1, 1]), ("logical_xor", [0, 1, 1]),
    ("bitwise_and", [0, 0, 1]), ("bitwise_or", [0, 1, 1]), ("bitwise_xor", [0, 1, 1]),
    ("min", [0, 0, 1]), ("max", [0, 1, 1]),
])  # fmt: skip
def test_bools(op, wanted):
    x = np.array([[0, 0, 1], [0, 1, 1], [0, 0, 1]], bool)
    for result in spawn(3, lambda c: c.all_reduce(x[c.rank], op)):
        assert result.dtype == bool
        assert result.tolist() == [bool(each) for each in wanted]


@pytest.mark.parametrize("size", SIZES)
def test_logical_operators_give_0_or_1(size):
    for op, wanted in (("logical_and", 1), ("logical_or", 1), ("logical_xor", size % 2)):
        for result in spawn(size, lambda c, op=op: c.all_reduce(np.array([0, 6 + c.rank]), op)):
            assert result.tolist() == [0, wanted]


def test_special_values_are_alike_on_every_rank():
    """IEEE 754-2019 minimum and maximum: NaN propagates, -0.0 < +0.0; inf - inf is NaN."""
    nan, inf = np.nan, np.inf
    x = np.array([[nan, 0.0, inf, 1.0], [1.0, -0.0, -inf, nan], [2.0, 0.0, 0.0, -inf]])
    wanted = {
        "min": [nan, -0.0, -inf, nan],
        "max": [nan, 0.0, inf, nan],
        "sum": [nan, 0.0, nan, nan],
        "prod": [nan, -0.0, nan, nan],
    }
    for name in for_any_size("all_reduce"):
        for op, values in wanted.items():
            for result in spawn(3, lambda c, n=name, o=op: c.all_reduce(x[c.rank], o, algorithm=n)):
                assert same_bits(result, np.array(values)), (name, op, result)


UFUNCS = {"sum": np.add, "prod": np.multiply, "min": np.minimum, "bitwise_xor": np.bitwise_xor}


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_random_calls_against_numpy(data):
    size = data.draw(st.integers(1, 5))
    shape = data.draw(st.lists(st.integers(0, 4), max_size=3))
    x = np.random.default_rng(data.draw(st.integers(0, 99))).integers(-99, 99, (size, *shape))
    op, merge = data.draw(st.sampled_from(list(UFUNCS.items())))
    order = data.draw(st.sampled_from("CF"))
    algorithm = data.draw(st.sampled_from(for_any_size("all_reduce")))

    def body(comm):
        mine = np.array(x[comm.rank], order=order)
        return comm.all_reduce(mine, op, algorithm=algorithm)

    for result in spawn(size, body):
        assert result.shape == tuple(shape)
        assert np.array_equal(result, merge.reduce(x, axis=0))
