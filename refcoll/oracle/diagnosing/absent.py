"""A hypothesis from the values alone: a rank's contribution is missing, or there twice.

Asked when the implementation, asked again, has shown nobody missing: what comes and goes.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from refcoll.operators import Array, kind
from refcoll.oracle.diagnosing.evidence import Evidence
from refcoll.oracle.merging import merged

_EXACT = ("coded", "extremes", "tiny")


def absent(e: Evidence, rank: int) -> str | None:
    """Whose, where all elements are what is merged without it, or with it twice."""
    if e.call.op in (None, "avg") or e.probe not in _EXACT or len(e.wrong[rank]) < 2:
        return None
    if e.binary and e.few(rank):
        return None  # as many others would be right
    for said, rows in _others(e.parts(rank), str(e.call.op)):
        if e.equal(rank, merged(str(e.call.op), rows), everywhere=True):
            goes = "" if kind(rows.dtype) == "b" else "; asked again, it was there"
            if e.probe == "tiny":
                goes = ": only subnormal numbers of its, taken for zeros"
            return f"{said} in {e.where(e.wrong[rank])}{goes}"
    return None


def _others(parts: Array, op: str) -> Iterator[tuple[str, Array]]:
    """Rows with one fewer, of a sum with one more, else with one of zeros."""
    for each in range(len(parts)) if len(parts) > 1 else ():
        yield f"rank {each} missing", np.delete(parts, each, axis=0)
        if op == "sum":
            yield f"rank {each} twice", np.concatenate([parts, parts[each : each + 1]])
        else:
            zeros = parts.copy()
            zeros[each] = 0
            yield f"zeros for rank {each}'s input", zeros
