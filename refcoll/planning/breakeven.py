"""From which size on which algorithm is the fastest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from math import sqrt

FIRST, LAST = 1 << 8, 1 << 38
"""Bytes between which break-even sizes are looked for."""
_PRECISION = 1.002


@dataclass(frozen=True)
class Span:
    """An algorithm that is the fastest for sizes from ``first`` up to the next one's first."""

    algorithm: str
    first: int
    """Bytes; 0 for the smallest that were looked at."""


def spans(best: Callable[[int], str], first: int = FIRST, last: int = LAST) -> list[Span]:
    """What ``best`` names, where it changes, by powers of two and then by halving the span.

    One that is the fastest within less than a factor of two may be missed.
    """
    sizes = [first]
    while sizes[-1] < last:
        sizes.append(min(2 * sizes[-1], last))
    found = [Span(best(first), 0)]
    for low, high in pairwise(sizes):
        found += _changes(best, low, high)
    return found


def _changes(best: Callable[[int], str], low: int, high: int) -> list[Span]:
    """Where between the two it changes, if the two differ: at several places, perhaps."""
    before, after = best(low), best(high)
    if before == after:
        return []
    if high <= low * _PRECISION or high - low <= 1:
        return [Span(after, high)]
    middle = min(max(low + 1, round(sqrt(low * high))), high - 1)
    return [*_changes(best, low, middle), *_changes(best, middle, high)]
