"""What a few wrong elements have in common by chance is not said."""

import numpy as np
import pytest

from oracle_evidence import SIZE, evidence, in_full, said
from refcoll.oracle.calls import Call

SUM = Call("all_reduce", 131)


def test_one_element_has_everything_in_common_by_chance():
    def change(rank, right, given):
        right[5] -= 2
        return right

    words = said(Call("all_reduce", 131, "int64"), change, again=in_full)
    assert words == "on all ranks: element 5: too low by 2"


def test_large_numbers_are_not_beyond_the_range_of_what_holds_no_such():
    """Elements of others, finite and larger than float16 has them, were once called that."""
    call = Call("reduce_scatter", 32)
    whole = {}

    def change(rank, right, given):
        total = whole.setdefault("sum", np.sum(given, axis=0))
        return np.random.default_rng(0).permutation(total)[rank * 32 : rank * 32 + 32]

    words = said(call, change, again=lambda given: [np.sum(given, axis=0)[r * 32 : r * 32 + 32]
                                                    for r in range(SIZE)])  # fmt: skip
    assert "float16" not in words
    assert "right values of other elements" in words


def test_one_infinity_among_large_numbers_is_not_the_range_of_float16():
    def change(rank, right, given):
        right[9] = np.inf
        return right

    words = said(SUM, change, again=in_full)
    assert words.startswith("on all ranks: element 9 wrong, the first is np.float32(inf) and")


def test_a_few_values_are_not_those_of_another_operator_by_chance():
    def change(rank, right, given):
        right[9] = 1
        return right

    words = said(Call("all_reduce", 131, "int32"), change, again=in_full)
    assert "element 9 wrong, the first is np.int32(1)" in words


@pytest.mark.parametrize("dtype", ["int8", "uint8", "bfloat16"])
def test_one_wrong_value_that_is_some_other_element_s_by_chance(dtype):
    """Of few numbers many are right somewhere: that says nothing."""

    def change(rank, right, given):
        values = np.unique(right)
        right[4] = values[values != right[4]][0]
        return right

    words = said(Call("broadcast", 9, dtype, None), change, "coded")
    assert "right values of other elements" not in words


def test_a_wrong_extreme_is_somebody_s_input_too():
    """Of one element that says nothing: it is the others' wrong comparison."""
    call = Call("all_reduce", 1, "uint8", "max")

    def change(rank, right, given):
        return np.max(np.stack(given).view("i1"), axis=0).view("u1")

    wrong = [seed for seed in range(9) if evidence(call, change, "extremes", 2, seed=seed).wrong]
    assert wrong
    for seed in wrong:
        words = said(call, change, "extremes", size=2, seed=seed)
        assert words == "on all ranks: the one element: uint8 compared as int8"
