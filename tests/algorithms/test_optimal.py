"""No schedule betters the bounds, and an algorithm reaches them where it says so, nowhere else."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, lcm, log2

import pytest

from refcoll import algorithms, count, node_shape, program
from refcoll.registry import find
from samples import named, switched, through, variants

ALL_REDUCE = [
    each for each in algorithms("all_reduce")
    if each.name not in ("parameter_server_alone", "in_network")
]  # fmt: skip


@through([*range(1, 13), 16, 31], ALL_REDUCE)
def test_every_all_reduce_moves_at_least_twice_n_minus_1_nths(each, size):
    """Some rank sends, and some rank receives, 2(N-1)/N n (Patarasuk and Yuan 2009)."""
    bound = Fraction(2 * (size - 1) * 1000, size)
    for nodes in ([size], [1] * size, [2] * (size // 2) + [1] * (size % 2)):
        made = program("all_reduce", each.name, size, nodes=node_shape(nodes), segments=3)
        counts = count(made, 1000)
        assert counts.sent >= bound
        assert counts.received >= bound
        assert counts.least == bound


@pytest.mark.parametrize("each", algorithms(), ids=named)
def test_an_algorithm_is_optimal_where_it_says_so_and_nowhere_else(each):
    """In bytes, for chunks of equal length, and in rounds."""
    shapes = [[n] for n in [*range(1, 18), 27, 32]]
    if "nodes" in each.options:
        shapes += [[1] * n for n in (2, 3, 4, 7)]
        shapes += [[2, 2], [3, 3, 3], [4, 4], [2, 1], [1, 2, 3], [5, 4]]
    for sizes in shapes:
        size, flat = sum(sizes), node_shape(sizes)
        if not each.sizes.holds(size):
            continue
        for nodes in ([flat], *(switched(flat) if "switches" in each.options else ())):
            for options in variants(each):
                require_optimal_where_said(each, size, nodes, options)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 6, 8])
def test_a_pair_is_optimal_where_both_parts_are(size):
    for scatter in algorithms("reduce_scatter"):
        for gather in algorithms("all_gather"):
            if scatter.sizes.holds(size) and gather.sizes.holds(size):
                each = find("all_reduce", f"{scatter.name}+{gather.name}")
                require_optimal_where_said(each, size, None, {})


def test_uneven_switches_that_share_evenly():
    (rails,) = algorithms("all_reduce", "three_level_rails")
    for nodes in (
        [[[0], [1]], [[2, 3]]],
        [[[2], [4], [1]], [[3, 0, 5]]],
        [[[0, 1]], [[2], [3, 4]]],
    ):
        require_optimal_where_said(rails, sum(len(n) for s in nodes for n in s), nodes, {})


def require_optimal_where_said(each, size, nodes, options):
    made = program(each.collective, each.name, size, nodes=nodes, **options)
    counts = count(made, 2 * lcm(size, sum(made.weights or [1] * made.chunks)))
    placed = {"nodes": made.topology.nodes, "switches": made.topology.switches}
    given = {key: {**placed, **options}[key] for key in each.options}
    claimed = each.bandwidth_optimal.holds(size, **given), each.latency_optimal.holds(size, **given)
    most, least = max(counts.sent, counts.received), counts.least
    assert ((most == least) and not made.helpers, counts.rounds == ceil(log2(size))) == claimed or (
        made.helpers and claimed == (False, False)
    ), (made.title, given)
    assert (counts.bandwidth_optimal, counts.latency_optimal) == claimed


@pytest.mark.parametrize("size", range(3, 12))
def test_pairwise_is_optimal_only_where_n_divides_s(size):
    """The owner of a chunk that is longer gets (N-1) times its excess too much."""
    made = program("reduce_scatter", "pairwise", size)
    assert count(made, 5 * size).bandwidth_optimal
    assert not count(made, 5 * size + 1).bandwidth_optimal
    assert count(program("reduce_scatter", "ring", size), 5 * size + 1).bandwidth_optimal
