"""Every algorithm's formula is the critical path of its schedule, in rational numbers."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import lcm
from pathlib import Path

import pytest

from refcoll import algorithms, count, node_shape, program
from refcoll.interpreters.clock import finish_times
from refcoll.rates import Rates
from samples import (
    FLAT,
    HIERARCHICAL,
    ROOTED,
    SHAPES,
    SIZES,
    named,
    sizes_of,
    switched,
    variants,
)
from times_page import page

EVERY_DAY = [*range(1, 10), 12, 16, 17, 31, 32, 33, 64]
"""Small N, those beside powers of two, and 12; the others by `pytest -m long`."""
RATES = [(1000, 10, 1), (1000, 1, 10), (10, 1000, 1), (1, 1000, 10), (10, 1, 1000), (1, 10, 1000)]
"""alpha, S beta and S gamma, in every order of size; in thirds, sevenths and elevenths.  Each N
takes two of them."""


FAR = [(7, 5), (1, 3), (5, 1), (2, 11), (Fraction(1, 3), 2), (3, Fraction(1, 2))]
"""How many times the alpha, and the beta, between nodes: slower, and faster too."""


def rates_of(which, nbytes, ports):
    alpha, beta, gamma = map(Fraction, RATES[which])
    alpha, beta, gamma = alpha / 3, beta / (7 * nbytes), gamma / (11 * nbytes)
    slower, thinner = FAR[which]
    far = {
        "between nodes": (slower * alpha, thinner * beta),
        "between switches": (thinner * alpha, slower * beta),
        "to and from helpers": (2 * alpha, beta / 13),
    }
    return Rates(alpha, beta, gamma, ports, far)


def whole(made):
    """A vector that is cut into equal chunks, or in proportion to the weights."""
    weights = made.weights or [1] * made.chunks
    return made.layout(made.whole(lcm(sum(weights), made.size)))


def tried(made):
    """Ports and rates; on one port, where the formula is the same, one of the rates."""
    some = range(made.size % 3, len(RATES), 3)
    yield from (("several", which) for which in some)
    same = made.claims.time.one is made.claims.time.several
    yield from (("one", which) for which in (some[:1] if same else some))


def require_time(made):
    """Claimed = played, to the last bit, or at most the claim where that is a bound."""
    layout = whole(made)
    exact = "time" not in made.claims.bounds
    for ports, which in tried(made):
        rates = rates_of(which, layout.count, ports)
        path = max(finish_times(made, layout, rates))
        claimed = made.claims.time(layout.count, rates)
        assert isinstance(path, Fraction)
        assert path == claimed if exact else path <= claimed, (made.title, ports, which)


def programs(each, sizes):
    """For all of those sizes that it is defined for, with some values of each option."""
    for size in sizes:
        if each.sizes.holds(size):
            for options in variants(each):
                yield program(each.collective, each.name, size, **options)


@pytest.mark.parametrize("each", FLAT, ids=named)
def test_the_formula_is_the_critical_path(each):
    for made in programs(each, EVERY_DAY):
        require_time(made)


@pytest.mark.long
@pytest.mark.parametrize("each", FLAT, ids=named)
def test_the_formula_is_the_critical_path_for_every_n_up_to_64(each):
    for made in programs(each, SIZES):
        require_time(made)


@pytest.mark.parametrize("each", HIERARCHICAL, ids=named)
@pytest.mark.parametrize("nodes", SHAPES, ids=sizes_of)
def test_the_formula_is_the_critical_path_on_nodes(each, nodes):
    size = sum(len(node) for node in nodes)
    on_switches = list(switched(nodes))
    for where in (nodes, *(on_switches if "switches" in each.options else on_switches[1:2])):
        require_time(program(each.collective, each.name, size, nodes=where))


@pytest.mark.parametrize("scatter", algorithms("reduce_scatter"), ids=named)
@pytest.mark.parametrize("gather", algorithms("all_gather"), ids=named)
def test_the_formula_is_the_critical_path_of_a_pair(scatter, gather):
    for size in (2, 3, 4, 6):
        if scatter.sizes.holds(size) and gather.sizes.holds(size):
            require_time(program("all_reduce", f"{scatter.name}+{gather.name}", size))


@pytest.mark.parametrize("each", ROOTED, ids=named)
def test_the_root_makes_no_difference(each):
    for size in (2, 5, 8):
        if each.sizes.holds(size):
            made = program(each.collective, each.name, size, root=size - 1)
            require_time(made)
            same = program(each.collective, each.name, size)
            assert made.claims.time.forms() == same.claims.time.forms()


TWO_AND_TWO = node_shape((2, 2))


@pytest.mark.parametrize("nodes", [TWO_AND_TWO, *switched(TWO_AND_TWO)])
@pytest.mark.parametrize("each", [each for each in FLAT if each.sizes.holds(4)], ids=named)
def test_where_links_differ_a_flat_formula_is_a_bound(each, nodes):
    made = program(each.collective, each.name, 4, nodes=nodes)
    assert ("time" in made.claims.bounds) == (not made.helpers)
    require_time(made)


@pytest.mark.parametrize("nodes", [[[0], [1], [2]], [[[0]], [[1]], [[2]]]])
def test_where_all_links_are_of_one_class_it_is_exact(nodes):
    for collective, name in (("all_reduce", "ring"), ("broadcast", "binomial")):
        made = program(collective, name, 3, nodes=nodes)
        assert "time" not in made.claims.bounds
        require_time(made)


# ---- what else is known of the same programs -------------------------------------------------


def alone(made, ports="several", **rate):
    """The time where nothing else takes any, in units of it."""
    rate = {name: Fraction(value) for name, value in rate.items()}
    far = {"between nodes": (rate.get("alpha", 0), rate.get("beta", 0))}
    return made.claims.time(1, Rates(ports=ports, far=far, **rate))


SMALL = [1, 2, 3, 5, 8]


@pytest.mark.parametrize("each", FLAT, ids=named)
def test_with_alpha_alone_it_is_the_depth_and_on_one_port_the_rounds(each):
    for made in programs(each, SMALL):
        assert alone(made, alpha=1) == made.claims.depth
        rounds = count(made, made.whole(1)).rounds
        if "time" in made.claims.bounds:
            assert rounds <= alone(made, "one", alpha=1)
        else:
            assert rounds == alone(made, "one", alpha=1)


@pytest.mark.parametrize("each", HIERARCHICAL, ids=named)
@pytest.mark.parametrize("nodes", [(4,), (1, 1, 1), (2, 2, 2), (5, 5), (3, 3, 3, 3)], ids=str)
def test_with_alpha_alone_it_is_the_depth_on_nodes(each, nodes):
    made = program(each.collective, each.name, sum(nodes), nodes=node_shape(nodes))
    assert alone(made, alpha=1) == made.claims.depth


@pytest.mark.parametrize("each", FLAT, ids=named)
def test_with_beta_alone_it_is_no_less_than_what_any_rank_moves(each):
    for made in programs(each, SMALL):
        layout, ranks = whole(made), range(made.ranks)
        for ports in ("several", "one"):
            moved = alone(made, ports, beta=1) * layout.count
            assert moved >= max(made.claims.sent(rank, layout.lengths) for rank in ranks)
            assert moved >= max(made.claims.received(rank, layout.lengths) for rank in ranks)


@pytest.mark.parametrize("size", [4, 7, 16, 33])
@pytest.mark.parametrize("segments", [1, 3, 8])
def test_the_bound_of_the_double_tree_is_near(size, segments):
    """Within a seventh where messages pay together; twice the path, one by one, at most."""
    made = program("all_reduce", "double_binary_tree", size, segments=segments)
    layout = whole(made)
    for ports, most in (("several", Fraction(8, 7)), ("one", 2)):
        for which in range(len(RATES)):
            rates = rates_of(which, layout.count, ports)
            path = max(finish_times(made, layout, rates))
            assert path <= made.claims.time(layout.count, rates) <= most * path


THAKUR = [
    ("all_gather", "ring", 5, "4 alpha + 4/5 S beta"),
    ("all_gather", "recursive_doubling", 8, "3 alpha + 7/8 S beta"),
    ("all_gather", "bruck", 5, "3 alpha + 4/5 S beta"),
    ("broadcast", "binomial", 5, "3 alpha + 3 S beta"),
    ("broadcast", "scatter_doubling", 8, "6 alpha + 7/4 S beta"),
    ("broadcast", "scatter_all_gather", 8, "10 alpha + 7/4 S beta"),
    ("reduce_scatter", "recursive_halving", 8, "3 alpha + 7/8 S beta + 7/8 S gamma"),
    ("reduce_scatter", "pairwise", 5, "4 alpha + 4/5 S beta + 4/5 S gamma"),
    ("reduce_scatter", "recursive_doubling", 8, "3 alpha + 17/8 S beta + 17/8 S gamma"),
    ("reduce", "binomial", 5, "3 alpha + 3 S beta + 3 S gamma"),
    ("reduce", "halving_gather", 8, "6 alpha + 7/4 S beta + 7/8 S gamma"),
    ("all_reduce", "recursive_doubling", 8, "3 alpha + 3 S beta + 3 S gamma"),
    ("all_reduce", "rabenseifner", 8, "6 alpha + 7/4 S beta + 7/8 S gamma"),
    ("all_reduce", "ring", 8, "14 alpha + 7/4 S beta + 7/8 S gamma"),
]


@pytest.mark.parametrize(("collective", "name", "size", "text"), THAKUR)
def test_the_formulas_of_thakur_rabenseifner_and_gropp(collective, name, size, text):
    """Optimization of collective communication operations in MPICH (2005), n = S bytes."""
    (form,) = program(collective, name, size).claims.time.forms()
    assert str(form) == text


def test_the_bound_of_the_double_tree_is_reached():
    for size in (4, 8, 16):
        made = program("all_reduce", "double_binary_tree", size, segments=8)
        layout = whole(made)
        for which in range(len(RATES)):
            rates = rates_of(which, layout.count, "several")
            assert made.claims.time(layout.count, rates) == max(finish_times(made, layout, rates))


def test_the_page_of_times_is_up_to_date():
    document = Path(__file__).parents[2] / "docs" / "times.md"
    assert document.read_text() == page(), "python tests/times_page.py > docs/times.md"


# ---- as numbers ------------------------------------------------------------------------------


@pytest.mark.parametrize("each", algorithms(), ids=named)
def test_in_floats_it_is_the_same(each):
    size = 16
    nodes = node_shape((4, 4, 4, 4))
    made = program(each.collective, each.name, size, nodes=nodes)
    for ports in ("several", "one"):
        exact = rates_of(2, 1000, ports)
        far = {link: (float(a), float(b)) for link, (a, b) in exact.far.items()}
        rounded = Rates(float(exact.alpha), float(exact.beta), float(exact.gamma), ports, far)
        seconds = made.claims.time(1000, rounded)
        assert isinstance(seconds, float)
        assert seconds == pytest.approx(float(made.claims.time(1000, exact)), rel=1e-12)


def test_16384_ranks():
    """2 * 16383 alpha, and 16383/16384 of the vector twice; no schedule is asked for a step."""
    made = replace(program("all_reduce", "ring", 16384), steps=None)
    assert [str(form) for form in made.claims.time.forms()] == [
        "32766 alpha + 16383/8192 S beta + 16383/16384 S gamma"
    ]
    rails = program("all_reduce", "hierarchical_rails", 16384, nodes=node_shape((8,) * 2048))
    rates = Rates(1e-6, 1 / 400e9, far={"between nodes": (5e-6, 1 / 50e9)})
    share = 8 * 2**30 / 8 * 2047 / 2048
    assert rails.claims.time(8 * 2**30, rates) == pytest.approx(
        14e-6 + 2 * 7 * 2**30 / 400e9 + 2 * 2047 * 5e-6 + 2 * share / 50e9
    )


def test_one_rank_takes_no_time():
    for each in FLAT:
        made = program(each.collective, each.name, 1)
        if not made.helpers:
            assert made.claims.time.forms() == made.claims.time.forms("one") == ()
            assert made.claims.time(10**9, Rates(1.0, 1.0, 1.0)) == 0
