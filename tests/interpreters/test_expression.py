"""Expression trees: who contributed, how often, in which order."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refcoll.interpreters.expression import MIXED, Expressions

SHAPES = st.recursive(st.integers(0, 9), lambda inner: st.tuples(inner, inner), max_leaves=12)
"""A tree as nested pairs of ranks."""


def built(make, shape, chunk=0):
    if isinstance(shape, int):
        return make.leaf(shape, chunk)
    return make.merge(built(make, shape[0], chunk), built(make, shape[1], chunk))


def leaves(shape):
    return [shape] if isinstance(shape, int) else leaves(shape[0]) + leaves(shape[1])


def text(shape):
    return f"x{shape}" if isinstance(shape, int) else f"({text(shape[0])}+{text(shape[1])})"


@given(SHAPES)
@settings(deadline=None)
def test_what_follows_from_a_tree(shape):
    value, ranks = built(Expressions(), shape), leaves(shape)
    times = Counter(ranks)
    assert value.contributors() == times
    assert value.members == sum(1 << rank for rank in times)
    assert value.repeated == sum(1 << rank for rank, n in times.items() if n > 1)
    assert (value.first, value.last) == (ranks[0], ranks[-1])
    assert value.in_rank_order == (sorted(times) == ranks)
    assert str(value) == text(shape)
    assert value.chunk == 0


@given(SHAPES)
@settings(deadline=None)
def test_evaluation_keeps_shape_and_order(shape):
    value = built(Expressions(), shape, chunk=3)
    assert value.evaluate(lambda rank, chunk: rank, lambda a, b: (a, b)) == shape
    assert value.evaluate(lambda rank, chunk: [(rank, chunk)], lambda a, b: a + b) == [
        (rank, 3) for rank in leaves(shape)
    ]


def test_the_same_value_is_the_same_object():
    make = Expressions()
    assert make.leaf(1, 0) is make.leaf(1, 0)
    assert make.leaf(1, 0) is not make.leaf(1, 1)
    pair = make.merge(make.leaf(1, 0), make.leaf(2, 0))
    assert make.merge(make.leaf(1, 0), make.leaf(2, 0)) is pair
    assert make.merge(make.leaf(2, 0), make.leaf(1, 0)) is not pair


@pytest.mark.parametrize(
    ("ranks", "in_order"),
    [([0], True), ([0, 1, 5], True), ([1, 0], False), ([0, 0], False), ([0, 2, 1], False)],
)
def test_rank_order_is_strict(ranks, in_order):
    make = Expressions()
    value = make.leaf(ranks[0], 0)
    for rank in ranks[1:]:
        value = make.merge(value, make.leaf(rank, 0))
    assert value.in_rank_order == in_order


def test_disorder_within_an_operand_remains():
    """(x1+x0)+x2: its ends are in order, its inside is not."""
    make = Expressions()
    inner = make.merge(make.leaf(1, 0), make.leaf(0, 0))
    assert not make.merge(inner, make.leaf(2, 0)).in_rank_order


def test_values_of_different_chunks_are_mixed():
    make = Expressions()
    mixed = make.merge(make.leaf(0, 0), make.leaf(1, 1))
    assert mixed.chunk == MIXED
    assert make.merge(mixed, make.leaf(2, 0)).chunk == MIXED


def test_shared_parts_are_not_evaluated_for_every_path_to_them():
    """64 doublings have 2^64 leaves; nobody could visit them all."""
    make = Expressions()
    value = make.leaf(0, 0)
    for _ in range(64):
        value = make.merge(value, value)
    visits = []
    assert value.evaluate(lambda rank, _: 1, lambda a, b: visits.append(0) or a + b) == 2**64
    assert len(visits) <= 2 * 64


def test_a_long_chain_does_not_recurse():
    make = Expressions()
    value = make.leaf(0, 0)
    for rank in range(1, 5000):
        value = make.merge(value, make.leaf(rank, 0))
    assert value.in_rank_order
    assert value.evaluate(lambda rank, _: rank, lambda a, b: a + b) == 5000 * 4999 // 2
