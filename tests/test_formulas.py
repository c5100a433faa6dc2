"""Formulas: what is printed, and what is reckoned with."""

from __future__ import annotations

from fractions import Fraction

import pytest

from refcoll.algorithms.symbols import FOLDED, LOG2_N, L, M, N, log2_p, p
from refcoll.forms import TERMS, Form
from refcoll.formulas import (
    Count,
    S,
    alpha,
    alpha_inter,
    beta,
    beta_inter,
    gamma,
    most,
    over,
)

RING = 2 * (N - 1) * alpha + 2 * (N - 1) / N * S * beta + (N - 1) / N * S * gamma
TREE = L * (alpha + S * beta)


@pytest.mark.parametrize(
    ("formula", "text"),
    [
        (RING, "2(N-1) alpha + 2(N-1)/N S beta + (N-1)/N S gamma"),
        (TREE, "L (alpha + S beta)"),
        (TREE.merging(), "L (alpha + S (beta + gamma))"),
        ((M + N - 2) * (alpha + S / M * beta), "(M+N-2)(alpha + S/M beta)"),
        (2 * L * alpha + S / (2 * M) * beta, "2L alpha + S/(2M) beta"),
        (2 * log2_p * alpha, "2 log2 p alpha"),
        ((LOG2_N - (N - 1) / N) * S * beta, "(log2 N - (N-1)/N) S beta"),
        (2 * FOLDED * alpha, "2[N>p] alpha"),
        (FOLDED * (alpha + S * beta), "[N>p] (alpha + S beta)"),
        ((N - (p - 1)) * alpha, "(N-(p-1)) alpha"),
        (S / 2 * (beta + gamma), "S/2 (beta + gamma)"),
        (M * N * (L - 1) * alpha, "MN(L-1) alpha"),
        ((1 + 1 / N) * S * beta, "(1+1/N) S beta"),
        (most(alpha, S * beta), "max(alpha, S beta)"),
        (most(N - 2, 0) * alpha, "max(N-2, 0) alpha"),
        (alpha_inter + S * beta_inter, "alpha_inter + S beta_inter"),
    ],
)
def test_a_formula_is_printed_as_it_is_written(formula, text):
    assert str(formula) == text


def test_the_ring_on_8_ranks():
    (form,) = RING.forms(8)
    assert str(form) == "14 alpha + 7/4 S beta + 7/8 S gamma"
    assert form.terms == {"alpha": 14, "S beta": Fraction(7, 4), "S gamma": Fraction(7, 8)}


@pytest.mark.parametrize("size", [2, 3, 5, 8, 16384])
def test_a_form_is_the_formula_in_plain_arithmetic(size):
    seconds, per_byte, merging, nbytes = Fraction(3, 7), Fraction(1, 11), Fraction(1, 13), 840
    (form,) = RING.forms(size)
    share = Fraction(size - 1, size) * nbytes
    expected = 2 * (size - 1) * seconds + 2 * share * per_byte + share * merging
    price = {"alpha": seconds, "S beta": nbytes * per_byte, "S gamma": nbytes * merging}
    assert form([price.get(" ".join(term), 0) for term in TERMS]) == expected


def test_options_are_counts():
    (form,) = ((M + N - 2) * (alpha + S / M * beta)).forms(5, segments=4)
    assert str(form) == "7 alpha + 7/4 S beta"


def test_of_several_forms_those_stay_that_may_be_the_greatest():
    """3 alpha + 2 S beta lies below 3 alpha + 3 S beta, at any rates."""
    formula = most(3 * alpha + 2 * S * beta, 5 * alpha, 3 * alpha + 3 * S * beta, 5 * alpha)
    assert [str(form) for form in formula.forms(2)] == ["5 alpha", "3 alpha + 3 S beta"]


def test_a_sum_of_maxima_has_all_sums():
    formula = most(2 * alpha, S * beta) + most(alpha, S * gamma)
    assert {str(form) for form in formula.forms(2)} == {
        "3 alpha", "2 alpha + S gamma", "alpha + S beta", "S beta + S gamma",
    }  # fmt: skip


def test_the_greatest_over_cases():
    d, e = (Count(name, "", lambda _name=name, **known: known[_name]) for name in "de")
    ways = over(
        "ways", lambda size: [{"d": size, "e": 1}, {"d": 1, "e": size}], d * alpha + e * S * beta
    )
    assert str(ways) == "max over ways of (d alpha + e S beta)"
    assert [str(form) for form in ways.forms(4)] == ["4 alpha + S beta", "alpha + 4 S beta"]
    assert str(ways.merging()) == "max over ways of (d alpha + e S (beta + gamma))"


@pytest.mark.parametrize(
    ("formula", "strange"),
    [
        (N * beta, "beta"),
        (S * alpha, "S alpha"),
        (S * S * beta, "S S beta"),
        (N * S, "S"),
        (N + alpha, ""),
    ],
)
def test_what_is_no_time_is_refused(formula, strange):
    """Above all a beta without its S."""
    with pytest.raises(ValueError, match=f"{strange} is no alpha, S beta or S gamma"):
        formula.forms(8)


def test_a_unit_that_cancels_is_not_there():
    assert str(Form.of({("alpha",): Fraction(2), ("beta",): Fraction(0)})) == "2 alpha"
    assert str(Form.of({})) == "0"


def test_what_the_letters_mean():
    assert RING.where == {"N": "ranks"}
    assert list(((M + N) * alpha + L * S * beta).where) == ["M", "N", "L"]


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 7, 8, 9, 1000, 1024, 1025])
def test_the_counts_that_follow_from_n(size):
    """By their definitions, in floating point where that is exact enough."""
    value = {count.name: count.value(size=size) for count in (L, p, log2_p, FOLDED)}
    assert 2 ** value["L"] >= size > 2 ** (value["L"] - 1)
    assert value["p"] == 2 ** value["log2 p"] <= size < 2 * value["p"]
    assert value["[N>p]"] == (size > value["p"])
