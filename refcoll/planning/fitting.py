"""Figures from measured times: what each message, byte and call must cost to explain them.

    seconds = overhead + alphas latency + bytes per_byte + ...    a sum of counts x figures

Fitted so that |log(predicted / measured)| sums up to the least: half as long is as wrong as
twice as long, for short vectors as for long ones, and the few times that were taken in a bad
moment, or where a library changes its ways, do not move the rest, as they would if they were
squared.  It is done by least squares again and again, each error weighted by what its last
amount asks for (iteratively reweighted least squares: Holland and Welsch, Communications in
Statistics A6, 1977), with no figure below 0 (Lawson and Hanson, Solving Least Squares
Problems, 1974, ch. 23).

What the counts cannot tell apart is left out, the later figure first: on so many ranks a ring
merges half as many bytes as it sends, whatever their number, so that one log of it tells
nothing of merging.  Where a time is the greatest of several sums (a pipeline), that sum counts
which is the greatest by the fit so far.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, TypeAlias

import numpy as np

Counts: TypeAlias = Mapping[str, float]
"""How often each figure counts, by name."""
Matrix: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]
Vector: TypeAlias = np.ndarray[Any, np.dtype[Any]]
_TURNS = 50
"""Times that weights, or the greatest sums, are chosen anew, at most."""
_EXACT = 1e-6
"""Errors below this weigh no more."""


@dataclass(frozen=True)
class Observed:
    """A measured time, and what it is made of."""

    forms: tuple[Counts, ...]
    """Of which sums it is the greatest; mostly one."""
    seconds: float
    nbytes: int
    """By which every other one is held out."""

    def predicted(self, figures: Counts) -> float:
        """Seconds by these figures."""
        return max(_sum(form, figures) for form in self.forms)


@dataclass(frozen=True)
class Errors:
    """Of predictions: predicted / measured - 1."""

    each: tuple[float, ...]

    @property
    def median(self) -> float:
        """Of their amounts."""
        return float(median(abs(error) for error in self.each))

    @property
    def worst(self) -> float:
        """The one of greatest amount, with its sign."""
        return max(self.each, key=abs)

    def __str__(self) -> str:
        return f"median {self.median:.1%}, worst {self.worst:+.1%}"


@dataclass(frozen=True)
class Fit:
    """Figures, and how far off they are."""

    figures: Counts
    untold: tuple[str, ...]
    """What occurs, but cannot be told apart from what is in ``figures``."""
    errors: Errors
    held_out: Errors | None
    """Of every other size, by a fit to the rest; None where there are too few."""


def fitted(observed: Sequence[Observed], names: Sequence[str]) -> Fit:
    """The figures that explain the times best; earlier ``names`` come first where they compete."""
    figures, untold = _solved(observed, names)
    errors = errors_of(observed, figures)
    return Fit(figures, untold, errors, _held_out(observed, names, set(untold)))


def errors_of(observed: Sequence[Observed], figures: Counts) -> Errors:
    """Of each, by these figures."""
    return Errors(tuple(each.predicted(figures) / each.seconds - 1 for each in observed))


def _held_out(
    observed: Sequence[Observed], names: Sequence[str], untold: set[str]
) -> Errors | None:
    sizes = sorted({each.nbytes for each in observed})
    out = set(sizes[1::2])
    kept = [each for each in observed if each.nbytes not in out]
    rest = [each for each in observed if each.nbytes in out]
    figures, missing = _solved(kept, names) if rest else ({}, ())
    if len(sizes) < 4 or not set(missing) <= untold:
        return None
    return errors_of(rest, figures)


def _solved(
    observed: Sequence[Observed], names: Sequence[str]
) -> tuple[dict[str, float], tuple[str, ...]]:
    """Figures, and the names of those that cannot be told."""
    chosen = [_mean(each.forms) for each in observed]
    for _ in range(_TURNS):
        rows = np.array([[form.get(name, 0.0) for name in names] for form in chosen])
        rows /= np.array([[each.seconds] for each in observed])
        told = _independent(rows)
        found = dict(zip((names[k] for k in told), _least_errors(rows[:, told]), strict=True))
        greatest = [_greatest(each, found) for each in observed]
        if greatest == chosen:
            break
        chosen = greatest
    occurring = [k for k in range(len(names)) if rows[:, k].any()]
    return found, tuple(names[k] for k in occurring if k not in told)


def _mean(forms: Sequence[Counts]) -> Counts:
    """What to begin with: every figure of every sum occurs."""
    if len(forms) == 1:
        return forms[0]
    names = {name for form in forms for name in form}
    return {name: sum(form.get(name, 0.0) for form in forms) / len(forms) for name in names}


def _greatest(each: Observed, figures: Counts) -> Counts:
    return max(each.forms, key=lambda form: _sum(form, figures))


def _sum(form: Counts, figures: Counts) -> float:
    return sum(count * figures.get(name, 0.0) for name, count in form.items())


def _independent(rows: Matrix) -> list[int]:
    """Columns, each of which is no sum of multiples of those before it."""
    told: list[int] = []
    lengths = np.linalg.norm(rows, axis=0)
    for k in range(rows.shape[1]):
        tried = [*told, k]
        scaled = rows[:, tried] / np.where(lengths[tried], lengths[tried], 1)
        if np.linalg.matrix_rank(scaled, tol=1e-6) == len(tried):
            told.append(k)
    return told


def _least_errors(rows: Matrix) -> list[float]:
    """x, none below 0, for which |log(rows x)| sums up to the least."""
    lengths = np.linalg.norm(rows, axis=0)
    weights, wanted = np.ones(len(rows)), np.ones(len(rows))
    best, least = np.zeros(rows.shape[1]), np.inf
    for _ in range(_TURNS):
        found = _least_squares(rows / lengths * weights[:, None], wanted * weights) / lengths
        ratios = np.maximum(rows @ found, _EXACT)
        amount = float(np.abs(np.log(ratios)).sum())
        if amount < least:
            best, least = found, amount
        # The slope of |log r| over r - 1: then both sums have their least where they are level.
        weights = 1 / np.sqrt(ratios * np.maximum(np.abs(ratios - 1), _EXACT))
    return [float(value) for value in best]


def _least_squares(rows: Matrix, wanted: Vector) -> Vector:
    """x, none below 0, for which the squares of rows x - wanted sum up to the least.

    Invariant: x is the least over ``used``, all of it above 0.  Of the others the one that
    lowers the sum fastest joins; who would fall below 0 then leaves, where it reaches 0.
    """
    x, used = np.zeros(rows.shape[1]), np.zeros(rows.shape[1], bool)
    for _ in range(3 * len(x)):
        slope = np.where(used, 0.0, rows.T @ (wanted - rows @ x))
        if slope.max() <= 1e-12 * np.linalg.norm(wanted):
            break
        used[slope.argmax()] = True
        while (aim := _over(rows, wanted, used)).min() < 0:
            falling = aim < 0
            step = (x[falling] / (x[falling] - aim[falling])).min()
            x += step * (aim - x)
            used &= x > 1e-15
            x[~used] = 0.0
        x = aim
    return x


def _over(rows: Matrix, wanted: Vector, used: Vector) -> Vector:
    """The same of any signs, with 0 for all but ``used``."""
    x = np.zeros(rows.shape[1])
    x[used] = np.linalg.lstsq(rows[:, used], wanted, rcond=None)[0]
    return x
