"""Every algorithm's formula is the critical path of its schedule, in rational numbers."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import lcm

import pytest

from refcoll import program
from refcoll.interpreters.clock import finish_times
from refcoll.rates import Rates
from samples import FLAT, SIZES, defined, variants

EVERY_DAY = {*range(1, 10), 12, 16, 17, 31, 32, 33, 64}
"""Small N, one off powers of two either way, and 12; the others by `pytest -m long`."""
RATES = [(1000, 10, 1), (1000, 1, 10), (10, 1000, 1), (1, 1000, 10), (10, 1, 1000), (1, 10, 1000)]
"""alpha, S beta and S gamma, in every order of size; in thirds, sevenths and elevenths."""


def rates_of(alpha, beta, gamma, nbytes, ports):
    return Rates(
        Fraction(alpha, 3), Fraction(beta, 7 * nbytes), Fraction(gamma, 11 * nbytes), ports
    )


def whole(made):
    """A vector that is cut into equal chunks, or in proportion to the weights."""
    weights = made.weights or [1] * made.chunks
    return made.layout(made.whole(lcm(sum(weights), made.size)))


def require_time(made):
    """Claimed = played, to the last bit, or at most the claim where that is a bound."""
    layout = whole(made)
    for ports, each in product(("several", "one"), RATES):
        rates = rates_of(*each, layout.count, ports)
        path = max(finish_times(made, layout, rates))
        claimed = made.claims.time(layout.count, rates)
        assert isinstance(path, Fraction)
        exact = "time" not in made.claims.bounds
        assert path == claimed if exact else path <= claimed, (made.title, ports, each)


@pytest.mark.parametrize(("each", "size"), defined(SIZES, FLAT, EVERY_DAY))
def test_the_formula_is_the_critical_path(each, size):
    for options in variants(each):
        made = program(each.collective, each.name, size, **options)
        if made.claims.time:
            require_time(made)
