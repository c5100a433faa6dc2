"""Every algorithm's formula is the critical path of its schedule, in rational numbers."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import lcm

import pytest

from refcoll import algorithms, program
from refcoll.interpreters.clock import finish_times
from refcoll.rates import Rates
from samples import FLAT, HIERARCHICAL, SHAPES, SIZES, defined, named, sizes_of, switched, variants

EVERY_DAY = {*range(1, 10), 12, 16, 17, 31, 32, 33, 64}
"""Small N, one off powers of two either way, and 12; the others by `pytest -m long`."""
RATES = [(1000, 10, 1), (1000, 1, 10), (10, 1000, 1), (1, 1000, 10), (10, 1, 1000), (1, 10, 1000)]
"""alpha, S beta and S gamma, in every order of size, of which even N take one half and odd N the
other; in thirds, sevenths and elevenths."""


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


def require_time(made):
    """Claimed = played, to the last bit, or at most the claim where that is a bound."""
    layout = whole(made)
    exact = "time" not in made.claims.bounds
    some = range(made.size % 2, len(RATES), 2)
    for ports, which in product(("several", "one"), some):
        rates = rates_of(which, layout.count, ports)
        path = max(finish_times(made, layout, rates))
        claimed = made.claims.time(layout.count, rates)
        assert isinstance(path, Fraction)
        assert path == claimed if exact else path <= claimed, (made.title, ports, which)


@pytest.mark.parametrize(("each", "size"), defined(SIZES, FLAT, EVERY_DAY))
def test_the_formula_is_the_critical_path(each, size):
    for options in variants(each):
        made = program(each.collective, each.name, size, **options)
        require_time(made)


@pytest.mark.parametrize("each", HIERARCHICAL, ids=named)
@pytest.mark.parametrize("nodes", SHAPES, ids=sizes_of)
def test_the_formula_is_the_critical_path_on_nodes(each, nodes):
    size = sum(len(node) for node in nodes)
    for where in (nodes, *switched(nodes)):
        require_time(program(each.collective, each.name, size, nodes=where))


@pytest.mark.parametrize("scatter", algorithms("reduce_scatter"), ids=named)
@pytest.mark.parametrize("gather", algorithms("all_gather"), ids=named)
def test_the_formula_is_the_critical_path_of_a_pair(scatter, gather):
    for size in (1, 2, 3, 4, 6, 8):
        if scatter.sizes.holds(size) and gather.sizes.holds(size):
            require_time(program("all_reduce", f"{scatter.name}+{gather.name}", size))
