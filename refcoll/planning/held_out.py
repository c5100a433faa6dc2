"""How well measured times tell the times beside them: each told by the rest of its table.

Points that a method has not seen are its error; those that it was fitted to are marked so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import TypeAlias

from refcoll.planning.tables import Table

Point: TypeAlias = tuple[int, float]
"""Bytes, seconds."""
Told: TypeAlias = tuple[int, float, float]
"""Bytes, seconds, seconds by the rest."""


@dataclass(frozen=True)
class HeldOut:
    """A method on one table."""

    table: Table
    method: str
    points: tuple[Told, ...]

    @property
    def median(self) -> float:
        """Of the errors' sizes."""
        return median(abs(_error(each)) for each in self.points)

    @property
    def worst(self) -> tuple[int, float]:
        """Bytes, and the error there."""
        far = max(self.points, key=lambda each: abs(_error(each)))
        return far[0], _error(far)


def _error(point: Told) -> float:
    return point[2] / point[1] - 1


def held_out(table: Table) -> Iterator[HeldOut]:
    """By every method."""
    for method, tell in METHODS.items():
        yield HeldOut(table, method, tuple(tell(table)))


def alpha_beta(points: Sequence[Point]) -> tuple[float, float]:
    """a and b of seconds = a + b bytes, neither below 0, of least squares of relative errors."""
    shares = [(1 / seconds, nbytes / seconds) for nbytes, seconds in points]
    aa, ab, bb = (
        sum(x * y for x, y in pairs)
        for pairs in ([(x, x) for x, _ in shares], shares, [(y, y) for _, y in shares])
    )
    one_a, one_b = (sum(each) for each in zip(*shares, strict=True))
    determinant = aa * bb - ab * ab
    a = (one_a * bb - one_b * ab) / determinant
    b = (one_b * aa - one_a * ab) / determinant
    if a < 0:
        return 0.0, one_b / bb
    return (one_a / aa, 0.0) if b < 0 else (a, b)


def _interpolated(table: Table) -> Iterator[Told]:
    """Each inner point by its neighbours."""
    for place in range(1, len(table.points) - 1):
        nbytes, seconds = table.points[place]
        yield nbytes, seconds, _without(table, place, place + 1).seconds(nbytes)


def _up(octaves: int) -> Callable[[Table], Iterator[Told]]:
    """Each point by those of at most so many octaves less."""

    def tell(table: Table) -> Iterator[Told]:
        for place in range(1 + octaves, len(table.points)):
            nbytes, seconds = table.points[place]
            rest = _without(table, place - octaves + 1, len(table.points))
            yield nbytes, seconds, rest.seconds(nbytes)

    return tell


def _without(table: Table, first: int, end: int) -> Table:
    return replace(table, points=table.points[:first] + table.points[end:])


def _in_sample(table: Table) -> Iterator[Told]:
    return _line(table.points, table.points)


def _upper_half(table: Table) -> Iterator[Told]:
    half = len(table.points) // 2
    return _line(table.points[:half], table.points[half:])


def _lower_half(table: Table) -> Iterator[Told]:
    half = len(table.points) // 2
    return _line(table.points[half:], table.points[:half])


def _line(known: Sequence[Point], told: Sequence[Point]) -> Iterator[Told]:
    a, b = alpha_beta(known)
    return ((nbytes, seconds, a + b * nbytes) for nbytes, seconds in told)


METHODS: dict[str, Callable[[Table], Iterator[Told]]] = {
    "interpolated: each inner point left out": _interpolated,
    "extrapolated, one octave up, by the two sizes below": _up(1),
    "extrapolated, four octaves up": _up(4),
    "alpha-beta fitted to the lower half, told the upper": _upper_half,
    "alpha-beta fitted to the upper half, told the lower": _lower_half,
    "alpha-beta fitted to all, told the same (in sample)": _in_sample,
}
