"""Formulas of the alpha-beta-gamma model, written as they are read.

>>> N = Count("N", "ranks", lambda size: size)
>>> ring = 2 * (N - 1) * alpha + 2 * (N - 1) / N * S * beta + (N - 1) / N * S * gamma
>>> print(ring)
2(N-1) alpha + 2(N-1)/N S beta + (N-1)/N S gamma
>>> print(*ring.forms(8))
14 alpha + 7/4 S beta + 7/8 S gamma

One expression is what stands in the source, what is printed and what is reckoned with.  It is
made of whole numbers, of *counts* (N, and what follows from it and from the options of an
algorithm) and of *units*: S, alpha, beta, gamma.  For given N and options it is the greatest
of one or more linear forms (``refcoll.forms``), exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce

from refcoll.expressions import Formula, Known, Most, Over, formula
from refcoll.forms import Terms


@dataclass(frozen=True, eq=False)
class Count(Formula):
    """A number that follows from N and the options of an algorithm: name, words, value."""

    name: str
    said: str
    value: Callable[..., int]

    def values(self, known: Known) -> list[Terms]:  # noqa: D102
        return [{(): Fraction(self.value(**known))}]

    @property
    def is_letter(self) -> bool:  # noqa: D102
        return len(self.name) == 1 or self.name.startswith("[")

    @property
    def meaning(self) -> dict[str, str]:  # noqa: D102
        return {self.name: self.said}

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, eq=False)
class _Unit(Formula):
    """S, alpha, beta, gamma, or one of these of another class of links."""

    name: str
    is_unit = True

    def values(self, known: Known) -> list[Terms]:
        return [{(self.name,): Fraction(1)}]

    def merging(self) -> Formula:
        return self + gamma if self.name.startswith("beta") else self

    def __str__(self) -> str:
        return self.name


S, alpha, beta, gamma = map(_Unit, ("S", "alpha", "beta", "gamma"))
alpha_inter, beta_inter = _Unit("alpha_inter"), _Unit("beta_inter")
alpha_switch, beta_switch = _Unit("alpha_switch"), _Unit("beta_switch")


def most(one: Formula, *others: Formula | int) -> Formula:
    """The greatest of them."""
    return reduce(Most, map(formula, others), one)


def over(said: str, cases: Callable[..., Iterable[Known]], each: Formula) -> Formula:
    """The greatest of ``each`` over the cases, in each of which some more counts are known."""
    return Over(said, cases, each)
