"""Figures come out of times that were made of them."""

from __future__ import annotations

from fractions import Fraction
from itertools import chain, combinations

import numpy as np
import pytest

from refcoll import program
from refcoll.planning.fitting import Errors, Observed, _least_squares, errors_of, fitted
from refcoll.rates import Rates

ALPHA, BETA, GAMMA = Fraction(3, 10**6), Fraction(1, 50 * 10**9), Fraction(1, 10**12)
RATES = Rates(ALPHA, BETA, GAMMA)


def of_ring(ranks, nbytes):
    """2(N-1) alpha + 2(N-1)/N S beta + (N-1)/N S gamma (Patarasuk and Yuan 2009), and its time
    in rational numbers, from the claim."""
    steps = 2 * (ranks - 1)
    counts = {"a": steps, "b": steps / ranks * nbytes, "c": steps / ranks / 2 * nbytes, "o": 1.0}
    return counts, program("all_reduce", "ring", ranks).claims.time(nbytes, RATES)


def rings(sizes, ranks=(8,)):
    made = [(n, *of_ring(size, n)) for size in ranks for n in sizes]
    return [Observed((counts,), float(exact), n) for n, counts, exact in made]


SIZES = [4**k for k in range(5, 15)]


def test_exact_times_give_the_figures_they_were_made_of():
    """One log of a ring cannot tell a call from latency, or merging from moving: beta counts
    twice what gamma does."""
    fit = fitted(rings(SIZES), ["a", "b", "c", "o"])
    assert fit.figures["a"] == pytest.approx(float(ALPHA), rel=1e-9)
    assert fit.figures["b"] == pytest.approx(float(BETA + GAMMA / 2), rel=1e-9)
    assert fit.untold == ("c", "o")
    assert abs(fit.errors.worst) < 1e-9
    assert abs(fit.held_out.worst) < 1e-9


def test_rings_of_two_sizes_tell_a_call_from_latency():
    fit = fitted(
        [Observed(each.forms, each.seconds + 7e-6, each.nbytes) for each in rings(SIZES, (4, 8))],
        ["a", "b", "o"],
    )
    assert fit.untold == ()
    assert fit.figures["o"] == pytest.approx(7e-6, rel=1e-6)
    assert fit.figures["a"] == pytest.approx(float(ALPHA), rel=1e-6)


def test_noise_moves_figures_by_no_more_than_itself():
    """Times off by up to 10 %: each figure is a median of sorts of what they say."""
    draw = np.random.default_rng(7)
    noisy = [
        Observed(each.forms, each.seconds * draw.uniform(0.9, 1.1), each.nbytes)
        for each in rings(SIZES)
    ]
    fit = fitted(noisy, ["a", "b"])
    assert fit.figures["a"] == pytest.approx(float(ALPHA), rel=0.1)
    assert fit.figures["b"] == pytest.approx(float(BETA + GAMMA / 2), rel=0.1)
    assert 0 < fit.errors.median < abs(fit.errors.worst) < 0.25


def test_short_vectors_count_as_much_as_long_ones():
    """Were errors not relative, latency would come from what the longest vectors are off by."""
    observed = rings(SIZES)
    last = observed[-1]
    observed[-1] = Observed(last.forms, last.seconds * 1.05, last.nbytes)
    assert fitted(observed, ["a", "b"]).figures["a"] == pytest.approx(float(ALPHA), rel=0.01)


def test_no_figure_is_below_zero():
    """Times of 4, 2, 1 for counts 1, 2, 3 of b: a line would fall.  Of figures that may not, the
    level a = 2 is best, the median; and b alone is best at the median of 4/1, 2/2, 1/3."""
    times = ((1.0, 4.0), (2.0, 2.0), (3.0, 1.0))
    rows = [Observed(({"a": 1.0, "b": n},), t, int(n)) for n, t in times]
    assert fitted(rows, ["a", "b"]).figures == pytest.approx({"a": 2.0, "b": 0.0}, abs=1e-4)
    alone = fitted([Observed(({"b": n},), t, int(n)) for n, t in times], ["b"])
    assert alone.figures["b"] == pytest.approx(1.0, rel=1e-4)


def test_twice_as_long_is_as_wrong_as_half_as_long():
    """Times of 1 and 8 for what else costs the same, and one of 2: the median, 2, not a mean."""
    rows = [Observed(({"a": 1.0},), t, n) for n, t in enumerate((1.0, 2.0, 8.0), 1)]
    assert fitted(rows, ["a"]).figures["a"] == pytest.approx(2.0, rel=1e-4)


def test_a_few_bad_moments_do_not_count():
    """Three of ten times were taken while the machine was busy: 3, 8 and 40 times too long."""
    observed = rings(SIZES)
    for place, times in ((1, 3), (4, 8), (8, 40)):
        each = observed[place]
        observed[place] = Observed(each.forms, each.seconds * times, each.nbytes)
    fit = fitted(observed, ["a", "b"])
    assert fit.figures["a"] == pytest.approx(float(ALPHA), rel=1e-3)
    assert fit.figures["b"] == pytest.approx(float(BETA + GAMMA / 2), rel=1e-3)
    assert fit.errors.median < 1e-3
    assert fit.errors.worst == pytest.approx(1 / 40 - 1, abs=1e-3)


def test_of_several_sums_the_greatest_counts():
    """A pipeline is as slow as its slowest stage: max(10 a, b n) has a corner at n = 10 a / b."""
    a, b = 2e-6, 1e-9
    rows = [
        Observed(({"a": 10.0}, {"b": float(n)}), max(10 * a, b * n), n)
        for n in (10, 1000, 10_000, 40_000, 10**6)
    ]
    fit = fitted(rows, ["a", "b"])
    assert fit.figures == pytest.approx({"a": a, "b": b}, rel=1e-9)
    assert abs(fit.errors.worst) < 1e-9


def test_held_out_sizes_are_judged_by_a_fit_without_them():
    """a + b n through the 1st and 3rd of four sizes; the 2nd was measured twice as long."""
    times = {1: 1.0, 10: 2 * 1.9, 100: 10.9, 1000: 100.9}
    rows = [Observed(({"a": 1.0, "b": n},), t, n) for n, t in times.items()]
    fit = fitted(rows, ["a", "b"])
    assert fit.held_out.each == pytest.approx((-0.5, 0.0), abs=1e-9)
    assert fit.held_out.worst == pytest.approx(-0.5)
    assert fitted(rows[:3], ["a", "b"]).held_out is None


def test_errors_are_said_as_shares():
    errors = Errors((0.1, -0.4, 0.2))
    assert (errors.median, errors.worst) == (0.2, -0.4)
    assert str(errors) == "median 20.0%, worst -40.0%"
    (row,) = rings([1024])
    assert errors_of([row], {"a": 0.0, "b": 0.0}).each == (-1.0,)


@pytest.mark.parametrize("seed", range(20))
def test_least_squares_without_negatives_is_the_best_of_all_sets_of_figures(seed):
    """Beside every subset solved by itself, of which those without a negative count."""
    draw = np.random.default_rng(seed)
    rows, wanted = draw.normal(size=(9, 5)), draw.normal(size=9)
    least = wanted @ wanted
    for used in chain.from_iterable(combinations(range(5), n) for n in range(1, 6)):
        found = np.linalg.lstsq(rows[:, used], wanted, rcond=None)[0]
        if found.min() >= 0:
            least = min(least, np.sum((rows[:, used] @ found - wanted) ** 2))
    x = _least_squares(rows, wanted)
    assert x.min() >= 0
    assert np.sum((rows @ x - wanted) ** 2) == pytest.approx(least, rel=1e-9)
