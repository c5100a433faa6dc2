"""Figures from measured times: what each message, byte and call must cost to explain them.

    seconds = overhead + alphas latency + bytes per_byte + ...    a sum of counts x figures

Fitted so that the squares of the *relative* errors, (predicted - measured) / measured, sum up
to the least: weighted least squares with weights 1 / seconds^2, without which the longest
vectors alone would count.  No figure may be below 0 (Lawson and Hanson, Solving Least Squares
Problems, 1974, ch. 23: the least residual over all sets of figures that are not 0).

What the counts cannot tell apart is left out, the later figure first: on so many ranks a ring
merges half as many bytes as it sends, whatever their number, so that one log of it tells
nothing of merging.  Where a time is the greatest of several sums (a pipeline), that sum counts
which is the greatest by the fit so far.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import median
from typing import Any, TypeAlias

import numpy as np

Counts: TypeAlias = Mapping[str, float]
"""How often each figure counts, by name."""
Matrix: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]
Vector: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]
_TURNS = 20
"""Times that the greatest sums are chosen anew, at most."""


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
        found = dict(zip((names[k] for k in told), _not_negative(rows[:, told]), strict=True))
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


def _not_negative(rows: Matrix) -> list[float]:
    """x, none below 0, for which the squares of rows x - 1 sum up to the least."""
    count = rows.shape[1]
    best, least = np.zeros(count), float(len(rows))
    for size in range(count, 0, -1):
        for used in combinations(range(count), size):
            found = _least_squares(rows[:, used])
            residual = float(np.sum((rows[:, used] @ found - 1) ** 2))
            if found.min() >= 0 and residual < least:
                least, best = residual, np.zeros(count)
                best[list(used)] = found
        if np.count_nonzero(best) == count:
            break  # nothing is better than what all of them reach
    return [float(value) for value in best]


def _least_squares(rows: Matrix) -> Vector:
    """x for which the squares of rows x - 1 sum up to the least, whatever its signs."""
    lengths = np.linalg.norm(rows, axis=0)
    found: Vector = np.linalg.lstsq(rows / lengths, np.ones(len(rows)), rcond=None)[0] / lengths
    return found
