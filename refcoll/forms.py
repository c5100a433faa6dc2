"""Linear forms: so many alphas, so many S beta, so many S gamma.

    14 alpha + 7/4 S beta + 7/8 S gamma         the ring all-reduce on 8 ranks

S is the vector's size.  Where links are of several classes (``topology.LINKS``), alpha and
beta are those of links within a node, alpha_inter and beta_inter those between nodes,
alpha_switch and beta_switch those between switches.  The time of a schedule is the greatest of
one or more forms: which of them is critical may depend on the rates.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from operator import mul
from typing import Any, TypeAlias

Terms: TypeAlias = Mapping[tuple[str, ...], Fraction]
"""A sum: how often each product of units, its names sorted, stands in it."""
LEVELS = ("", "_inter", "_switch")
"""What is added to alpha and beta for each class of links."""
TERMS = (
    *(term for level in LEVELS for term in ((f"alpha{level}",), ("S", f"beta{level}"))),
    ("S", "gamma"),
)
"""What a form counts, in this order."""


@dataclass(frozen=True)
class Form:
    """How often each of ``TERMS`` counts."""

    counts: tuple[Fraction, ...]

    @classmethod
    def of(cls, terms: Terms) -> Form:
        """The sum as a form.  Raises ValueError for what is no time: S alone, S alpha, ..."""
        strange = [" ".join(term) for term, much in terms.items() if much and term not in TERMS]
        if strange:
            raise ValueError(f"{', '.join(strange)} is no alpha, S beta or S gamma")
        return cls(tuple(terms.get(term, Fraction(0)) for term in TERMS))

    @property
    def terms(self) -> dict[str, Fraction]:
        """How often each term counts, by name, without those that do not."""
        named = zip(TERMS, self.counts, strict=True)
        return {" ".join(term): count for term, count in named if count}

    def __call__(self, prices: Sequence[Any]) -> Any:
        """The time, where each of ``TERMS`` takes so long."""
        return sum(map(mul, self.counts, prices))

    def __str__(self) -> str:
        said = [name if n == 1 else f"{n} {name}" for name, n in self.terms.items()]
        return " + ".join(said) or "0"


def greatest(forms: Iterable[Form]) -> tuple[Form, ...]:
    """Those forms that may be the greatest at some rates: each but once, and none that
    another is never below."""
    found = list(dict.fromkeys(forms))
    return tuple(
        form for form in found if not any(_covers(other, form) for other in found if other != form)
    )


def _covers(form: Form, other: Form) -> bool:
    return all(a >= b for a, b in zip(form.counts, other.counts, strict=True))
