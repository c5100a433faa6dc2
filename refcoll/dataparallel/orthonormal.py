"""Gram-Schmidt whose bits depend on no library.

Replicas orthonormalise the same matrix, each for itself, and must get the same bits.  So
nothing here is left to BLAS or LAPACK, whose sums are ordered by processor and by number of
threads: there are only additions, multiplications, divisions and square roots, which IEEE 754
rounds correctly, one at a time and in an order that is written below.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from refcoll.operators import Array

_DEPENDENT = 8
"""Rounding units: what is left of a column that depends on others is no longer than this."""


def orthonormalise(matrix: Array, drawn: Callable[[int], Array]) -> None:
    """Turn the columns into orthonormal ones that span at least as much, in place.

    A column that is zero, or depends on those before it, is replaced by one of ``drawn(rows)``.
    At most as many columns as rows, all finite.
    """
    for index in range(matrix.shape[1]):
        before = matrix[:, :index]
        column = _orthogonal(matrix[:, index], before)
        while column is None:
            column = _orthogonal(drawn(len(matrix)), before)
        matrix[:, index] = column


def _orthogonal(column: Array, before: Array) -> Array | None:
    """The part of a column that is orthogonal to those before, of length 1; None if no part is."""
    peak = np.abs(column).max()
    if peak == 0:
        return None
    rest = column / peak  # squares of very small or great numbers would vanish or overflow
    whole = _length(rest)
    for _ in range(2):  # what rounding leaves of the others after one pass, a second removes
        for other in before.T:
            rest -= other * total(other * rest)
    left = _length(rest)
    if left <= _DEPENDENT * np.finfo(rest.dtype).eps * whole:
        return None
    return np.asarray(rest / left)


def _length(column: Array) -> Any:
    return np.sqrt(total(column * column))


def total(values: Array) -> Any:
    """The sum of a non-empty vector, which is overwritten: the upper half onto the lower, again."""
    while len(values) > 1:
        half = (len(values) + 1) // 2
        values[: len(values) - half] += values[half:]
        values = values[:half]
    return values[0]
