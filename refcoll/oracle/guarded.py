"""Buffers with guards on both sides, and results that are poisoned before a call."""

from __future__ import annotations

from sys import byteorder
from typing import Any

import numpy as np

from refcoll.operators import Array

GUARD = 64
"""Bytes on each side."""
_PATTERNS = {False: 0xA5, True: 0x5A}
"""Of the guards of inputs and of outputs: they differ, lest copying one onto the other hides."""


class Guarded:
    """``count`` elements between guards, ``shift`` elements behind an aligned address."""

    def __init__(
        self, count: int, dtype: np.dtype[Any], shift: int = 0, output: bool = False
    ) -> None:  # fmt: skip
        before = GUARD + shift * dtype.itemsize
        self._pattern = _PATTERNS[output]
        self._memory = np.full(before + count * dtype.itemsize + GUARD, self._pattern, np.uint8)
        self._end = before + count * dtype.itemsize
        self._before = before
        self.array: Array = self._memory[before : self._end].view(dtype)
        self.poison()

    def poison(self) -> None:
        """Values that no right result has, as far as the dtype allows: NaN in floats."""
        raw = self._memory[self._before : self._end].reshape(-1, self.array.dtype.itemsize)
        raw[:] = poison(self.array.dtype)

    def broken(self) -> str | None:
        """Where a guard was written to, or None."""
        ahead = np.flatnonzero(self._memory[: self._before] != self._pattern)
        behind = np.flatnonzero(self._memory[self._end :] != self._pattern)
        if len(behind):
            return f"{behind[-1] + 1} bytes behind the end"
        if len(ahead):
            return f"{self._before - ahead[0]} bytes ahead of the start"
        return None


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
