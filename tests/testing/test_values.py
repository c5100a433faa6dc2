"""Inputs tell ranks and elements apart, and their merged value is right by exact arithmetic."""

from __future__ import annotations

import operator
from fractions import Fraction
from functools import reduce
from itertools import permutations

import numpy as np
import pytest

from refcoll.testing.values import DTYPES, dtype_named, merged, rank_input
from samples import looped

BITS = {name: np.iinfo(name).bits for name in DTYPES if "int" in name}
FLOATS = ("float16", "bfloat16", "float32", "float64", "float8_e4m3fn")
COMPLEX = ("complex64", "complex128")
INTEGER_OPERATORS = {
    "sum": operator.add,
    "prod": operator.mul,
    "min": min,
    "max": max,
    "bitwise_and": operator.and_,
    "bitwise_or": operator.or_,
    "bitwise_xor": operator.xor,
    "logical_and": lambda a, b: int(bool(a) and bool(b)),
    "logical_or": lambda a, b: int(bool(a) or bool(b)),
    "logical_xor": lambda a, b: int(bool(a) != bool(b)),
}
FLOAT_OPERATORS = ("sum", "prod", "min", "max")


def columns(size, count, dtype, op):
    """For every element the ranks' values, as Python numbers."""
    inputs = [rank_input(rank, count, dtype_named(dtype), op) for rank in range(size)]
    assert all(x.dtype == dtype_named(dtype) and x.shape == (count,) for x in inputs)
    python = complex if dtype in COMPLEX else float if dtype in FLOATS else int
    return [[python(x[i]) for x in inputs] for i in range(count)]


def wrapped(value, dtype):
    """``value`` modulo 2^bits, as two's complement has it."""
    bits = BITS[dtype]
    value %= 1 << bits
    return value - (1 << bits) if dtype.startswith("int") and value >> (bits - 1) else value


@looped(op=INTEGER_OPERATORS, size=[1, 2, 3, 8, 13])
@pytest.mark.parametrize("dtype", BITS)
def test_integers_by_python_integers(dtype, op, size):
    total = merged(size, 60, dtype_named(dtype), op)
    assert total.dtype == np.dtype(dtype)
    for value, column in zip(total, columns(size, 60, dtype, op), strict=True):
        start = [int(bool(each)) for each in column] if op.startswith("logical") else column
        assert int(value) == wrapped(reduce(INTEGER_OPERATORS[op], start), dtype)


@pytest.mark.parametrize("op", ["min", "max", "bitwise_and", "logical_or", "bitwise_xor"])
def test_bools(op):
    total = merged(3, 60, np.dtype(bool), op)
    assert total.dtype == bool
    for value, column in zip(total, columns(3, 60, "bool", op), strict=True):
        assert value == bool(reduce(INTEGER_OPERATORS[op], column))


@looped(op=FLOAT_OPERATORS, size=[1, 2, 3, 8, 13])
@pytest.mark.parametrize("dtype", FLOATS[:4])
def test_floats_by_fractions(dtype, op, size):
    total = merged(size, 60, dtype_named(dtype), op)
    for value, column in zip(total, columns(size, 60, dtype, op), strict=True):
        assert Fraction(float(value)) == reduce(INTEGER_OPERATORS[op], map(Fraction, column))


@pytest.mark.parametrize("size", [1, 2, 3, 7, 13])
@pytest.mark.parametrize("dtype", FLOATS[:4])
def test_averages_are_rounded_once(dtype, size):
    """float64 of a Fraction is correctly rounded, and has more than twice the digits of the
    narrower dtypes and two more, so that rounding it again is correct for them."""
    total = merged(size, 60, dtype_named(dtype), "avg")
    for value, column in zip(total, columns(size, 60, dtype, "avg"), strict=True):
        mean = sum(map(Fraction, column)) / size
        assert value == np.float64(float(mean)).astype(dtype_named(dtype))


@pytest.mark.parametrize("size", [1, 3, 8])
@pytest.mark.parametrize("op", ["sum", "prod"])
@pytest.mark.parametrize("dtype", COMPLEX)
def test_complex_numbers_by_pairs_of_integers(dtype, op, size):
    def times(a, b):
        return a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]

    def plus(a, b):
        return a[0] + b[0], a[1] + b[1]

    total = merged(size, 60, dtype_named(dtype), op)
    for value, column in zip(total, columns(size, 60, dtype, op), strict=True):
        pairs = [(int(each.real), int(each.imag)) for each in column]
        assert (value.real, value.imag) == reduce(plus if op == "sum" else times, pairs)


@pytest.mark.parametrize("op", ["sum", "prod"])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "float16", "bfloat16", "complex64"])
def test_every_order_of_merging_is_exact(dtype, op):
    inputs = [rank_input(rank, 200, dtype_named(dtype), op) for rank in range(5)]
    ufunc = np.add if op == "sum" else np.multiply
    total = merged(5, 200, dtype_named(dtype), op)
    for order in permutations(inputs):
        assert np.array_equal(reduce(ufunc, order), total)


@pytest.mark.parametrize(("dtype", "ranks", "digits"), [
    ("bfloat16", 256, 8), ("float16", 2048, 11), ("float32", 10_000, 24), ("complex64", 10_000, 24),
])  # fmt: skip
def test_sums_stay_exact_on_many_ranks(dtype, ranks, digits):
    """A float of so many binary digits holds every integer up to 2^digits."""
    largest = 0.0
    for rank in range(64):
        x = rank_input(rank, 2000, dtype_named(dtype), "sum").astype(complex)
        largest = max(largest, np.abs(x.real).max(), np.abs(x.imag).max())
    assert largest * ranks <= 2**digits


@pytest.mark.parametrize("op", ["sum", "max", "bitwise_xor"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_inputs_tell_ranks_and_elements_apart(dtype, op):
    """In every chunk of 8, for any two of 8 ranks, and from one chunk to the next."""
    inputs = [rank_input(rank, 1000, dtype_named(dtype), op).reshape(8, 125) for rank in range(8)]
    for a in range(8):
        for b in range(8):
            for chunk in range(8):
                same_place = np.array_equal(inputs[a][chunk], inputs[b][chunk])
                assert same_place == (a == b), (a, b, chunk)
                if chunk:
                    assert not np.array_equal(inputs[a][chunk], inputs[a][chunk - 1])


@pytest.mark.parametrize("op", ["sum", "prod"])
@pytest.mark.parametrize("dtype", [name for name in DTYPES if name != "bool"])
def test_a_rank_counted_twice_for_another_shows(dtype, op):
    ufunc = np.add if op == "sum" else np.multiply
    wanted = merged(4, 40, dtype_named(dtype), op)
    inputs = [rank_input(rank, 40, dtype_named(dtype), op) for rank in range(4)]
    for twice in range(4):
        for missing in set(range(4)) - {twice}:
            wrong = reduce(ufunc, [inputs[twice if r == missing else r] for r in range(4)])
            assert not np.array_equal(wrong, wanted)


def test_lengths_from_none_on():
    for count in (0, 1):
        assert rank_input(3, count, np.dtype(np.float32), "sum").shape == (count,)
        assert merged(3, count, np.dtype(np.float32), "avg").shape == (count,)
