"""The usual calls reach the lengths, layouts, places and roots where libraries go wrong."""

from dataclasses import replace
from itertools import pairwise

import pytest

from refcoll.oracle.calls import (
    COLLECTIVES,
    CONTIGUOUS,
    IN_PLACE,
    MISALIGNED,
    REDUCING,
    ROOTED,
    STRIDED,
    calls,
)
from refcoll.oracle.mutants.sound import Sound
from refcoll.testing.values import DTYPES, dtype_named

KIB = 1024
WHOLE = ("all_reduce", "reduce", "broadcast", "scan", "exscan")
"""Of which algorithms cut the vector into N chunks."""


def nbytes(call):
    return call.count * dtype_named(call.dtype).itemsize


@pytest.fixture(scope="module", params=[2, 4, 8])
def listed(request):
    return request.param, list(calls(request.param))


def test_no_call_is_made_twice(listed):
    _, found = listed
    assert len(found) == len(set(found))


def test_no_call_in_place_follows_the_same_one_out_of_place(listed):
    """What the first has left behind, an operator or a result, would be right for the second."""
    _, found = listed
    usual = [call for call in found if call.layout == CONTIGUOUS and nbytes(call) <= KIB]
    assert any(call.in_place for call in usual)
    assert not any(
        second.in_place and replace(second, in_place=False) == first
        for first, second in pairwise(usual)
    )


@pytest.mark.parametrize("collective", COLLECTIVES)
def test_every_dtype_is_tried_beyond_a_page(listed, collective):
    _, found = listed
    beyond = {c.dtype for c in found if c.collective == collective and nbytes(c) > 4 * KIB}
    assert beyond == set(DTYPES)


@pytest.mark.parametrize("collective", COLLECTIVES)
def test_unlike_dtypes_and_operators_are_tried_with_messages_beyond_64_kib(listed, collective):
    """Messages are vectors or parts, or for algorithms that cut vectors their chunks."""
    size, found = listed
    long = [c for c in found if c.collective == collective and nbytes(c) > 64 * KIB]
    if collective in WHOLE:
        cut = [c for c in long if nbytes(c) // size > 64 * KIB]
        assert {c.dtype for c in cut} == {"float32", "int64"}
        assert all(nbytes(c) > 256 * KIB for c in cut)
    assert {(c.dtype, c.op) for c in long} == (
        {("float32", "sum"), ("int64", "max")} if collective in REDUCING
        else {("float32", None), ("int64", None)}
    )  # fmt: skip
    if collective in IN_PLACE:
        assert {c.in_place for c in long} == {False, True}
    if collective in ROOTED:
        assert {c.root for c in long} == {0, size - 1}


@pytest.mark.parametrize("collective", COLLECTIVES)
def test_odd_layouts_are_tried_at_two_widths(listed, collective):
    _, found = listed
    for layout in (STRIDED, MISALIGNED):
        of = [c for c in found if c.collective == collective and c.layout == layout]
        assert {dtype_named(c.dtype).itemsize for c in of} == {4, 8}
        assert {c.in_place for c in of} == ({False, True} if collective in IN_PLACE else {False})


@pytest.mark.parametrize("size", [2, 64, 128])
def test_no_call_takes_more_memory_than_there_is(size):
    """All ranks' inputs, which every rank makes: 64 MiB, or a page from each rank to each."""
    for call in calls(size):
        whole = sum(call.input_length(rank, size) for rank in range(size))
        most = 64 * KIB**2 if nbytes(call) >= 64 * KIB else 1025 * 16 * size**2
        assert whole * dtype_named(call.dtype).itemsize <= most


def test_lengths_that_are_asked_for_are_the_only_ones():
    found = list(calls(4, lengths=[5, 9]))
    assert {c.count for c in found} == {5, 9}
    assert {c.layout for c in found} == {"contiguous", STRIDED, MISALIGNED}
    assert {c.count for c in found if c.layout == STRIDED} == {9}


def test_thorough_is_more_of_the_same():
    usual, thorough = set(calls(4)), set(calls(4, thorough=True))
    assert usual < thorough
    long = {c.dtype for c in thorough if c.collective == "scan" and nbytes(c) > 256 * KIB}
    assert long == set(DTYPES)


def test_a_call_says_how_its_arrays_lie():
    said = [str(c) for c in calls(3, ["reduce"], ["float32"], ["sum"], [7]) if c.layout == STRIDED]
    assert said == [
        "reduce sum float32 x 7 to root 0, strided",
        "reduce sum float32 x 7 to root 2 in place, strided",
    ]


def test_the_mutants_basis_takes_what_is_asked_of_it():
    assert set(Sound.layouts) == {STRIDED, MISALIGNED}
