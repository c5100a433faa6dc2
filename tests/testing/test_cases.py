"""The cases that are verified: every algorithm at critical lengths, every dtype and operator."""

from __future__ import annotations

import pytest

from refcoll import algorithms
from refcoll.testing.verification import cases


def test_cases_cover_every_algorithm_at_critical_lengths():
    for size in (1, 2, 5, 8):
        for thorough, counts in (
            (False, (0, size + 1, 1000, 65_537)),
            (True, (0, 1, size - 1, size, size + 1, 1000, 65_537)),
        ):
            covered = {
                (c.algorithm, c.collective, c.count)
                for c in cases(size, thorough=thorough)
                if c.dtype == "float32"
            }
            for each in algorithms():
                if not each.sizes.holds(size) or each.collective == "barrier":
                    continue
                unit = size if each.collective == "all_to_all" else 1
                for count in counts:
                    whole = -(-count // unit) * unit
                    assert (each.name, each.collective, whole) in covered


def test_thorough_cases_try_other_options():
    found = cases(4, thorough=True)
    for each in algorithms():
        for option in {"segments", "radix", "shards"} & set(each.options):
            tried = {
                dict(c.options)[option]
                for c in found
                if (c.algorithm, c.collective) == (each.name, each.collective)
                and option in dict(c.options)
            }
            assert len(tried) >= 2


def test_a_composition_is_a_case():
    assert {c.algorithm for c in cases(3, algorithm="ring+bruck")} == {"ring+bruck"}
    assert any(case.collective == "barrier" for case in cases(5))
    assert len(set(cases(5))) == len(cases(5))


INTEGERS = {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
FLOATS, COMPLEX = {"float16", "bfloat16", "float32", "float64"}, {"complex64", "complex128"}
BITS = {"bitwise_and", "bitwise_or", "bitwise_xor", "logical_and", "logical_or", "logical_xor"}
DEFINED = (
    {("bool", op) for op in BITS | {"min", "max"}}
    | {(dtype, op) for dtype in INTEGERS for op in BITS | {"sum", "prod", "min", "max"}}
    | {(dtype, op) for dtype in FLOATS for op in ("sum", "prod", "min", "max", "avg")}
    | {(dtype, op) for dtype in COMPLEX for op in ("sum", "prod", "avg")}
)
"""The table of refcoll/operators.py."""


@pytest.mark.parametrize("collective", ["all_reduce", "reduce_scatter", "reduce", "scan", "exscan"])
def test_cases_cover_every_dtype_and_operator(collective):
    thorough = {(c.dtype, c.op) for c in cases(3, collective, thorough=True) if c.count == 1000}
    assert thorough == DEFINED
    short = {(c.dtype, c.op) for c in cases(3, collective) if c.count == 1000}
    if collective == "all_reduce":
        assert short == DEFINED
    else:
        assert short == {
            (dtype, op) for dtype, op in DEFINED
            if dtype == "int32" or op == "sum"
        }  # fmt: skip


@pytest.mark.parametrize("collective", ["all_gather", "broadcast", "gather", "scatter"])
def test_cases_cover_every_dtype_where_nothing_is_merged(collective):
    at_1000 = {(c.dtype, c.op) for c in cases(3, collective) if c.count == 1000}
    assert at_1000 == {(dtype, None) for dtype in {"bool"} | INTEGERS | FLOATS | COMPLEX}


def test_cases_can_be_narrowed():
    assert {c.algorithm for c in cases(3, algorithm="ring")} == {"ring"}
    assert {c.collective for c in cases(3, "reduce")} == {"reduce"}
    assert cases(3, "reduce", "ring") == []
