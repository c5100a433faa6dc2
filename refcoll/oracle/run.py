"""One run of a call on one rank: in guarded buffers, with what was seen of it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from refcoll.operators import Array
from refcoll.oracle.calls import Call
from refcoll.oracle.guarded import Guarded


@dataclass
class Seen:
    """One run on this rank."""

    output: Array | None
    status: str
    """"done", "refused" or what was raised."""
    input_changed: bool
    guards: str | None

    def said(self, call: Call, wrong: Array | None) -> dict[str, Any]:
        """For the other ranks."""
        raw = b"" if self.output is None else _with_one_nan(call, self.output).tobytes()
        return {
            "status": self.status,
            "wrong": 0 if wrong is None else int(wrong.sum()),
            "digest": hashlib.sha256(raw).hexdigest(),
            "input changed": self.input_changed,
            "guards": self.guards,
        }


def _with_one_nan(call: Call, output: Array) -> Array:
    """Where values are merged it is left open which NaN a NaN is."""
    with np.errstate(invalid="ignore"):
        nan = output != output
    if call.op is None or not nan.any():
        return output
    same = output.copy()
    same[nan] = np.nan
    return same


def buffers(
    call: Call, rank: int, size: int, dtype: np.dtype[Any], shift: int
) -> tuple[Guarded | None, Guarded | None]:
    """For input and output: the same one where the call is in place."""
    given, got = call.input_length(rank, size), call.output_length(rank, size)
    if call.in_place:
        both = Guarded(max(given, got or 0), dtype, shift)
        return both, both
    holds = call.collective not in ("scatter", "broadcast") or rank == call.root
    return (
        Guarded(given, dtype, shift) if holds else None,
        None if got is None else Guarded(got, dtype, shift, output=True),
    )


def views(
    call: Call, rank: int, x: Guarded | None, out: Guarded | None
) -> tuple[Array | None, Array | None]:
    """What the implementation is given."""
    source = None if x is None else x.array
    target = None if out is None else out.array
    if call.in_place and source is not None:
        if call.collective == "all_gather":
            source = source[rank * call.count : (rank + 1) * call.count]
        if call.collective == "reduce_scatter":
            target = source[: call.count]
        if call.collective == "reduce" and rank != call.root:
            target = None
    return source, target
