"""What every algorithm claims to cost is what its schedule, counted, costs."""

from __future__ import annotations

import random

import pytest

from refcoll import ArgumentError, algorithms, check, count, node_shape, program
from refcoll.algorithms.binary_tree import children, depth, parent
from refcoll.algorithms.chain import chain_broadcast
from refcoll.algorithms.circulant import base, receives, skips
from refcoll.algorithms.declaration import covered, log2_ceiling, log_ceiling
from refcoll.algorithms.double_tree import second_tree
from refcoll.algorithms.folding import power_below, survivors
from refcoll.algorithms.recursive import reversed_bits
from refcoll.algorithms.swing import label, partner
from refcoll.chunks import Layout
from samples import (
    EVERY_DAY,
    FLAT,
    HIERARCHICAL,
    OTHER_DAYS,
    ROOTED,
    SHAPES,
    SIZES,
    named,
    sizes_of,
    switched,
    through,
    variants,
)


def require_claims(made, layout):
    """Steps, depth and traffic, claimed = counted, on every rank; or at most the claim."""
    counts, claims = count(made, layout), made.claims
    pairs = [("depth", claims.depth, counts.depth)]
    for rank, counted in enumerate(counts.ranks):
        pairs += [
            ("steps", claims.steps(rank), counted.steps),
            ("sent", claims.sent(rank, layout.lengths), counted.sent),
            ("received", claims.received(rank, layout.lengths), counted.received),
        ]
    for what, claimed, counted in pairs:
        if what in claims.bounds:
            assert counted <= claimed, (made.title, what)
        else:
            assert counted == claimed, (made.title, what)


def arbitrary(made):
    """A layout of long chunks of lengths that have nothing to do with each other.

    Traffic and claims are sums of chunk lengths: if such a sum is right for these, it holds
    every chunk as often as it must, and so is right for all lengths.  (The chunks of an
    all-to-all are all alike.)
    """
    lengths = random.Random(made.size)
    if made.collective.transposes:
        return made.layout(made.size * lengths.randrange(10**12))
    return Layout(tuple(lengths.randrange(10**12) for _ in range(made.chunks)))


# ---- every algorithm -----------------------------------------------------------------------


def require_claims_of_all_variants(each, size):
    for options in variants(each):
        made = program(each.collective, each.name, size, **options)
        require_claims(made, arbitrary(made))


@through(EVERY_DAY, FLAT)
def test_claims_hold_for_chunks_of_any_length(each, size):
    require_claims_of_all_variants(each, size)


@pytest.mark.long
@through(OTHER_DAYS, FLAT)
def test_claims_hold_for_chunks_of_any_length_and_other_sizes(each, size):
    require_claims_of_all_variants(each, size)


@through([1, 2, 3, 5, 8, 12], FLAT)
def test_claims_hold_for_vectors_of_any_length(each, size):
    """Also where there are fewer elements than chunks, or none."""
    made = program(each.collective, each.name, size, segments=3, radix=3, shards=3)
    for elements in {0, 1, size - 1, size, size + 1, 1000}:
        require_claims(made, made.layout(made.whole(elements)))


@pytest.mark.parametrize("each", [each for each in FLAT if each.options], ids=named)
@pytest.mark.parametrize("value", [2, 8, 13])
def test_claims_hold_for_any_value_of_an_option(each, value):
    for size in (1, 2, 3, 6, 16, 29):
        made = program(each.collective, each.name, size, segments=value, radix=value, shards=value)
        require_claims(made, arbitrary(made))


@through([2, 3, 5, 8, 11, 32], ROOTED)
def test_claims_hold_for_any_root(each, size):
    for root in {0, 1, size // 2, size - 1}:
        for options in variants(each):
            made = program(each.collective, each.name, size, root=root, **options)
            require_claims(made, arbitrary(made))


SCATTERS = algorithms("reduce_scatter")
GATHERS = algorithms("all_gather")


@pytest.mark.parametrize("scatter", SCATTERS, ids=named)
@pytest.mark.parametrize("gather", GATHERS, ids=named)
def test_any_pair_makes_an_all_reduce(scatter, gather):
    name = f"{scatter.name}+{gather.name}"
    for size in (1, 2, 3, 4, 5, 6, 8, 12, 16):
        if not (scatter.sizes.holds(size) and gather.sizes.holds(size)):
            with pytest.raises(ArgumentError, match="is defined for"):
                program("all_reduce", name, size)
            continue
        made = program("all_reduce", name, size)
        report = check(made)
        assert report.ok
        assert report.aligned
        require_claims(made, arbitrary(made))
        if made.claims.in_rank_order:
            assert report.in_rank_order


@pytest.mark.parametrize("each", HIERARCHICAL, ids=named)
@pytest.mark.parametrize("nodes", SHAPES, ids=sizes_of)
def test_claims_hold_for_any_nodes(each, nodes):
    size = sum(len(node) for node in nodes)
    for where in (nodes, *switched(nodes)):
        made = program(each.collective, each.name, size, nodes=where)
        require_claims(made, arbitrary(made))
        if size <= 16:
            for elements in {0, 1, size - 1, size + 1, 1000}:
                require_claims(made, made.layout(elements))


@through(EVERY_DAY, HIERARCHICAL)
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


@pytest.mark.parametrize("size", [2**k for k in range(1, 11)])
def test_swing_partners_pair_up_and_their_labels_differ_where_they_should(size):
    """De Sensi et al. 2024: distances 1, 1, 3, 5, 11, ...; each round is a perfect matching."""
    distances = [1, 1, 3, 5, 11, 21, 43, 85, 171, 341]
    assert sorted(label(rank, size) for rank in range(size)) == list(range(size))
    for k in range(size.bit_length() - 1):
        for rank in range(size):
            other = partner(rank, k, size)
            assert partner(other, k, size) == rank
            assert (other - rank) % size in (distances[k], size - distances[k])
            differing = label(rank, size) ^ label(other, size)
            assert differing & ((2 << k) - 1) == 1 << k


@pytest.mark.parametrize("size", [*range(2, 130), 1000, 1024, 1025])
def test_the_tables_of_the_circulant_graph_keep_traffs_conditions(size):
    """Every rank hears its base and the L - 1 others; it hears only what its source has."""
    rounds = len(skips(size)) - 1
    assert rounds == log2_ceiling(size)
    for rank in range(1, size):
        table, own = receives(rank, size), base(rank, size)
        assert set(table) == {own, *range(-rounds, 0)} - {own - rounds}
        for k, segment in enumerate(table):
            source = (rank - skips(size)[k]) % size
            if source == 0:
                assert segment == k
            else:
                had = {base(source, size) - rounds, *receives(source, size)[:k]}
                assert segment in had


def test_reversed_bits():
    assert [reversed_bits(i, 8) for i in range(8)] == [0, 4, 2, 6, 1, 5, 3, 7]
    assert reversed_bits(0, 1) == 0


@pytest.mark.parametrize("radix", [2, 3, 4, 10])
def test_logarithm_to_any_base(radix):
    for size in range(1, 200):
        k = log_ceiling(size, radix)
        assert radix**k >= size
        assert k == 0 or radix ** (k - 1) < size
