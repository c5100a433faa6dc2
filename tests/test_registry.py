"""What ``refcoll.program`` and ``refcoll.explain`` refuse, and in which words."""

from __future__ import annotations

import numpy as np
import pytest

from refcoll import ArgumentError, algorithms, check, count, explain, node_shape, program
from refcoll.topology import LINKS, topology


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"segments": 1.5}, "segments=1.5 is not an integer"),
        ({"segments": "a"}, "segments='a' is not an integer"),
        ({"segments": 0}, "segments=0 must be at least 1"),
        ({"radix": None}, "radix=None is not an integer"),
        ({"radix": 1}, "radix=1 must be at least 2"),
        ({"shards": -1}, "shards=-1 must be at least 1"),
        ({"nodes": 5}, "nodes=5 must be a list of lists of ranks"),
        ({"nodes": "2x2"}, "must be a list of lists of ranks"),
        ({"nodes": [0, 1, 2, 3]}, "must be a list of lists of ranks"),
        ({"nodes": [[0, 1], [2, [3]]]}, "must be a list of lists of ranks"),
        ({"nodes": [[[0, 1]], [2, 3]]}, "must be a list of lists of ranks"),
        ({"nodes": [[0, 1], [3]]}, "must hold each of the ranks 0 to 3 once"),
        ({"nodes": [[0, 1], [], [2, 3]]}, "and no empty node"),
        ({"nodes": [[[0, 1], [2, 3]], []]}, "has a switch without nodes"),
        ({"root": 1}, "root=1 has no meaning for all_reduce"),
        ({"root": "x"}, "root='x' is not an integer"),
    ],
)
def test_wrong_options(arguments, words):
    with pytest.raises(ArgumentError, match=words.replace("[", r"\[")):
        program("all_reduce", "bcube", 4, **arguments)


@pytest.mark.parametrize(
    ("collective", "name", "size", "words"),
    [
        ("all_reduce", "ring", "4", "size='4' is not an integer"),
        ("all_reduce", "ring", 2.0, "size=2.0 is not an integer"),
        ("all_reduce", "ring", 0, "size=0 must be at least 1"),
        ("all_reduce", None, 4, "algorithm=None does not exist for all_reduce"),
        (None, "ring", 4, "collective=None does not exist"),
        ("all_reduce", "ring+", 4, "algorithm='' does not exist for all_gather"),
        ("all_reduce", "up+ring", 4, "algorithm='up' does not exist for reduce_scatter"),
        ("broadcast", "ring+ring", 4, r"algorithm='ring\+ring' does not exist for broadcast"),
        ("all_reduce", "bine", 6, "size=6: bine all_reduce is defined for N a power of two only"),
        ("all_gather", "neighbor_exchange", 5, "is defined for even N, and N = 1 only"),
        ("all_reduce", "ring+recursive_doubling", 6, "is defined for N a power of two only"),
    ],
)
def test_wrong_names_and_sizes(collective, name, size, words):
    with pytest.raises(ArgumentError, match=words):
        program(collective, name, size)


def test_numpy_integers_are_integers():
    made = program("all_reduce", "bcube", np.int64(4), radix=np.int32(2))
    assert check(made).ok


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("all_reduce", 0, 1), "size=0"),
        (("all_reduce", 4, -1), "nbytes=-1"),
        (("all_reduce", 4, 1.5), "nbytes=1.5 is not an integer"),
        (("all_sorts", 4, 1), "collective='all_sorts' does not exist"),
    ],
)
def test_explain_refuses_what_makes_no_sense(arguments, words):
    with pytest.raises(ArgumentError, match=words):
        explain(*arguments)


@pytest.mark.parametrize("collective", ["all_reduce", "broadcast", "all_to_all", "scan", "barrier"])
@pytest.mark.parametrize("size", [1, 2, 5, 8])
def test_explain_ranks_everything_that_runs(collective, size):
    choices = explain(collective, size, 10_000)
    assert [c.seconds for c in choices] == sorted(c.seconds for c in choices)
    assert {choice.algorithm for choice in choices} == {
        each.name
        for each in algorithms(collective)
        if each.sizes.holds(size) and not each.needs_helpers
    }


def test_nodes_change_the_choice_where_the_network_is_slow():
    """On 8 nodes of 8 a ring in rank order crosses 8 links between nodes, and waits for them."""
    nodes = node_shape([8] * 8)
    flat = {c.algorithm: c.seconds for c in explain("all_reduce", 64, 100_000_000)}
    placed = {c.algorithm: c.seconds for c in explain("all_reduce", 64, 100_000_000, nodes=nodes)}
    assert placed["ring"] > 2 * flat["ring"]
    assert placed["hierarchical_rails"] < placed["ring"]


def test_the_class_of_a_link():
    where = topology([[[0, 4], [1]], [[2, 3]]], 5)
    assert where.nodes == ((0, 4), (1,), (2, 3))
    assert where.switches == ((0, 1), (2,))
    pairs = {(0, 4): 0, (2, 3): 0, (0, 1): 1, (4, 1): 1, (0, 2): 2, (1, 3): 2, (0, 5): 3}
    assert {pair: LINKS.index(where.link(*pair)) for pair in pairs} == pairs


def test_above_64_ranks_too_the_bytes_are_those_of_the_busiest():
    """65 ranks fold into 64 for k = 4: some first of a group sends S more than the others."""
    choices = {c.algorithm: c for c in explain("all_reduce", 65, 1 << 20)}
    for name in ("bcube", "recursive_multiplying", "ring", "rabenseifner"):
        counts = count(program("all_reduce", name, 65), 1 << 20)
        assert (choices[name].sent, choices[name].received) == (counts.sent, counts.received)


def test_above_64_ranks_too_nodes_matter():
    nodes = node_shape([32] * 4)
    flat = {c.algorithm: c.seconds for c in explain("all_reduce", 128, 10_000_000)}
    placed = {c.algorithm: c.seconds for c in explain("all_reduce", 128, 10_000_000, nodes=nodes)}
    assert placed["ring"] > 2 * flat["ring"]
    assert placed["hierarchical_rails"] < placed["ring"]
