"""The calls that an implementation is judged by: collective, count, dtype, operator, place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from refcoll.operators import OPERATORS, kind
from refcoll.oracle.lengths import USUAL, beyond_a_page, counts, long
from refcoll.testing.values import DTYPES, dtype_named

REDUCING = ("all_reduce", "reduce_scatter", "reduce", "scan", "exscan")
MOVING = ("broadcast", "all_gather", "gather", "scatter", "all_to_all")
COLLECTIVES = REDUCING + MOVING
IN_PLACE = ("all_reduce", "reduce_scatter", "all_gather", "reduce", "scan")
"""Those that have an in-place form here."""
ROOTED = ("reduce", "gather", "scatter", "broadcast")
CONTIGUOUS, STRIDED, MISALIGNED = "contiguous", "strided", "misaligned"
"""How arrays lie in memory: neighbours side by side; every other element; a byte off."""
_WHOLE = ("all_reduce", "reduce", "broadcast", "scan", "exscan")
"""Of which the count is that of a whole vector, that algorithms may cut into chunks."""
_MOST = 64 * 1024 * 1024
"""Bytes of all ranks' inputs together, of the longest calls: every rank makes them all."""


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
    layout: str = CONTIGUOUS

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
        way = "to" if self.collective in ("reduce", "gather") else "from"
        rooted = f" {way} root {self.root}" if self.collective in ROOTED else ""
        place = " in place" if self.in_place else ""
        layout = "" if self.layout == CONTIGUOUS else f", {self.layout}"
        return f"{self.collective}{merging} {self.dtype} x {self.count}{rooted}{place}{layout}"


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
    """Every length for one dtype and operator; every dtype and operator at the usual length.

    That comes first: many elements tell more of a fault than one.  ``lengths`` stand instead of
    those that there are reasons for; the usual one is then the nearest to 131.  Each call is
    made out of place and, where there is that, in place; rooted ones to the first and the last
    rank, and once to one in the middle; of long and of oddly laid out ones not all of these.
    """
    for collective in collectives:
        every = list(_every(collective, dtypes, operators))
        if not every:
            continue
        yield from dict.fromkeys(_of_one(every, size, lengths, thorough))


def _of_one(
    every: Sequence[Call], size: int, lengths: Sequence[int] | None, thorough: bool
) -> Iterator[Call]:
    """Of one collective, whose dtypes and operators are ``every``."""
    at = counts(size, thorough) if lengths is None else lengths
    usual = min(at, key=lambda count: abs(count - USUAL))
    every = [replace(each, count=usual) for each in every]
    basic, other = _unlike(every)
    few = [basic, *(replace(basic, count=count) for count in at), *every]
    if lengths is None:
        # Short vectors often go by an algorithm of their own.
        few += [replace(each, count=1) for each in every if each.dtype == basic.dtype]
    placed = [each for call in few for each in _placed(call, size, middle=call == basic)]
    # No call in place right behind its own twin: what that one has left would be right for it.
    yield from sorted(placed, key=lambda each: each.in_place)
    yield from _laid_out([basic, other], size)
    if lengths is None:
        yield from _beyond_limits([basic, other], every, size, thorough)


def _every(
    collective: str, dtypes: Sequence[str], operators: Sequence[str] | None
) -> Iterator[Call]:
    """Each dtype with each operator that is defined for it, of those asked for."""
    for dtype in dtypes:
        for op in [None] if collective in MOVING else operators_for(dtype):
            if op is None or operators is None or op in operators:
                yield Call(collective, 0, dtype, op)


def _unlike(every: Sequence[Call]) -> tuple[Call, Call]:
    """The most usual of the calls, and one of another kind, width and operator, if there is one."""
    basic = min(every, key=lambda call: {"float32": 0, "int32": 1}.get(call.dtype, 2))
    usual = {"int64": 0, "float64": 1}
    other = min(every, key=lambda c: (usual.get(c.dtype, 2), c.op != "max", c.op == basic.op))
    return basic, other


def _placed(call: Call, size: int, middle: bool = False) -> Iterator[Call]:
    roots = {0, size - 1, *([size // 2] if middle else [])} if call.collective in ROOTED else {0}
    for root in sorted(roots):
        yield replace(call, root=root)
        if call.collective in IN_PLACE:
            yield replace(call, root=root, in_place=True)


def _once(call: Call, size: int) -> Iterator[Call]:
    """Out of place to the first rank; in place, or else to the last."""
    last = size - 1 if call.collective in ROOTED else 0
    yield call
    yield replace(call, root=last, in_place=call.collective in IN_PLACE)


def _laid_out(some: Sequence[Call], size: int) -> Iterator[Call]:
    for layout in (STRIDED, MISALIGNED):
        for call in some:
            yield from _once(replace(call, layout=layout), size)


def _beyond_limits(
    some: Sequence[Call], every: Sequence[Call], size: int, thorough: bool
) -> Iterator[Call]:
    """Every dtype once beyond a page; some, or all, at lengths that are sent by other ways."""
    one_each = list({call.dtype: call for call in reversed(every)}.values())
    yield from (replace(call, count=beyond_a_page(call.dtype)) for call in one_each)
    for call in (*some, *(one_each if thorough else ())):
        for count in long(call.dtype, size)[: 3 if call.collective in _WHOLE else 2]:
            longer = replace(call, count=count)
            if _nbytes(longer, size) <= _MOST:
                yield from _once(longer, size)


def _nbytes(call: Call, size: int) -> int:
    whole = sum(call.input_length(rank, size) for rank in range(size))
    return whole * dtype_named(call.dtype).itemsize
