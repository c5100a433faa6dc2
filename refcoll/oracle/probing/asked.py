"""What a probe is asked for: one rank's input of one call."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from refcoll.operators import Array, kind
from refcoll.oracle import floats
from refcoll.oracle.calls import Call


@dataclass(frozen=True)
class Asked:
    """``length`` elements of ``dtype`` for ``rank`` of ``size``, drawn by ``generator``."""

    call: Call
    dtype: np.dtype[Any]
    length: int
    rank: int
    size: int
    generator: np.random.Generator

    @cached_property
    def place(self) -> Array:
        """0, 1, 2, ..., an element each."""
        return np.arange(self.length)

    @property
    def kind(self) -> str:
        """b, i, f or c."""
        return kind(self.dtype)

    @property
    def part(self) -> Asked:
        """The same for one part of complex numbers."""
        return replace(self, dtype=np.zeros(0, self.dtype).real.dtype)

    @property
    def digits(self) -> int:
        """Bits of an integer but for its sign; of a float those that it counts exactly with."""
        if self.kind == "i":
            return 8 * self.dtype.itemsize - 1
        return floats.digits(self.part.dtype)

    def whole(self, least: int, most: int) -> Array:
        """Drawn from ``least`` to ``most``."""
        return self.generator.integers(least, most + 1, self.length)

    def few(self, values: Array, limit: int) -> Array:
        """``values`` on no more than ``limit`` ranks an element, 0 on the others."""
        if self.size > limit:
            values[(self.place + self.rank) % self.size >= limit] = 0
        return values
