"""How formulas are put together, printed, and reckoned with: sums, products, maxima.

The value of an expression, for given N and options, is the greatest of some *terms*: sums of
products of units, each counted by a fraction.  ``refcoll.formulas`` has the letters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any, TypeAlias

from refcoll.forms import Form, Terms, greatest

_NONE = Fraction(0)
Known: TypeAlias = Mapping[str, Any]
"""The options of an algorithm, and N as "size"."""


class Formula:
    """An expression, of numbers and units."""

    is_unit = False

    @property
    def is_letter(self) -> bool:
        """Whether it is one letter that stands for a number."""
        return False

    def __add__(self, other: Formula | int) -> Formula:
        return _Sum(self, formula(other))

    def __radd__(self, other: int) -> Formula:
        return _Sum(formula(other), self)

    def __sub__(self, other: Formula | int) -> Formula:
        return _Difference(self, formula(other))

    def __mul__(self, other: Formula | int) -> Formula:
        return _Product(self, formula(other))

    def __rmul__(self, other: int) -> Formula:
        return _Product(formula(other), self)

    def __truediv__(self, other: Formula | int) -> Formula:
        return _Quotient(self, formula(other))

    def __rtruediv__(self, other: int) -> Formula:
        return _Quotient(formula(other), self)

    def forms(self, size: int, **options: Any) -> tuple[Form, ...]:
        """The linear forms of which it is the greatest, for N = ``size``."""
        return greatest(Form.of(terms) for terms in self.values({"size": size, **options}))

    def values(self, known: Known) -> list[Terms]:
        """The sums of which it is the greatest."""
        raise NotImplementedError

    def parts(self) -> Iterator[Formula]:
        """It, and all that it is made of, from left to right."""
        yield self

    def merging(self) -> Formula:
        """The same where all that arrives is merged too: beta + gamma in place of beta."""
        return self

    @property
    def meaning(self) -> dict[str, str]:
        """A letter by itself, in words."""
        return {}

    @property
    def where(self) -> dict[str, str]:
        """What the letters that stand in it mean, by name, in words."""
        return {name: said for part in self.parts() for name, said in part.meaning.items()}


@dataclass(frozen=True, eq=False)
class Whole(Formula):
    """A whole number."""

    value: int

    def values(self, known: Known) -> list[Terms]:  # noqa: D102
        return [{(): Fraction(self.value)}]

    def __str__(self) -> str:
        return str(self.value)


def formula(value: Formula | int) -> Formula:
    """A whole number as a formula; a formula as it is."""
    return value if isinstance(value, Formula) else Whole(value)


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
        gap = "" if _touch(self.left, self.right) else " "
        return f"{_bracketed(self.left)}{gap}{_bracketed(self.right)}"


class _Quotient(_Pair):
    def joined(self, left: Terms, right: Terms) -> Terms:
        return {term: count / right[()] for term, count in left.items()}

    def __str__(self) -> str:
        below = str(self.right)
        simple = not isinstance(self.right, _Pair) and " " not in below
        return f"{_bracketed(self.left)}/{below if simple else f'({below})'}"


class Most(_Pair):
    """The greater of two."""

    def values(self, known: Known) -> list[Terms]:  # noqa: D102
        return [*self.left.values(known), *self.right.values(known)]

    def __str__(self) -> str:
        return f"max({self.left}, {self.right})"


@dataclass(frozen=True, eq=False)
class Over(Formula):
    """The greatest over some cases, in each of which some more is known."""

    said: str
    cases: Callable[..., Iterable[Known]]
    each: Formula

    def values(self, known: Known) -> list[Terms]:  # noqa: D102
        found = [self.each.values({**known, **case}) for case in self.cases(**known)]
        return [terms for values in found for terms in values]

    def parts(self) -> Iterator[Formula]:  # noqa: D102
        yield self
        yield from self.each.parts()

    def merging(self) -> Formula:  # noqa: D102
        return Over(self.said, self.cases, self.each.merging())

    def __str__(self) -> str:
        return f"max over {self.said} of ({self.each})"


def _timed(each: Formula) -> bool:
    return any(part.is_unit for part in each.parts())


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
        closed = isinstance(last, _Sum | _Difference | Whole)
        return closed or (last.is_letter and not _timed(right))
    return right.is_letter and (last.is_letter or isinstance(last, Whole)) and len(str(last)) == 1
