"""What is off by little, or by strange amounts, is called what it is, and not something else."""

import numpy as np
import pytest

from oracle_evidence import SIZE, in_full, said
from refcoll.oracle.calls import Call
from refcoll.oracle.floats import ordinals
from refcoll.testing.values import dtype_named

SUM = Call("all_reduce", 131)
FLOATS = ("float16", "bfloat16", "float32", "float64")


def moved_by(steps, places=slice(None, None, 8)):
    """To the number that many further up."""

    def change(rank, right, given):
        raw = right.view(f"i{right.itemsize}")
        raw[places] += np.where(raw < 0, -steps, steps)[places].astype(raw.dtype)
        return right

    return change


@pytest.mark.parametrize("dtype", FLOATS)
def test_numbers_of_a_dtype_are_counted(dtype):
    """Neighbours by nextafter; zeros of both signs are one number."""
    native = dtype_named(dtype)
    x = np.array([-2, -1, -0.0, 0, 0.5, 1, 100], native)
    up = np.nextafter(x, np.asarray(np.inf, native))
    assert (ordinals(up) - ordinals(x)).tolist() == [1] * 7
    assert (np.diff(ordinals(x)) >= 0).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("steps", "way"), [(1, "too high"), (-1, "too low")])
def test_one_unit_in_the_last_place(dtype, steps, way):
    words = said(Call("all_reduce", 131, dtype), moved_by(steps), again=in_full)
    assert words.startswith(
        "on all ranks: elements 0, 8, 16, 24, ... (every 8th): differs by one unit in "
    )
    assert f"in the last place, {way}; the first is " in words
    assert words.endswith("rounded once too often, or the wrong way")


def test_one_unit_towards_zero_or_now_up_now_down():
    def inwards(rank, right, given):
        return np.nextafter(right, np.float32(0))

    def both(rank, right, given):
        right[::2], right[1::2] = np.nextafter(right[::2], np.inf), np.nextafter(right[1::2], -9e9)
        return right

    assert "in the last place, towards zero; " in said(SUM, inwards, again=in_full)
    assert "in the last place; " in said(SUM, both, again=in_full)


def test_parts_of_complex_numbers_one_unit_off():
    def change(rank, right, given):
        right.imag[3:5] = np.nextafter(right.imag[3:5], np.float32(np.inf))
        return right

    call = Call("all_reduce", 131, "complex64")
    assert "elements 3-4: differs by one unit in the last place, too high" in said(
        call, change, again=in_full
    )


def test_two_units_are_not_called_one():
    assert "last place" not in said(SUM, moved_by(2), again=in_full)


def test_a_missing_rank_is_not_called_rounding():
    """In bfloat16 its 1 may be one unit in the last place of the sum."""
    call = Call("all_reduce", 131, "bfloat16")
    without = lambda given: (sum(x.astype(float) for x in given[:3])).astype(given[0].dtype)  # noqa: E731
    words = said(call, lambda r, x, given: without(given), again=lambda g: [without(g)] * SIZE)
    assert words.startswith("on all ranks: rank 3 missing in ")


# ---- a little too much, somewhere ------------------------------------------------------------


def carrying(given):
    """Chains in which the sum of two negative numbers is one too high."""
    total = given[0].copy()
    for x in given[1:]:
        total = total + x + ((total < 0) & (x < 0)).astype(total.dtype)
    return total


@pytest.mark.parametrize(
    ("dtype", "probe"),
    [("int32", "coded"), ("int64", "coded"), ("int8", "coded"), ("float32", "coded"),
     ("float64", "coded"), ("float64", "rough")],
)  # fmt: skip
def test_one_too_many_where_both_are_negative(dtype, probe):
    """It used to be called integers that pass through float16, or sums in bfloat16."""
    call = Call("all_reduce", 131, dtype)
    words = said(call, lambda r, right, given: carrying(given), probe,
                 again=lambda given: [carrying(given)] * SIZE)  # fmt: skip
    assert words.endswith(": too high by 1 to 3, only where two inputs or more are negative")


def test_too_low_in_elements_that_have_nothing_in_common():
    def change(rank, right, given):
        right[::7] -= 2
        return right

    words = said(Call("all_reduce", 131, "int64"), change, again=in_full)
    assert words == "on all ranks: elements 0, 7, 14, 21, ... (every 7th): too low by 2"


def test_a_constant_and_what_is_added_to_everything():
    constant = lambda given: np.full(131, -1, "f4")  # noqa: E731
    words = said(SUM, lambda r, x, given: constant(given), again=lambda g: [constant(g)] * SIZE)
    assert words == "on all ranks: all 131 elements: -1 whatever the inputs are"
    more = lambda given: np.sum(given, axis=0) + np.float32(5)  # noqa: E731
    words = said(SUM, lambda r, x, given: more(given), again=lambda g: [more(g)] * SIZE)
    assert words == ("on all ranks: all 131 elements: 5 where all inputs are 0: something is added")


# ---- precision -------------------------------------------------------------------------------


@pytest.mark.parametrize("probe", ["coded", "rough"])
@pytest.mark.parametrize("op", ["sum", "prod", "avg"])
def test_complex_numbers_kept_in_half_of_their_digits(op, probe):
    def narrow(given):
        merge = np.prod if op == "prod" else np.sum
        total = merge([x.astype(np.complex64) for x in given], axis=0)
        total = (total / np.float32(SIZE) if op == "avg" else total).astype(np.complex64)
        return total.astype(np.complex128)

    call = Call("all_reduce", 131, "complex128", op)
    if op == "prod" and probe == "coded":
        return  # units and small numbers, which do not round
    words = said(call, lambda r, x, given: narrow(given), probe, again=lambda g: [narrow(g)] * SIZE)
    assert "accumulated in complex64, not complex128: off by up to" in words
