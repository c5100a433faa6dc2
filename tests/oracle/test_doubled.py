"""Twice the digits of a double, by rational arithmetic."""

from fractions import Fraction
from math import prod

import numpy as np
import pytest

from refcoll.oracle import doubled

UNIT = Fraction(1, 2**53)


def rows(size, seed=0):
    """Of magnitudes that differ by up to 2^60, and of both signs."""
    generator = np.random.default_rng(seed)
    shape = (size, 20)
    return generator.standard_normal(shape) * 2.0 ** generator.integers(-30, 30, shape)


def exact(pair, place):
    return Fraction(float(pair[0][place])) + Fraction(float(pair[1][place]))


@pytest.mark.parametrize("size", [1, 2, 3, 128])
def test_sums(size):
    """Within (n u)^2 of the magnitudes, and high is the exact sum rounded."""
    given = rows(size)
    given[size // 2] -= given[0] if size > 1 else 0  # so that much cancels
    found = doubled.total(given)
    for place in range(20):
        column = [Fraction(float(x)) for x in given[:, place]]
        assert abs(exact(found, place) - sum(column)) <= (size * UNIT) ** 2 * sum(map(abs, column))
    assert (np.abs(found[1]) <= np.spacing(np.abs(found[0])) / 2).all()


@pytest.mark.parametrize("size", [1, 2, 16])
def test_products(size):
    given = rows(size) * 2.0**3
    found = doubled.product(given)
    for place in range(20):
        right = prod(Fraction(float(x)) for x in given[:, place])
        assert abs(exact(found, place) - right) <= 2 * size * UNIT**2 * abs(right)


@pytest.mark.parametrize("size", [1, 2, 9])
def test_complex_products(size):
    given = rows(size) + 1j * rows(size, seed=1)
    real, imaginary = doubled.complex_product(given)
    for place in range(20):
        right = (Fraction(1), Fraction(0))
        for x in given[:, place]:
            c, d = Fraction(float(x.real)), Fraction(float(x.imag))
            right = (right[0] * c - right[1] * d, right[0] * d + right[1] * c)
        most = 20 * size * UNIT**2 * (abs(right[0]) + abs(right[1]))
        assert abs(exact(real, place) - right[0]) <= most
        assert abs(exact(imaginary, place) - right[1]) <= most


@pytest.mark.parametrize("by", [1, 3, 7, 128])
def test_quotients(by):
    total = doubled.total(rows(3))
    found = doubled.divided(total, by)
    for place in range(20):
        right = exact(total, place) / by
        assert abs(exact(found, place) - right) <= 4 * UNIT**2 * abs(right)


def test_distances_of_a_last_place():
    third = doubled.divided((np.ones(1), np.zeros(1)), 3)
    off = doubled.distance(np.array([1 / 3]), third)[0]
    assert Fraction(off) == pytest.approx(abs(Fraction(1 / 3) - Fraction(1, 3)), rel=1e-12)
