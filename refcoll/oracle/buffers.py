"""The buffers of one call on one rank, as its collective, place and layout want them."""

from __future__ import annotations

from dataclasses import dataclass

from refcoll.operators import Array
from refcoll.oracle.calls import Call
from refcoll.oracle.guarded import Guarded
from refcoll.testing.values import dtype_named


@dataclass(frozen=True)
class Buffers:
    """Guarded memory, and the views of it that the implementation is given."""

    x: Guarded | None
    out: Guarded | None
    """The same as ``x`` where the call is in place."""
    source: Array | None
    target: Array | None

    @property
    def keeps_input(self) -> bool:
        """Whether the input is still to be there after the call."""
        return self.source is not None and (self.x is not self.out or self.target is None)

    def broken(self) -> str | None:
        """Where a guard was written to, or None."""
        each = {id(held): held for held in (self.x, self.out) if held is not None}.values()
        return next(filter(None, (held.broken() for held in each)), None)


def buffers(call: Call, rank: int, size: int, shift: int = 0) -> Buffers:
    """``shift`` elements behind an aligned address."""
    x, out = _memory(call, rank, size, shift)
    source = None if x is None else x.array
    target = None if out is None else out.array
    if call.in_place and source is not None:
        mine = slice(rank * call.count, (rank + 1) * call.count)
        if call.collective == "all_gather":
            source = source[mine]
        if call.collective == "reduce_scatter":
            target = source[: call.count]
        if call.collective == "reduce" and rank != call.root:
            target = None
    return Buffers(x, out, source, target)


def _memory(call: Call, rank: int, size: int, shift: int) -> tuple[Guarded | None, Guarded | None]:
    given, got = call.input_length(rank, size), call.output_length(rank, size)
    dtype = dtype_named(call.dtype)
    if call.in_place:
        both = Guarded(max(given, got or 0), dtype, shift, layout=call.layout)
        return both, both
    holds = call.collective not in ("scatter", "broadcast") or rank == call.root
    return (
        Guarded(given, dtype, shift, layout=call.layout) if holds else None,
        None if got is None else Guarded(got, dtype, shift, output=True, layout=call.layout),
    )
