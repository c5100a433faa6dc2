"""Which cases a correctness run covers: algorithms, lengths, dtypes, operators."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from refcoll.algorithms.declaration import Algorithm
from refcoll.collectives import COLLECTIVES
from refcoll.operators import OPERATORS, kind
from refcoll.registry import algorithms, find
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
    options: tuple[tuple[str, int], ...] = ()
    """Keywords of ``refcoll.program`` and their values, where they are not the defaults."""

    def title(self, ranks: int) -> str:
        """The case in words."""
        merging = f" {self.op}" if self.op else ""
        on = "1 rank" if ranks == 1 else f"{ranks} ranks"
        chosen = "".join(f", {key}={value}" for key, value in self.options)
        what = f"n={self.count} {self.dtype}{merging}{chosen}"
        return f"{self.algorithm} {self.collective} on {on}, {what}"


def cases(
    size: int,
    collective: str | None = None,
    algorithm: str | None = None,
    thorough: bool = False,
) -> list[Case]:
    """Every algorithm in float32 at critical lengths; every dtype and operator at 1000.

    By default four lengths, and all pairs of dtype and operator for the all-reduce, for the
    rest each dtype with a sum and each operator on int32.  ``thorough`` is all lengths and
    pairs, and other segments, radices and shards too.
    """
    chosen = _chosen(size, collective, algorithm)
    first = {each.collective: each for each in reversed(chosen) if not each.needs_helpers}
    lengths = [0, size + 1, 1000, 65_537]
    if thorough:
        lengths = sorted({*lengths, 1, size - 1, size})
    by_length = [
        case_of(each, size, n, "float32", options=options)
        for each in chosen
        for options in (_OPTIONS if thorough else [()])
        if {key for key, _ in options} <= set(each.options)
        for n in _lengths(each, lengths)
    ]
    by_dtype = [
        case_of(each, size, 1000, dtype, op)
        for each in first.values()
        if each.collective != "barrier"
        for dtype in DTYPES
        for op in _operators(each, dtype, thorough or each.collective == "all_reduce")
    ]
    return list(dict.fromkeys(by_length + by_dtype))


_OPTIONS: Sequence[tuple[tuple[str, int], ...]] = (
    (), (("segments", 1),), (("segments", 3),), (("radix", 2),), (("radix", 3),),
    (("shards", 2),), (("shards", 100),),
)  # fmt: skip


def _chosen(size: int, collective: str | None, algorithm: str | None) -> list[Algorithm]:
    """Those of the names that are defined for so many ranks; A+B is one, if it is asked for."""
    found = algorithms(collective, algorithm)
    if algorithm is not None and "+" in algorithm and collective in (None, "all_reduce"):
        found = [find("all_reduce", algorithm)]
    return [each for each in found if each.sizes.holds(size)]


def case_of(
    algorithm: Algorithm,
    size: int,
    count: int,
    dtype: str,
    op: str = "sum",
    options: tuple[tuple[str, int], ...] = (),
) -> Case:
    """The case of an algorithm, at the next length that its collective allows."""
    kind = COLLECTIVES[algorithm.collective]
    whole = count + (-count % size if kind.transposes else 0)
    merging = op if kind.reduces else None
    return Case(algorithm.name, algorithm.collective, whole, dtype, merging, options)


def _lengths(algorithm: Algorithm, lengths: Sequence[int]) -> Sequence[int]:
    return (0,) if algorithm.collective == "barrier" else lengths


def _operators(algorithm: Algorithm, dtype: str, every: bool) -> Iterator[str]:
    if not COLLECTIVES[algorithm.collective].reduces:
        yield "sum"
        return
    for operator in OPERATORS.values():
        wanted = every or operator.name == "sum" or dtype == "int32"
        if wanted and kind(dtype_named(dtype)) in operator.kinds:
            yield operator.name
