"""Integers that are right in some of their digits."""

import numpy as np
import pytest

from oracle_evidence import in_full, said
from refcoll.oracle.calls import Call


@pytest.mark.parametrize(
    ("dtype", "op", "through"),
    [("int64", "bitwise_or", "int8"), ("int32", "sum", "int16"), ("uint64", "max", "uint32"),
     ("int64", "logical_and", "int32")],
)  # fmt: skip
def test_high_bits_that_are_lost(dtype, op, through):
    merge = {"bitwise_or": np.bitwise_or.reduce, "sum": np.add.reduce, "max": np.maximum.reduce,
             "logical_and": lambda x: np.all(x, axis=0)}[op]  # fmt: skip

    def change(rank, right, given):
        narrow = np.stack(given).astype(through)
        return np.asarray(merge(narrow)).astype(through).astype(dtype)

    words = said(Call("all_reduce", 131, dtype, op), change)
    assert f"passed through {through}: the high bits are lost" in words


def in_halves(given):
    """Added as two vectors of half as wide numbers: no carry between them."""
    half = {8: np.uint32, 4: np.uint16}[given[0].itemsize]
    total = np.sum([x.view(half) for x in given], axis=0, dtype=half)
    return total.view(given[0].dtype)


@pytest.mark.parametrize(
    ("dtype", "low"), [("int64", 32), ("uint64", 32), ("int32", 16), ("uint32", 16)]
)
def test_carries_that_are_lost(dtype, low):
    """It was once called integers that pass through float32."""
    words = said(
        Call("all_reduce", 131, dtype), lambda rank, right, given: in_halves(given), again=in_full
    )
    said_so = f": off by multiples of 2^{low}: the low {low} bits are right, and what they carry"
    assert words.endswith(f"{said_so} is lost, up to 3")


def test_high_bits_that_are_wrong_otherwise():
    def change(rank, right, given):
        right[::9] ^= np.int64(1 << 57 | 1 << 41)
        return right

    words = said(Call("all_reduce", 131, "int64"), change, again=in_full)
    assert words.endswith(
        "off by multiples of 2^40: the low 40 bits are right, the higher ones are not"
    )


def test_eight_bits_of_one_number_are_right_by_chance():
    def change(rank, right, given):
        right[7] += 3 << 8
        return right

    words = said(Call("all_reduce", 131, "int32"), change, again=in_full)
    assert "bits are right" not in words


@pytest.mark.parametrize(
    ("dtype", "through"), [("int64", "float32"), ("int64", "float64"), ("int32", "float32")]
)
def test_integers_through_floats(dtype, through):
    """Added in floats, whose sum is right to so many digits."""

    def change(rank, right, given):
        return np.sum([x.astype(through) for x in given], axis=0).astype(dtype)

    words = said(Call("all_reduce", 131, dtype), change, again=in_full)
    assert f"integers passed through {through}, which has " in words


def test_another_operator_is_not_called_floats():
    """Where one of them is large, and the others are 1, sum and product are near each other."""
    call = Call("all_reduce", 131, "uint32", "prod")
    words = said(call, lambda rank, right, given: in_full(given)[0])
    assert words.endswith(": the sum, not the prod")
