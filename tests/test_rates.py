"""Rates: when they are exact."""

from __future__ import annotations

from fractions import Fraction

import pytest

from refcoll.rates import Rates, checked_rates


@pytest.mark.parametrize(
    ("rates", "exact"),
    [
        (Rates(Fraction(1, 3)), True),
        (Rates(1, Fraction(1, 3)), True),
        (Rates(far={"between nodes": (Fraction(1, 3), 1)}), True),
        (Rates(1, 2, 3), False),
        (Rates(Fraction(1, 3), 0.5), False),
        (Rates(Fraction(1, 3), far={"between nodes": (1, 0.5)}), False),
        (checked_rates(1e-6, 1e9), False),
        (checked_rates(Fraction(1, 3), Fraction(7), Fraction(9)), True),
    ],
)
def test_fractions_without_a_float_are_exact(rates, exact):
    assert rates.exact is exact


def test_exact_rates_are_whole_numbers_of_a_unit():
    far = {"between nodes": (Fraction(1, 5), 2)}
    units, a_second = Rates(Fraction(1, 3), Fraction(1, 2), 1, far=far).in_units()
    assert a_second == 30
    assert (units.alpha, units.beta, units.gamma) == (10, 15, 30)
    assert units.far == {"between nodes": (6, 60)}
