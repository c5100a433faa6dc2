"""The checker proves every algorithm that refcoll has, on all numbers of ranks, roots and nodes."""

from __future__ import annotations

import pytest

from refcoll import ArgumentError, algorithms, check, node_shape, program
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
from taken_apart import rebuilt, right, steps_of


def require_proof(made):
    report = check(made)
    assert report.failures == []
    assert report.ok
    assert report.aligned
    assert report.capacity == 0
    assert report.in_rank_order or not made.claims.in_rank_order


@through(EVERY_DAY, FLAT)
def test_every_algorithm_is_right(each, size):
    """With every value of its options."""
    for options in variants(each):
        require_proof(program(each.collective, each.name, size, **options))


@pytest.mark.long
@through(OTHER_DAYS, FLAT)
def test_every_algorithm_is_right_on_other_numbers_of_ranks(each, size):
    """With every value of its options up to 33 ranks; above with one."""
    for options in variants(each)[: None if size <= 33 else 1]:
        require_proof(program(each.collective, each.name, size, **options))


@pytest.mark.parametrize("each", FLAT, ids=named)
def test_where_an_algorithm_is_not_defined_it_says_so(each):
    for size in SIZES:
        if not each.sizes.holds(size):
            with pytest.raises(ArgumentError, match=rf"size={size}: .* is defined for"):
                program(each.collective, each.name, size)


@through([2, 3, 5, 8, 13, 32], ROOTED)
def test_every_root_is_right(each, size):
    for root in range(size):
        require_proof(program(each.collective, each.name, size, root=root))


@pytest.mark.parametrize("each", HIERARCHICAL, ids=named)
@pytest.mark.parametrize("nodes", SHAPES, ids=sizes_of)
def test_every_arrangement_of_nodes_is_right(each, nodes):
    size = sum(len(node) for node in nodes)
    for where in (nodes, *switched(nodes)):
        require_proof(program(each.collective, each.name, size, nodes=where))


@through(EVERY_DAY, HIERARCHICAL)
def test_hierarchical_algorithms_are_right_on_nodes_of_up_to_four(each, size):
    require_proof_on_nodes_of_four(each, size)


@pytest.mark.long
@through(OTHER_DAYS, HIERARCHICAL)
def test_hierarchical_algorithms_are_right_on_more_nodes_of_up_to_four(each, size):
    require_proof_on_nodes_of_four(each, size)


def require_proof_on_nodes_of_four(each, size):
    nodes = node_shape([4] * (size // 4) + [size % 4] * (size % 4 > 0))
    require_proof(program(each.collective, each.name, size, nodes=nodes))


def test_the_schedules_survive_taking_apart_and_putting_together():
    for each in algorithms():
        made = right(each, 5 if each.sizes.holds(5) else 8)
        require_proof(rebuilt(made, steps_of(made)))
