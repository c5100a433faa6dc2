"""What is right: exact values, rigorous bounds, and the freedom that standards leave.

coded, tiny, extremes    the exact value: no order of merging rounds
huge                     the exact value, infinite where that is out of range
rough, and all averages  within the bounds of ``bounds``
special                  see ``special_values``
zeros                    of either sign, where something is merged
moved                    the same bits
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from refcoll.operators import Array, kind
from refcoll.oracle.calls import Call
from refcoll.oracle.comparing import Truth, bounded, exactly, same_bits
from refcoll.oracle.merging import merged, merging
from refcoll.oracle.special_values import special
from refcoll.testing.values import dtype_named


def truth(probe: str, call: Call, inputs: Sequence[Array], rank: int) -> Truth | None:
    """For one rank; None where it gets nothing."""
    if call.output_length(rank, len(inputs)) is None:
        return None
    if call.op is None:
        return same_bits(_moved(call, inputs, rank))
    with np.errstate(all="ignore"):
        return _merged(probe, call.op, merging(call, inputs, rank), dtype_named(call.dtype))


def _moved(call: Call, inputs: Sequence[Array], rank: int) -> Array:
    mine = slice(rank * call.count, (rank + 1) * call.count)
    match call.collective:
        case "broadcast":
            return inputs[call.root]
        case "scatter":
            return inputs[call.root][mine]
        case "all_to_all":
            return np.concatenate([each[mine] for each in inputs])
        case _:
            return np.concatenate(inputs)


def _merged(probe: str, op: str, parts: Array, dtype: np.dtype[Any]) -> Truth:
    if probe == "special":
        return special(op, parts)
    if op == "avg" and kind(dtype) == "i":
        return _whole_mean(parts)
    if probe == "rough" or op == "avg":
        return bounded(op, parts)
    if op.startswith("logical") and len(parts) == 1:
        return _unmerged(parts[0])
    return exactly(merged(op, parts).astype(dtype))


def _unmerged(alone: Array) -> Truth:
    """A logical operator over one rank: as it is (MPI, where nothing is merged), or 0 or 1."""
    truth = np.asarray(alone != 0, alone.dtype)
    return Truth(truth, lambda got: np.asarray((got != truth) & (got != alone)))


def _whole_mean(parts: Array) -> Truth:
    """Of integers, not a dtype of ``avg`` here: the exact mean, rounded up or down."""
    total = np.add.reduce(parts.astype(object), axis=0)
    size = len(parts)
    down = np.array([each // size for each in total]).astype(parts.dtype)
    up = np.array([-(-each // size) for each in total]).astype(parts.dtype)
    return Truth(down, lambda got: (got != down) & (got != up))
