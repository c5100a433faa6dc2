"""What the calls before gave, and from what: so that what is left over from one is recognised."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from refcoll.operators import Array
from refcoll.oracle.calls import Call
from refcoll.testing.values import dtype_named

_KEPT = 1 << 20
"""Bytes of a result, at most."""
_CALLS = 4
"""So many of each length."""


@dataclass(frozen=True)
class Earlier:
    """A call, with all ranks' inputs, and what it gave on this one."""

    call: Call
    given: Sequence[Array]
    output: Array | None

    def read_as(self, call: Call, outputs: Sequence[Array | None]) -> list[Array | None]:
        """All ranks' ``outputs`` of this call, their bytes taken for results of another."""
        dtype, size = dtype_named(call.dtype), len(outputs)
        lengths = [call.output_length(rank, size) for rank in range(size)]
        return [
            x.view(dtype) if x is not None and length == x.nbytes // dtype.itemsize else None
            for x, length in zip(outputs, lengths, strict=True)
        ]

    def inputs(self, call: Call) -> list[Array] | None:
        """All ranks', if another call takes such."""
        alike = ("collective", "count", "dtype", "root")
        same = all(getattr(self.call, each) == getattr(call, each) for each in alike)
        return [*self.given] if same else None


class History:
    """By how many bytes a result has, the last calls that gave as many, the latest first; the
    same on all ranks."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._last: dict[int, tuple[Earlier, ...]] = {}

    def note(self, call: Call, given: Sequence[Array], output: Array | None) -> None:
        """It is the last one now."""
        nbytes = self._nbytes(call)
        if nbytes <= _KEPT:
            before = self._last.get(nbytes, ())[: _CALLS - 1]
            self._last[nbytes] = (Earlier(call, given, output), *before)

    def before(self, call: Call) -> tuple[Earlier, ...]:
        """The last calls whose results had as many bytes."""
        return self._last.get(self._nbytes(call), ())

    def _nbytes(self, call: Call) -> int:
        """On the rank that gets most."""
        lengths = (call.output_length(rank, self._size) or 0 for rank in range(self._size))
        return max(lengths) * dtype_named(call.dtype).itemsize
