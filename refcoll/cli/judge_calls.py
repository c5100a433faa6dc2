"""Which calls `refcoll judge` is asked for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from refcoll.errors import ArgumentError
from refcoll.operators import OPERATORS
from refcoll.oracle.calls import COLLECTIVES, Call, calls
from refcoll.testing.values import DTYPES

_QUICK_DTYPES = ("int32", "float32", "float64")


@dataclass(frozen=True)
class Asked:
    """None is all there are."""

    collectives: Sequence[str]
    dtypes: Sequence[str]
    operators: Sequence[str] | None
    lengths: Sequence[int] | None
    thorough: bool = False
    quick: bool = False

    @classmethod
    def parsed(
        cls,
        collectives: Iterable[str] | None,
        dtypes: Iterable[str] | None,
        operators: Iterable[str] | None,
        lengths: Iterable[str] | None,
        thorough: bool,
        quick: bool,
    ) -> Asked:
        """From the command line.  Raises ArgumentError for names that do not exist."""
        if thorough and quick:
            raise ArgumentError("thorough and quick exclude each other: use one of them")
        usual = _QUICK_DTYPES if quick else DTYPES
        return cls(
            chosen_collectives(collectives),
            _known(dtypes, "dtype", DTYPES) or usual,
            _known(operators, "op", tuple(OPERATORS)),
            _numbers(lengths),
            thorough,
            quick,
        )

    def on(self, size: int) -> list[Call]:
        """The calls on so many ranks.  Raises ArgumentError where there are none."""
        lengths = self.lengths
        if lengths is None and self.quick:
            lengths = sorted({1, size + 1, 131})
        found = [*calls(
            size, self.collectives, self.dtypes, self.operators, lengths, self.thorough
        )]  # fmt: skip
        if not found:
            raise ArgumentError(
                f"op={', '.join(self.operators or [])} is not defined for "
                f"dtype={', '.join(self.dtypes)}: there is nothing to judge"
            )
        return found


def chosen_collectives(words: Iterable[str] | None) -> Sequence[str]:
    """From the command line; all where there are none.  Raises ArgumentError."""
    return _known(words, "collective", COLLECTIVES) or COLLECTIVES


def _split(words: Iterable[str] | None) -> list[str]:
    return [each.strip() for word in words or () for each in word.split(",")]


def _known(words: Iterable[str] | None, what: str, names: Sequence[str]) -> list[str] | None:
    found = _split(words)
    for each in found:
        if each not in names:
            raise ArgumentError(f"{what}={each!r} does not exist; there are {', '.join(names)}")
    return found or None


def _numbers(words: Iterable[str] | None) -> list[int] | None:
    found = _split(words)
    if not all(each.isdecimal() for each in found):
        raise ArgumentError(f"count={','.join(found)!r} must be elements, such as 131 or 1,131")
    return sorted(map(int, found)) or None
