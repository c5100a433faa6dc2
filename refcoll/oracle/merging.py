"""What is merged into a result, and what exact merging of it gives."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from refcoll.operators import Array, kind
from refcoll.oracle.calls import Call
from refcoll.testing.values import MERGES


def merging(call: Call, inputs: Sequence[Array], rank: int) -> Array:
    """What is merged into the rank's result, a row a rank."""
    if call.collective == "scan":
        return np.stack(inputs[: rank + 1])
    if call.collective == "exscan":
        return np.stack(inputs[:rank])
    whole = np.stack(inputs)
    if call.collective == "reduce_scatter":
        return whole[:, rank * call.count : (rank + 1) * call.count]
    return whole


def merged(op: str, parts: Array) -> Array:
    """The rows merged, exactly for all but rough values, in a wide dtype."""
    of = kind(parts.dtype)
    if of == "f":
        parts = parts.astype(np.float64)
    elif of == "c":
        parts = parts.astype(np.complex128)
    with np.errstate(all="ignore"):
        return np.asarray(MERGES[op](parts))


def ignoring_nan(op: str, parts: Array) -> Array:
    """min or max of what is no NaN; NaN where all are."""
    wide = parts.astype(np.float64)
    with np.errstate(all="ignore"):
        found: Array = (np.fmin if op == "min" else np.fmax).reduce(wide, axis=0)
    return np.asarray(found, parts.dtype)


def is_nan(x: Array) -> Array:
    """By element; of complex numbers, whether either part is."""
    unequal: Array = x != x
    return unequal
