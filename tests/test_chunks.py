"""How a vector is cut."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refcoll.chunks import Layout, balanced, proportional, runs


@pytest.mark.parametrize(
    ("count", "chunks", "lengths"),
    [
        (10, 4, (3, 3, 2, 2)),
        (12, 4, (3, 3, 3, 3)),
        (3, 5, (1, 1, 1, 0, 0)),
        (0, 3, (0, 0, 0)),
        (7, 1, (7,)),
    ],
)
def test_balanced(count, chunks, lengths):
    assert balanced(count, chunks).lengths == lengths


@given(st.integers(0, 10**12), st.integers(1, 200))
@settings(deadline=None)
def test_balanced_chunks_differ_by_one_and_the_longer_come_first(count, chunks):
    lengths = balanced(count, chunks).lengths
    assert len(lengths) == chunks
    assert sum(lengths) == count
    assert list(lengths) == sorted(lengths, reverse=True)
    assert lengths[0] - lengths[-1] <= 1


@pytest.mark.parametrize(
    ("count", "weights", "lengths"),
    [(12, (2, 1, 3), (4, 2, 6)), (0, (1, 2), (0, 0)), (5, (0, 1), (0, 5)), (1, (1, 1), (0, 1))],
)
def test_proportional(count, weights, lengths):
    assert proportional(count, weights).lengths == lengths


@given(
    st.integers(0, 10**12),
    st.lists(st.integers(0, 50), min_size=1, max_size=40).filter(any),
)
@settings(deadline=None)
def test_proportional_chunks_are_within_one_element_of_their_share(count, weights):
    lengths = proportional(count, weights).lengths
    assert sum(lengths) == count
    for length, weight in zip(lengths, weights, strict=True):
        assert abs(length - Fraction(count * weight, sum(weights))) < 1
        assert weight or not length


@given(st.lists(st.integers(0, 50), min_size=1, max_size=40).filter(any), st.integers(0, 9))
@settings(deadline=None)
def test_proportional_is_exact_where_the_weights_divide_the_count(weights, scale):
    lengths = proportional(scale * sum(weights), weights).lengths
    assert lengths == tuple(scale * weight for weight in weights)


@given(st.lists(st.integers(0, 9), min_size=1, max_size=12), st.integers(0, 2), st.data())
@settings(deadline=None)
def test_spans_tile_the_vector_and_then_the_scratch_areas(lengths, area, data):
    layout, chunks = Layout(tuple(lengths)), len(lengths)
    first = data.draw(st.integers(0, chunks - 1))
    last = data.draw(st.integers(first, chunks - 1))
    start = area * sum(lengths) + sum(lengths[:first])
    span = layout.span(area * chunks + first, area * chunks + last)
    assert (span.start, span.stop) == (start, start + sum(lengths[first:last]))
    assert layout.length(area * chunks + first) == lengths[first]
    assert layout.count == sum(lengths)


def test_offsets_are_where_chunks_begin_and_the_last_one_ends():
    assert Layout((2, 0, 3)).offsets == (0, 2, 2, 5)


def test_the_end_of_an_area_is_the_beginning_of_the_next():
    assert Layout((2, 0, 3)).span(1, 3) == slice(2, 5)
    assert Layout((2, 0, 3)).span(4, 6) == slice(7, 10)


def test_negative_lengths_are_refused():
    with pytest.raises(ValueError, match=r"must not be negative.*\(3, -1\)"):
        Layout((3, -1))


@given(st.lists(st.integers(0, 12)))
@settings(deadline=None)
def test_runs_name_the_same_indices_in_the_same_order_and_are_as_few_as_can_be(indices):
    found = runs(indices)
    assert [i for first, end in found for i in range(first, end)] == indices
    assert all(earlier[1] != later[0] for earlier, later in pairwise(found))


def test_runs():
    assert runs((3, 4, 5, 9, 0)) == [(3, 6), (9, 10), (0, 1)]
    assert runs((4, 3)) == [(4, 5), (3, 4)]
    assert runs(()) == []
