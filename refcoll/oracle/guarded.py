"""Buffers with guards on both sides, and results that are poisoned before a call."""

from __future__ import annotations

from typing import Any

import numpy as np

from refcoll.operators import Array

GUARD = 64
"""Bytes on each side."""
_PATTERN = 0xA5


class Guarded:
    """``count`` elements between guards, ``shift`` elements behind an aligned address."""

    def __init__(self, count: int, dtype: np.dtype[Any], shift: int = 0) -> None:
        before = GUARD + shift * dtype.itemsize
        self._memory = np.full(before + count * dtype.itemsize + GUARD, _PATTERN, np.uint8)
        self._end = before + count * dtype.itemsize
        self._before = before
        self.array: Array = self._memory[before : self._end].view(dtype)
        self.poison()

    def poison(self) -> None:
        """Values that no right result has, as far as the dtype allows: NaN in floats."""
        self._memory[self._before : self._end] = poison(self.array.dtype)

    def broken(self) -> str | None:
        """Where a guard was written to, or None."""
        ahead = np.flatnonzero(self._memory[: self._before] != _PATTERN)
        behind = np.flatnonzero(self._memory[self._end :] != _PATTERN)
        if len(behind):
            return f"{behind[-1] + 1} bytes behind the end"
        if len(ahead):
            return f"{self._before - ahead[0]} bytes ahead of the start"
        return None


def poison(dtype: np.dtype[Any]) -> int:
    """The byte that poisoned elements consist of."""
    return 0x7F if dtype.kind in "biu" else 0xFF


def poisoned(values: Array) -> Array:
    """Which elements are poison still."""
    width = max(1, values.dtype.itemsize)
    raw = np.ascontiguousarray(values).view(np.uint8).reshape(-1, width)
    still: Array = (raw == poison(values.dtype)).all(axis=1)
    return still
