"""The one-line assertions say yes to what is right, and what is wrong with the rest."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from refcoll import Copy, Reduce, Send, algorithms, from_steps, program
from refcoll.testing.assertions import (
    assert_bandwidth_optimal,
    assert_correct,
    assert_exact,
    assert_steps,
    same_bits,
)

# Two ranks exchange twice, so that each ends with 2(x0 + x1); and two that leave a chunk out.
TWICE = from_steps("all_reduce", [[(Send(0, 1 - r), Reduce(0, 1 - r))] * 2 for r in range(2)], 1)
HALF = from_steps("all_reduce", [[(Send(0, 1 - r), Reduce(0, 1 - r))] for r in range(2)], 2)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5])
def test_all_algorithms_are_correct(size):
    for each in algorithms():
        if each.sizes.holds(size):
            assert_correct(program(each.collective, each.name, size))


@pytest.mark.parametrize("wrong", [TWICE, HALF])
def test_a_wrong_program_is_named_with_a_counterexample(wrong):
    with pytest.raises(
        AssertionError, match=r"all_reduce by your steps on 2 ranks is wrong:\n.*rank"
    ):
        assert_correct(wrong)


@pytest.mark.parametrize("size", [1, 2, 3, 8])
def test_steps(size):
    """2(N-1) for the ring (Patarasuk and Yuan), ceil(log2 N) for dissemination."""
    ring = program("all_reduce", "ring", size)
    assert_steps(ring, 2 * (size - 1))
    assert_steps(program("barrier", "dissemination", size), (size - 1).bit_length())
    for wrong in (2 * size - 1, 2 * size - 3):
        with pytest.raises(AssertionError, match=f"takes {2 * (size - 1)} steps, not {wrong}"):
            assert_steps(ring, wrong)


@pytest.mark.parametrize("size", [2, 3, 8])
def test_bandwidth_optimality(size):
    """The ring moves 2(N-1)/N S; a binomial tree S or more per child, its root log2 N times."""
    assert_bandwidth_optimal(program("all_reduce", "ring", size), elements=120 * size)
    if size > 2:
        with pytest.raises(AssertionError, match=f"{120 * 2 * (size - 1)} suffice"):
            assert_bandwidth_optimal(program("all_reduce", "binomial", size), elements=120 * size)


# ---- results -----------------------------------------------------------------------------

INPUTS = [np.arange(6, dtype=np.float32) * (rank + 1) for rank in range(3)]
TOTAL = np.arange(6, dtype=np.float32) * 6


def test_exact_results_pass():
    assert_exact([TOTAL.copy() for _ in range(3)], INPUTS)
    assert_exact([TOTAL / 3] * 3, INPUTS, "avg")
    assert_exact([INPUTS[2]] * 3, INPUTS, "max")
    assert_exact([np.array(6)] * 3, [np.array(k) for k in (1, 2, 3)])


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (INPUTS[0] + 2 * INPUTS[1], r"rank 1's result is wrong in 5 elements, first \(1,\)"),
        (TOTAL * (TOTAL < 30), r"rank 1's result is wrong in 1 elements, first \(5,\)"),
        (np.nextafter(TOTAL, 99), r"rank 1's result is wrong in 6 elements, first \(0,\)"),
        (TOTAL.reshape(2, 3), "rank 1's result is wrong"),
        (TOTAL[:5], "rank 1's result is wrong"),
        (TOTAL.astype(np.float64), "rank 1's result is wrong"),
        (TOTAL * np.array([-1, 1, 1, 1, 1, 1], np.float32), "rank 1's result is wrong"),
    ],
    ids=["twice one rank", "last element", "one ulp", "shape", "length", "dtype", "sign of zero"],
)
def test_wrong_results_fail(wrong, said):
    with pytest.raises(AssertionError, match=said):
        assert_exact([TOTAL, wrong, TOTAL], INPUTS)


def test_a_missing_result_is_not_a_right_one():
    with pytest.raises(AssertionError):
        assert_exact([TOTAL, TOTAL], INPUTS)


@pytest.mark.parametrize("dtype", [np.float32, np.complex64, ml_dtypes.bfloat16])
def test_same_bits(dtype):
    one = np.array([1, 0, 2], dtype)
    assert same_bits(one, one.copy())
    assert not same_bits(one, -one)
    assert not same_bits(one, one * np.array([1, -1, 1], dtype))
    assert not same_bits(one, one[:2])
    assert not same_bits(one, one.astype(np.complex128))
    nan = np.array([1, np.nan, 2], dtype)
    assert same_bits(nan, nan.copy())
    assert not same_bits(nan, one)


def test_programs_with_scratch_are_correct():
    """Each rank lands the other's vector in scratch and merges it there, lower rank left."""
    steps = [
        [
            (Send(0, 1 - r), Copy(1, 1 - r)),
            (Send(1, r), Reduce(0, r, "right" if r == 0 else "left")),
        ]
        for r in range(2)
    ]
    assert_correct(from_steps("all_reduce", steps, 1, areas=2))
