"""Which cases a correctness run covers: algorithms, lengths, dtypes, operators."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from refcoll.algorithms.declaration import Algorithm
from refcoll.collectives import COLLECTIVES
from refcoll.operators import OPERATORS, kind
from refcoll.registry import algorithms
from refcoll.testing.values import DTYPES, dtype_named


@dataclass(frozen=True)
class Case:
    """What one row runs."""

    algorithm: str
    collective: str
    count: int
    dtype: str
    op: str | None
    """None where the collective does not merge."""

    def title(self, ranks: int) -> str:
        """The case in words."""
        merging = f" {self.op}" if self.op else ""
        on = "1 rank" if ranks == 1 else f"{ranks} ranks"
        return f"{self.algorithm} {self.collective} on {on}, n={self.count} {self.dtype}{merging}"


def cases(size: int, collective: str | None = None, algorithm: str | None = None) -> list[Case]:
    """Every algorithm in float32 at critical lengths; every dtype and operator at 1000."""
    chosen = algorithms(collective, algorithm)
    runnable = [each for each in chosen if not each.helpers]
    first = {each.collective: each for each in reversed(runnable)}.values()
    lengths = sorted({0, 1, size - 1, size, size + 1, 1000, 65_537})
    by_length = [_case(each, n, "float32") for each in chosen for n in _lengths(each, lengths)]
    by_dtype = [
        _case(each, 1000, dtype, op)
        for each in first
        if each.collective != "barrier"
        for dtype in DTYPES
        for op in _operators(each, dtype)
    ]
    return list(dict.fromkeys(by_length + by_dtype))


def _case(algorithm: Algorithm, count: int, dtype: str, op: str = "sum") -> Case:
    reduces = COLLECTIVES[algorithm.collective].reduces
    return Case(algorithm.name, algorithm.collective, count, dtype, op if reduces else None)


def _lengths(algorithm: Algorithm, lengths: Sequence[int]) -> Sequence[int]:
    return (0,) if algorithm.collective == "barrier" else lengths


def _operators(algorithm: Algorithm, dtype: str) -> Iterator[str]:
    if not COLLECTIVES[algorithm.collective].reduces:
        yield "sum"
        return
    for operator in OPERATORS.values():
        if kind(dtype_named(dtype)) in operator.kinds:
            yield operator.name
