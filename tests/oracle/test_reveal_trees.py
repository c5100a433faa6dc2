"""Trees: when they are the same, and what they look like."""

from __future__ import annotations

import numpy as np
import pytest

from refcoll.interpreters.expression import Expressions
from refcoll.oracle.revealing.relabelling import relabelling
from refcoll.oracle.revealing.trees import chain, drawn, leaf, node, of_expression, shape, together


def tree(of):
    """From nested tuples of ranks."""
    return leaf(of) if isinstance(of, int) else node([tree(each) for each in of])


def test_addition_commutes():
    assert tree(((3, 2), (1, 0))) == tree(((0, 1), (2, 3)))
    assert tree(((0, 1), 2)) != tree((0, (1, 2)))
    assert str(tree((3, (2, (1, 0))))) == "(((0+1)+2)+3)"


def test_an_exact_sum_is_another():
    assert node([leaf(0), leaf(1), leaf(2)], exact=True) != tree((0, 1, 2))
    assert str(node([leaf(2), leaf(0), leaf(1)], exact=True)) == "{0+1+2}"


def test_shapes_are_equal_where_a_relabelling_makes_trees_equal():
    assert shape(tree(((0, 1), 2))) == shape(tree((0, (1, 2)))) == "((x+x)+x)"
    assert shape(tree(((0, 1), (2, 3)))) != shape(tree((((0, 1), 2), 3)))


def test_where_ranks_meet():
    assert together(tree(((0, 1), (2, 3)))) == {
        (0, 1): 2, (2, 3): 2, (0, 2): 4, (0, 3): 4, (1, 2): 4, (1, 3): 4,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("of", "wanted"),
    [
        ((3, (2, (0, 1))), [0, 1, 2, 3]),
        ((1, (0, (2, 3))), [2, 3, 0, 1]),
        (((0, 1), (2, 3)), None),
        ((0, 1, 2), None),
    ],
)
def test_chains(of, wanted):
    assert chain(tree(of)) == wanted


def test_drawings():
    assert drawn(tree((((0, 1), (2, 3)), ((4, 5), 6)))).splitlines() == [
        "0 -.",
        "1 -+-.",
        "2 -. |",
        "3 -+-+-.",
        "4 -.   |",
        "5 -+-. |",
        "6 ---+-+-",
    ]
    assert drawn(tree((9, 10, 11))).splitlines() == [" 9 -.", "10 -+", "11 -+-"]
    assert drawn(leaf(0)) == "0 -"


def test_the_tree_of_an_expression():
    make = Expressions()
    a, b, c = (make.leaf(rank, 0) for rank in range(3))
    assert of_expression(make.merge(make.merge(c, b), a)) == tree((0, (1, 2)))


def renamed(of, order):
    return leaf(order[of]) if isinstance(of, int) else node([renamed(x, order) for x in of])


@pytest.mark.parametrize("seed", range(8))
def test_a_relabelling_of_all_chunks_is_found(seed):
    """Of a ring's chunks, which fix every rank, it is the one that was made."""
    size = 7
    order = [int(x) for x in np.random.default_rng(seed).permutation(size)]

    def from_rank(first):
        ranks = [(first + k) % size for k in range(size)]
        of = ranks[0]
        for rank in ranks[1:]:
            of = (of, rank)
        return of

    chunks = [from_rank(first) for first in range(size)]
    found = relabelling([tree(of) for of in chunks], [renamed(of, order) for of in chunks])
    assert found == tuple(order)


def test_what_is_found_does_rename_the_one_into_the_other():
    """Of balanced trees, whose ranks all look alike one by one."""
    pairs = (((0, 1), (2, 3)), ((4, 5), (6, 7)))
    crossed = (((0, 4), (1, 5)), ((2, 6), (3, 7)))
    for seed in range(8):
        order = [int(x) for x in np.random.default_rng(seed).permutation(8)]
        wanted = [renamed(of, order) for of in (pairs, crossed)]
        found = relabelling([tree(pairs), tree(crossed)], wanted)
        assert [renamed(of, found) for of in (pairs, crossed)] == wanted


def test_one_permutation_must_fit_all_chunks():
    """Each chunk alone can be relabelled, both together cannot."""
    theirs = [tree(((0, 1), 2)), tree(((0, 1), 2))]
    assert relabelling(theirs[:1], [tree(((1, 2), 0))]) is not None
    assert relabelling(theirs, [tree(((0, 1), 2)), tree(((1, 2), 0))]) is None
