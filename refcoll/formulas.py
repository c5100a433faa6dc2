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

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from itertools import product
from typing import Any, TypeAlias

from refcoll.forms import Form, Terms, greatest

_NONE = Fraction(0)
Known: TypeAlias = Mapping[str, Any]
"""The options of an algorithm, and N as "size"."""


class Formula:
    """An expression; see the top of the file."""

    def __add__(self, other: Formula | int) -> Formula:
        return _Sum(self, _formula(other))

    def __radd__(self, other: int) -> Formula:
        return _Sum(_formula(other), self)

    def __sub__(self, other: Formula | int) -> Formula:
        return _Difference(self, _formula(other))

    def __mul__(self, other: Formula | int) -> Formula:
        return _Product(self, _formula(other))

    def __rmul__(self, other: int) -> Formula:
        return _Product(_formula(other), self)

    def __truediv__(self, other: Formula | int) -> Formula:
        return _Quotient(self, _formula(other))

    def __rtruediv__(self, other: int) -> Formula:
        return _Quotient(_formula(other), self)

    def forms(self, size: int, **options: Any) -> tuple[Form, ...]:
        """The linear forms of which it is the greatest, for N = ``size``."""
        return greatest(Form.of(terms) for terms in self.values({"size": size, **options}))

    def values(self, known: Known) -> list[Terms]:
        """The sums of which it is the greatest."""
        raise NotImplementedError

    def parts(self) -> Iterator[Formula]:
        """It, and all that it is made of, from left to right."""
        yield self

    @property
    def where(self) -> dict[str, str]:
        """What the counts that stand in it mean, by name, in words."""
        return {each.name: each.said for each in self.parts() if isinstance(each, Count)}

    def merging(self) -> Formula:
        """The same where all that arrives is merged too: beta + gamma in place of beta."""
        return self


@dataclass(frozen=True, eq=False)
class Count(Formula):
    """A number that follows from N and the options of an algorithm: name, words, value."""

    name: str
    said: str
    value: Callable[..., int]

    def values(self, known: Known) -> list[Terms]:  # noqa: D102
        return [{(): Fraction(self.value(**known))}]

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, eq=False)
class _Unit(Formula):
    """S, alpha, beta, gamma, or one of these of another class of links."""

    name: str

    def values(self, known: Known) -> list[Terms]:
        return [{(self.name,): Fraction(1)}]

    def merging(self) -> Formula:
        return self + gamma if self.name.startswith("beta") else self

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, eq=False)
class _Whole(Formula):
    value: int

    def values(self, known: Known) -> list[Terms]:
        return [{(): Fraction(self.value)}]

    def __str__(self) -> str:
        return str(self.value)


@dataclass(frozen=True, eq=False)
class _Pair(Formula):
    """Two formulas, joined."""

    left: Formula
    right: Formula

    def parts(self) -> Iterator[Formula]:
        yield self
        yield from self.left.parts()
        yield from self.right.parts()

    def merging(self) -> Formula:
        return type(self)(self.left.merging(), self.right.merging())

    def values(self, known: Known) -> list[Terms]:
        pairs = product(self.left.values(known), self.right.values(known))
        return [self.joined(left, right) for left, right in pairs]

    def joined(self, left: Terms, right: Terms) -> Terms:
        """The value, where these are those of the two."""
        raise NotImplementedError


class _Sum(_Pair):
    def joined(self, left: Terms, right: Terms) -> Terms:
        return {term: left.get(term, _NONE) + right.get(term, _NONE) for term in {*left, *right}}

    def __str__(self) -> str:
        return _spaced(self, f"{self.left} + {self.right}")


class _Difference(_Pair):
    def joined(self, left: Terms, right: Terms) -> Terms:
        return {term: left.get(term, _NONE) - right.get(term, _NONE) for term in {*left, *right}}

    def __str__(self) -> str:
        return _spaced(self, f"{self.left} - {_bracketed(self.right)}")


class _Product(_Pair):
    def joined(self, left: Terms, right: Terms) -> Terms:
        total: dict[tuple[str, ...], Fraction] = {}
        for (one, count), (other, times) in product(left.items(), right.items()):
            term = tuple(sorted(one + other))
            total[term] = total.get(term, _NONE) + count * times
        return total

    def __str__(self) -> str:
        left, right = _bracketed(self.left), _bracketed(self.right)
        return f"{left}{'' if _touch(self.left, self.right) else ' '}{right}"


class _Quotient(_Pair):
    def joined(self, left: Terms, right: Terms) -> Terms:
        return {term: count / right[()] for term, count in left.items()}

    def __str__(self) -> str:
        below = str(self.right)
        simple = isinstance(self.right, Count | _Whole) and " " not in below
        return f"{_bracketed(self.left)}/{below if simple else f'({below})'}"


class _Most(_Pair):
    """The greater of two."""

    def values(self, known: Known) -> list[Terms]:
        return [*self.left.values(known), *self.right.values(known)]

    def __str__(self) -> str:
        return f"max({self.left}, {self.right})"


@dataclass(frozen=True, eq=False)
class _Over(Formula):
    """The greatest over some cases, in each of which some counts are known."""

    said: str
    cases: Callable[..., Iterable[Known]]
    each: Formula

    def values(self, known: Known) -> list[Terms]:
        found = [self.each.values({**known, **case}) for case in self.cases(**known)]
        return [terms for values in found for terms in values]

    def parts(self) -> Iterator[Formula]:
        yield self
        yield from self.each.parts()

    def merging(self) -> Formula:
        return _Over(self.said, self.cases, self.each.merging())

    def __str__(self) -> str:
        return f"max over {self.said} of ({self.each})"


S, alpha, beta, gamma = map(_Unit, ("S", "alpha", "beta", "gamma"))
alpha_inter, beta_inter = _Unit("alpha_inter"), _Unit("beta_inter")
alpha_switch, beta_switch = _Unit("alpha_switch"), _Unit("beta_switch")


def most(one: Formula, *others: Formula | int) -> Formula:
    """The greatest of them."""
    return reduce(_Most, map(_formula, others), one)


def over(said: str, cases: Callable[..., Iterable[Known]], each: Formula) -> Formula:
    """The greatest of ``each`` over the cases, in each of which some more counts are known."""
    return _Over(said, cases, each)


def _formula(value: Formula | int) -> Formula:
    return value if isinstance(value, Formula) else _Whole(value)


def _timed(each: Formula) -> bool:
    return any(isinstance(part, _Unit) for part in each.parts())


def _spaced(each: Formula, text: str) -> str:
    """N-1, but alpha + S beta."""
    loose = _timed(each) or any(" " in str(part) for part in each.parts() if part is not each)
    return text if loose else text.replace(" ", "")


def _bracketed(each: Formula) -> str:
    return f"({each})" if isinstance(each, _Sum | _Difference) else str(each)


def _touch(left: Formula, right: Formula) -> bool:
    """Whether factors stand side by side without a space, as in 2(N-1), 2M and M(N-1)."""
    last = left.right if isinstance(left, _Product) else left
    if isinstance(right, _Sum | _Difference):
        closed = isinstance(last, _Sum | _Difference | _Whole)
        return closed or (_is_letter(last) and not _timed(right))
    return isinstance(last, _Whole | Count) and _is_letter(right) and len(str(last)) == 1


def _is_letter(each: Formula) -> bool:
    return isinstance(each, Count) and (len(each.name) == 1 or each.name.startswith("["))
