"""How fast numpy merges here: bytes per second for each operator and dtype, one rank at work.

It is measured on vectors of two lengths, of which the longer one fits no cache of this time's
small machines: seconds = startup + bytes / rate.  What a rank merges while it receives may
hide, and other ranks use the same memory: ``calibration`` measures that by itself.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

import numpy as np

from refcoll.operators import OPERATORS, kind

DTYPES = ("float32", "float64", "float16", "int32", "int64")
SHORT, SHORTER, LONG = 1 << 10, 1 << 18, 1 << 22
"""Bytes: the shorter length, and the longer one, where there is little time and where not."""
_RUNS_SHORT, _RUNS_LONG = 101, 5


@dataclass(frozen=True)
class Merging:
    """An operator on a dtype."""

    op: str
    dtype: str
    startup: float
    """Seconds that it takes, however short the vectors are."""
    bandwidth: float
    """Bytes of one operand per second, beyond that."""


def mergings(longest: int = LONG, dtypes: tuple[str, ...] = DTYPES) -> list[Merging]:
    """Every built-in operator on every dtype that it is defined for; avg merges as sum does."""
    return [
        _merging(op, name, longest)
        for name in dtypes
        for op in OPERATORS
        if op != "avg" and kind(np.dtype(name)) in OPERATORS[op].kinds
    ]


def _merging(op: str, dtype: str, longest: int) -> Merging:
    merge = OPERATORS[op].merge

    def run(nbytes: int) -> Callable[[], object]:
        left, right, out = (np.ones(nbytes // np.dtype(dtype).itemsize, dtype) for _ in range(3))
        return lambda: merge(left, right, out)

    short, long = _seconds(run(SHORT), _RUNS_SHORT), _seconds(run(longest), _RUNS_LONG)
    slope = max(long - short, 1e-12) / (longest - SHORT)
    return Merging(op, dtype, max(0.0, short - SHORT * slope), 1 / slope)


def _seconds(run: Callable[[], object], runs: int) -> float:
    """The median of so many, after one that does not count."""
    taken = []
    for _ in range(runs + 1):
        started = time.perf_counter()
        run()
        taken.append(time.perf_counter() - started)
    return median(taken[1:])
