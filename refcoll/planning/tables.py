"""Measured times of one collective: interpolated between sizes, extrapolated beyond.

Between two measured sizes time is a power of the size (a straight line on log-log paper);
beyond the first and the last it is a + b * bytes through the two nearest (alpha-beta),
with neither a nor b below 0.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log
from sys import float_info

from refcoll.collectives import collective as find_collective
from refcoll.errors import ArgumentError, within

LIBRARY = "NCCL"
"""The algorithm of a table whose library chose by itself."""


@dataclass(frozen=True, kw_only=True)
class Table:
    """What was measured on so many ranks and nodes."""

    collective: str
    algorithm: str
    """A name of refcoll's where it was forced, else the library's: "NCCL"."""
    ranks: int
    nodes: int
    points: tuple[tuple[int, float], ...]
    """(Bytes, seconds), the bytes ascending."""
    source: str = ""

    def __post_init__(self) -> None:
        find_collective(self.collective)
        if within(self.ranks, "ranks", 1) < within(self.nodes, "nodes", 1):
            raise ArgumentError(f"nodes={self.nodes} must not be more than ranks={self.ranks}")
        sizes = [nbytes for nbytes, _ in self.points]
        if not sizes or sizes != sorted(set(sizes)) or sizes[0] < 1:
            raise ArgumentError(
                f"bytes={sizes} of the {self.collective} table must be positive and ascend"
            )
        if any(not 0 < seconds <= float_info.max for _, seconds in self.points):
            raise ArgumentError(
                f"seconds={[seconds for _, seconds in self.points]} of the {self.collective} "
                "table must be above 0, and finite"
            )

    def covers(self, nbytes: int) -> bool:
        """Whether it need not extrapolate."""
        return self.points[0][0] <= nbytes <= self.points[-1][0]

    def seconds(self, nbytes: int) -> float:
        """For a vector of ``nbytes``, measured or estimated."""
        if nbytes < self.points[0][0]:
            return _line(self.points[:2], nbytes)
        if nbytes > self.points[-1][0]:
            return _line(self.points[-2:], nbytes)
        place = bisect_left(self.points, nbytes, key=lambda point: point[0])
        if self.points[place][0] == nbytes:
            return self.points[place][1]
        (n0, t0), (n1, t1) = self.points[place - 1 : place + 1]
        share = log(nbytes / n0) / log(n1 / n0)
        return exp(log(t0) + share * log(t1 / t0))


def _line(points: Sequence[tuple[int, float]], nbytes: int) -> float:
    """a + b * nbytes through two points; of one alone, a = 0 above it and b = 0 below."""
    (n0, t0), (n1, t1) = points[0], points[-1]
    near, seconds = (n1, t1) if nbytes > n1 else (n0, t0)
    most = seconds / near  # with which a is 0
    alone = most if nbytes > n1 else 0.0
    slope = (t1 - t0) / (n1 - n0) if n1 > n0 else alone
    return seconds + min(max(slope, 0.0), most) * (nbytes - near)
