"""The calls that an implementation is judged by: collective, count, dtype, operator, place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from refcoll.operators import OPERATORS, kind
from refcoll.testing.values import DTYPES, dtype_named

REDUCING = ("all_reduce", "reduce_scatter", "reduce", "scan", "exscan")
MOVING = ("broadcast", "all_gather", "gather", "scatter", "all_to_all")
COLLECTIVES = REDUCING + MOVING
IN_PLACE = ("all_reduce", "reduce_scatter", "all_gather", "reduce", "scan")
"""Those that have an in-place form here."""


@dataclass(frozen=True)
class Call:
    """One collective call, the same on all ranks.

    ``count`` is what NCCL and MPI count: elements of the vector of an all_reduce, reduce,
    broadcast, scan or exscan, and of one rank's part in the others.
    """

    collective: str
    count: int
    dtype: str = "float32"
    op: str | None = "sum"
    """None where nothing is merged."""
    root: int = 0
    in_place: bool = False

    def input_length(self, rank: int, size: int) -> int:
        """Elements that ``rank`` passes."""
        if self.collective in ("scatter", "broadcast") and rank != self.root:
            return 0
        many = self.collective in ("reduce_scatter", "scatter", "all_to_all")
        return self.count * (size if many else 1)

    def output_length(self, rank: int, size: int) -> int | None:
        """Elements that ``rank`` gets; None where it gets nothing."""
        if self.collective in ("reduce", "gather") and rank != self.root:
            return None
        if self.collective == "exscan" and rank == 0:
            return None
        many = self.collective in ("all_gather", "gather", "all_to_all")
        return self.count * (size if many else 1)

    def __str__(self) -> str:
        merging = f" {self.op}" if self.op else ""
        rooted = f" to root {self.root}" if self.collective in ("reduce", "gather") else ""
        rooted = rooted or (
            f" from root {self.root}" if self.collective in ("broadcast", "scatter") else ""
        )
        place = " in place" if self.in_place else ""
        return f"{self.collective}{merging} {self.dtype} x {self.count}{rooted}{place}"


def counts(size: int, thorough: bool = False) -> list[int]:
    """Lengths at which implementations go wrong: around 0, around N, primes, around powers."""
    few = {0, 1, size - 1, size, size + 1, 2 * size + 1, 131, 1024, 1025}
    more = {2, 3, 3 * size - 1, 63, 64, 65, 127, 1023, 4099, 16_384, 65_535, 65_537, 262_147}
    return sorted(few | more if thorough else few)


def operators_for(dtype: str) -> list[str]:
    """Those that are defined for the dtype, by name."""
    return [name for name, op in OPERATORS.items() if kind(dtype_named(dtype)) in op.kinds]


def calls(
    size: int,
    collectives: Sequence[str] = COLLECTIVES,
    dtypes: Sequence[str] = DTYPES,
    operators: Sequence[str] | None = None,
    lengths: Sequence[int] | None = None,
    thorough: bool = False,
) -> Iterator[Call]:
    """Every length for one dtype and operator; every dtype and operator at one length; every
    operator for one element.

    The usual length, near 131, comes first: many elements tell more of a fault than one.

    Each of them out of place and, where there is that, in place; rooted ones to the first and
    the last rank, and once to one in the middle.
    """
    for collective in collectives:
        basic = _basic(collective, dtypes, operators)
        if basic is None:
            continue
        at = counts(size, thorough) if lengths is None else list(lengths)
        usual = min(at, key=lambda count: abs(count - 131))
        found = [replace(basic, count=count) for count in (usual, *at)]
        found += [
            replace(basic, count=usual, dtype=dtype, op=op)
            for dtype in dtypes
            for op in _operators(collective, dtype, operators)
        ]
        # Short vectors often go by an algorithm of their own.
        found += [
            replace(basic, count=1, op=op)
            for op in _operators(collective, basic.dtype, operators)
            if lengths is None
        ]
        for call in dict.fromkeys(found):
            yield from _placed(call, size, middle=call == replace(basic, count=usual))


def _basic(collective: str, dtypes: Sequence[str], operators: Sequence[str] | None) -> Call | None:
    """In the most usual dtype and operator of those asked for."""
    preferred = sorted(dtypes, key=lambda name: {"float32": 0, "int32": 1}.get(name, 2))
    for dtype in preferred:
        for op in _operators(collective, dtype, operators):
            return Call(collective, 0, dtype, op)
    return None


def _operators(
    collective: str, dtype: str, operators: Sequence[str] | None
) -> Sequence[str | None]:
    if collective in MOVING:
        return [None]
    return [op for op in operators_for(dtype) if operators is None or op in operators]


def _placed(call: Call, size: int, middle: bool) -> Iterator[Call]:
    rooted = call.collective in ("reduce", "gather", "scatter", "broadcast")
    roots = {0, size - 1, *([size // 2] if middle else [])} if rooted else {0}
    for root in sorted(roots):
        yield replace(call, root=root)
        if call.collective in IN_PLACE:
            yield replace(call, root=root, in_place=True)
