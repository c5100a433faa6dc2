"""Buffers with guards on both sides, and results that are poisoned before a call.

    guard | element gap element gap ... | guard        gaps in a strided view only

The guards are as wide as the buffer, and a page at least: whoever takes a chunk too many, or a
page, is seen.  What is written further away is not.
"""

from __future__ import annotations

from sys import byteorder
from typing import Any

import numpy as np

from refcoll.operators import Array
from refcoll.oracle.calls import CONTIGUOUS, MISALIGNED, STRIDED

GUARD = 4096
"""Bytes on each side, at least."""
ALIGNED = 64
"""Bytes: a cache line, and as wide as vectors get."""
_PATTERNS = {False: 0xA5, True: 0x5A}
"""Of the guards of inputs and of outputs: they differ, lest copying one onto the other hides."""


class Guarded:
    """``count`` elements between guards, ``shift`` elements behind an aligned address.

    ``layout``: of a strided view every other element is memory between them; a misaligned one
    stands a byte further.
    """

    def __init__(
        self, count: int, dtype: np.dtype[Any], shift: int = 0, output: bool = False,
        layout: str = CONTIGUOUS,
    ) -> None:  # fmt: skip
        self._pattern, step = _PATTERNS[output], 2 if layout == STRIDED else 1
        guard, length = max(GUARD, count * dtype.itemsize), count * step * dtype.itemsize
        offset = shift * dtype.itemsize + (layout == MISALIGNED)
        room = ALIGNED + guard + offset + length + guard
        self._memory = np.full(room, self._pattern, np.uint8)
        to_aligned = -(self._memory.ctypes.data + guard) % ALIGNED
        self._before = guard + to_aligned + offset
        self._end = self._before + length
        width = step * dtype.itemsize
        # By offset, so that an empty array, too, has the address between the guards.
        self.array: Array = np.ndarray(count, dtype, self._memory, self._before, (width,))
        self._elements = self._memory[self._before : self._end].reshape(-1, width)
        self.poison()

    def poison(self) -> None:
        """Values that no right result has, as far as the dtype allows: NaN in floats."""
        self._elements[:, : self.array.itemsize] = poison(self.array.dtype)

    def broken(self) -> str | None:
        """Where a guard was written to, or None."""
        width = self.array.itemsize
        if len(places := self._written(self._memory[self._end :])):
            return f"{_up_to(int(places[-1]) + 1, width)} behind the end of a buffer"
        if len(places := self._written(self._memory[: self._before])):
            return f"{_up_to(self._before - int(places[0]), width)} ahead of the start of a buffer"
        if len(places := self._written(self._elements[:, width:])):
            return f"between the elements of a strided buffer, behind element {places[0] // width}"
        return None

    def _written(self, guard: Array) -> Array:
        """Places of bytes that are not as they were."""
        if guard.tobytes() == bytes([self._pattern]) * guard.size:  # by far the most often
            return np.empty(0, int)
        return np.flatnonzero(guard != self._pattern)


def _up_to(count: int, width: int) -> str:
    said = f"up to {count} byte{'s' if count > 1 else ''}"
    return f"{said} ({-(-count // width)} elements)" if count > ALIGNED else said


def gap(dtype: np.dtype[Any]) -> Array:
    """The bytes between two elements of a strided input."""
    return np.full(dtype.itemsize, _PATTERNS[False], np.uint8)


def poison(dtype: np.dtype[Any]) -> Array:
    """The bytes of a poisoned element.

    A float is a signalling NaN: it is told from the quiet one that it becomes in arithmetic,
    and so what was never written from what was read.  An integer is no extreme value.
    """
    part = dtype.itemsize // 2 if dtype.kind == "c" else dtype.itemsize
    if dtype.kind in "biu":
        one = bytes([_INTEGER]) * part
    else:
        one = _SIGNALLING.get(part, b"\xff") if dtype.name != "bfloat16" else _BFLOAT16
    return np.frombuffer(one * (dtype.itemsize // part), np.uint8)


_INTEGER = 0x6D
_SIGNALLING = {
    2: 0x7D25.to_bytes(2, byteorder), 4: 0x7FA5A5A5.to_bytes(4, byteorder),
    8: 0x7FF4A5A5A5A5A5A5.to_bytes(8, byteorder),
}  # fmt: skip
_BFLOAT16 = 0x7FA5.to_bytes(2, byteorder)


def poisoned(values: Array) -> Array:
    """Which elements are poison still."""
    width = max(1, values.dtype.itemsize)
    raw = np.ascontiguousarray(values).view(np.uint8).reshape(-1, width)
    still: Array = (raw == poison(values.dtype)).all(axis=1)
    return still
