"""What every algorithm claims to cost is what its schedule, counted, costs."""

from __future__ import annotations

import random

import pytest

from refcoll import algorithms, count, node_shape, program
from refcoll.algorithms.chain import chain_broadcast
from refcoll.algorithms.declaration import covered, log2_ceiling
from refcoll.algorithms.double_tree import children, depth, parent, second_tree
from refcoll.algorithms.recursive import power_below, survivors
from refcoll.chunks import Layout
from samples import FLAT, HIERARCHICAL, SHAPES, SIZES, named, sizes_of


def require_claims(made, layout):
    """Steps, depth and traffic, claimed = counted, on every rank."""
    counts, claims = count(made, layout), made.claims
    assert claims.depth == counts.depth
    for rank, counted in enumerate(counts.ranks):
        claimed = (
            claims.steps(rank),
            claims.sent(rank, layout.lengths),
            claims.received(rank, layout.lengths),
        )
        assert claimed == (counted.steps, counted.sent, counted.received), (made.title, rank)


def arbitrary(made):
    """A layout of long chunks of lengths that have nothing to do with each other.

    Traffic and claims are sums of chunk lengths: if such a sum is right for these, it holds
    every chunk as often as it must, and so is right for all lengths.
    """
    lengths = random.Random(made.size)
    return Layout(tuple(lengths.randrange(10**12) for _ in range(made.chunks)))


# ---- every algorithm -----------------------------------------------------------------------


@pytest.mark.parametrize("each", FLAT, ids=named)
@pytest.mark.parametrize("size", SIZES)
def test_claims_hold_for_chunks_of_any_length(each, size):
    for segments in (1, 3) if "segments" in each.options else (1,):
        made = program(each.collective, each.name, size, segments=segments)
        require_claims(made, arbitrary(made))


@pytest.mark.parametrize("each", FLAT, ids=named)
@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 7, 8, 12, 17])
def test_claims_hold_for_vectors_of_any_length(each, size):
    """Also where there are fewer elements than chunks, or none."""
    made = program(each.collective, each.name, size, segments=3)
    for elements in {0, 1, size - 1, size, size + 1, 1000}:
        require_claims(made, made.layout(elements))


@pytest.mark.parametrize("each", [each for each in FLAT if "segments" in each.options], ids=named)
@pytest.mark.parametrize("segments", [2, 8, 13])
def test_claims_hold_for_any_number_of_segments(each, segments):
    for size in (1, 2, 3, 6, 16, 29):
        made = program(each.collective, each.name, size, segments=segments)
        require_claims(made, arbitrary(made))


@pytest.mark.parametrize("each", [*algorithms("broadcast"), *algorithms("reduce")], ids=named)
@pytest.mark.parametrize("size", [2, 3, 5, 8, 11, 32])
def test_claims_hold_for_any_root(each, size):
    for root in {0, 1, size // 2, size - 1}:
        for segments in (1, 3):
            made = program(each.collective, each.name, size, root=root, segments=segments)
            require_claims(made, made.layout(1000))


@pytest.mark.parametrize("each", HIERARCHICAL, ids=named)
@pytest.mark.parametrize("nodes", SHAPES, ids=sizes_of)
def test_claims_hold_for_any_nodes(each, nodes):
    size = sum(len(node) for node in nodes)
    made = program(each.collective, each.name, size, nodes=nodes)
    require_claims(made, arbitrary(made))
    if size <= 16:
        for elements in {0, 1, size - 1, size + 1, 1000}:
            require_claims(made, made.layout(elements))


@pytest.mark.parametrize("each", HIERARCHICAL, ids=named)
@pytest.mark.parametrize("size", SIZES)
def test_claims_hold_for_nodes_of_up_to_four_ranks(each, size):
    nodes = node_shape([4] * (size // 4) + [size % 4] * (size % 4 > 0))
    made = program(each.collective, each.name, size, nodes=nodes)
    require_claims(made, arbitrary(made))


# ---- what the claims are made of -----------------------------------------------------------


def test_logarithm():
    assert [log2_ceiling(n) for n in (1, 2, 3, 4, 5, 8, 9, 1024, 1025)] == [
        0, 1, 2, 2, 3, 3, 4, 10, 11,
    ]  # fmt: skip


@pytest.mark.parametrize("starts", [[], [4], [0, 2, 9], [5, 5, 1], [-3, 0, 3]])
@pytest.mark.parametrize("width", [1, 3, 6])
def test_covered_rounds(starts, width):
    assert covered(starts, width) == len({s + i for s in starts for i in range(width)})


@pytest.mark.parametrize("size", SIZES)
def test_survivors_of_folding_are_a_power_of_two(size):
    power = power_below(size)
    assert power & (power - 1) == 0
    assert power <= size < 2 * power
    assert len(survivors(size)) == power


@pytest.mark.parametrize("size", SIZES)
def test_the_double_tree_is_made_of_trees_of_logarithmic_depth(size):
    for rank in range(size):
        above = parent(rank, size)
        assert (above is None) == (rank == 0)
        if above is not None:
            assert rank in children(above, size)
            assert depth(rank, size) == depth(above, size) + 1 <= log2_ceiling(size)
        assert all(parent(child, size) == rank for child in children(rank, size))
        assert len(children(rank, size)) <= 2
    assert sorted(second_tree(size)) == list(range(size))


@pytest.mark.parametrize("size", range(2, 65, 2))
def test_for_even_sizes_a_leaf_of_one_tree_is_none_of_the_other(size):
    second = second_tree(size)
    for rank in range(size):
        leaves = [not children(place, size) for place in (rank, second.index(rank))]
        assert leaves.count(True) == 1 or (size == 2 and rank in (0, 1))


@pytest.mark.parametrize("size", [2, 3, 6])
@pytest.mark.parametrize("segments", [1, 2, 5])
def test_the_invariant_of_the_chain(size, segments):
    """Before round t, rank r has the segments 0, ..., t - r: it sends none that it lacks."""
    held = [set(range(segments)) if rank == 0 else set() for rank in range(size)]
    for steps in zip(*(chain_broadcast(r, size, segments) for r in range(size)), strict=True):
        for rank, step in enumerate(steps):
            sent = {a.chunks for a in step if hasattr(a, "to")}
            assert sent <= held[rank]
        for rank, step in enumerate(steps):
            held[rank] |= {a.chunks for a in step if hasattr(a, "source")}
    assert all(chunks == set(range(segments)) for chunks in held)
