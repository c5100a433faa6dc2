"""Averages, which are divided once, and sums in a wider dtype, which are rounded once."""

from __future__ import annotations

from functools import reduce

import ml_dtypes
import numpy as np
import pytest

import refcoll
from on_threads import SIZES, for_any_size, spawn


@pytest.mark.parametrize("size", SIZES)
def test_the_average_is_divided_once_at_the_end(size):
    """Of 1/3, 2/3, ...: the float64 sum in rank order, divided by N."""
    x = [np.array([(rank + 1) / 3]) for rank in range(size)]
    wanted = reduce(np.add, x) / size
    for result in spawn(size, lambda c: c.all_reduce(x[c.rank], "avg", algorithm="binomial")):
        assert result == wanted
    assert spawn(size, lambda c: c.reduce(x[c.rank], "avg", algorithm="binomial"))[0] == wanted


def test_the_average_is_finished_on_pieces_too():
    for rank, result in enumerate(
        spawn(2, lambda c: c.reduce_scatter(np.array([1.0, 5.0]), "avg"))
    ):
        assert result.tolist() == [[1.0], [5.0]][rank]


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e5m2", "bfloat16"])
@pytest.mark.parametrize("size", [5, 9, 17])
def test_the_average_divides_by_n_even_where_the_dtype_cannot_hold_n(dtype, size):
    """One rank brings 8, the others 0: 8/N, rounded once."""
    dtype = np.dtype(getattr(ml_dtypes, dtype))

    def body(comm):
        return comm.all_reduce(np.array([8 * (comm.rank == 0)]).astype(dtype), "avg")

    assert spawn(size, body)[0][0] == np.float64(8 / size).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("algorithm", for_any_size("all_reduce"))
def test_accumulating_wider_rounds_once(dtype, algorithm):
    """1 + 7 times the half of the distance to the next number: per hop each half is lost (or
    rounded up); exactly it is 1 + 3.5 distances, which rounds to even, 1 + 4 distances."""
    unit = float(ml_dtypes.finfo(dtype).eps)
    x = [np.array([1.0 if rank == 0 else unit / 2] * 9).astype(dtype) for rank in range(8)]

    def body(comm):
        wide = comm.all_reduce(x[comm.rank], accumulate="float32", algorithm=algorithm)
        mean = comm.all_reduce(x[comm.rank], "avg", accumulate="float32", algorithm=algorithm)
        narrow = comm.all_reduce(x[comm.rank], algorithm="ring")
        return wide, mean, narrow

    for wide, mean, narrow in spawn(8, body):
        assert wide.dtype == mean.dtype == dtype
        assert wide.astype(float).tolist() == [1 + 4 * unit] * 9
        # (1 + 3.5 u)/8: the sum scaled by a power of two, so rounded likewise
        assert mean.astype(float).tolist() == [(1 + 4 * unit) / 8] * 9
        assert not np.array_equal(narrow, wide)


def test_accumulating_wider_keeps_an_average_from_overflowing():
    x = np.full(3, 40_000, np.float16)  # twice that is beyond float16's 65504
    (narrow, wide), _ = spawn(
        2, lambda c: (c.all_reduce(x, "avg"), c.all_reduce(x, "avg", accumulate="float32"))
    )
    assert np.all(np.isinf(narrow))
    assert np.array_equal(wide, x)


def test_accumulating_works_in_place_and_for_pieces():
    def body(comm):
        x = np.arange(8, dtype=np.float16)
        piece = comm.reduce_scatter(x, accumulate=np.float64)
        assert comm.all_reduce(x, out=x, accumulate="float32") is x
        return x, piece

    for rank, (x, piece) in enumerate(spawn(2, body)):
        assert x.dtype == piece.dtype == np.float16
        assert np.array_equal(x, 2 * np.arange(8))
        assert np.array_equal(piece, 2 * np.arange(8)[4 * rank : 4 * rank + 4])


@pytest.mark.parametrize("accumulate", ["uint16", "uint8", "uint64"])
def test_accumulating_integers_of_the_other_sign_is_refused_or_right(accumulate):
    def body(comm):
        x = np.array([[-1, 5][comm.rank]], np.int8)
        try:
            return comm.all_reduce(x, "max", accumulate=accumulate).tolist()
        except refcoll.ArgumentError:
            return [5]

    assert spawn(2, body) == [[5], [5]]


@pytest.mark.parametrize("dtypes", [("<f4", ">f4"), (">f8", "<f8")])
def test_byte_order_of_the_accumulator_does_not_matter(dtypes):
    def body(comm):
        return comm.all_reduce(np.ones(3, np.float32), accumulate=dtypes[comm.rank])[0]

    assert spawn(2, body, timeout=5) == [2.0, 2.0]
