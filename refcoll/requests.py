"""A call as its caller made it, and as it is compared with the other ranks'."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from refcoll.arrays import HOST, Arrays
from refcoll.chunks import Layout
from refcoll.errors import ArgumentError
from refcoll.operators import Array, Operator, is_builtin, kind
from refcoll.programs import Program
from refcoll.registry import DEFAULT_RADIX, DEFAULT_SEGMENTS, DEFAULT_SHARDS
from refcoll.topology import Topology
from refcoll.tuning import Tuning

GATHERING = ("all_gather", "gather")
"""Collectives to which a rank brings a piece."""
SCATTERING = ("reduce_scatter", "scatter")
"""Collectives from which a rank takes a piece."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """A call as the caller made it."""

    collective: str
    x: Any = None
    op: str | Operator = "sum"
    root: Any = 0
    out: Any = None
    counts: Sequence[int] | None = None
    algorithm: str = "auto"
    accumulate: Any = None
    nodes: Sequence[Any] | Topology | None = None
    tuning: Tuning | None = None
    segments: int = DEFAULT_SEGMENTS
    radix: int = DEFAULT_RADIX
    shards: int = DEFAULT_SHARDS


@dataclass(frozen=True, eq=False)
class Call:
    """A call that is right by itself, ready to be compared with the other ranks'."""

    request: Request
    program: Program
    layout: Layout
    op: Operator
    x: Array
    out: Array | None
    dtype: np.dtype[Any]
    """In which the values travel and are merged."""
    reason: str = "asked for"
    """Why this algorithm."""

    def record(self) -> dict[str, object]:
        """What all ranks must agree on."""
        request, counts = self.request, self.request.counts
        return {
            "collective": request.collective,
            "algorithm": self.program.name,
            "count": self.x.size if request.collective in GATHERING and counts is None
            else self.layout.count,
            "dtype": self.x.dtype.name,
            "op": self._operator() if self.program.collective.reduces else None,
            "root": self.program.root if self.program.collective.rooted else None,
            "counts": None if counts is None else list(self.layout.lengths),
            "accumulate": None if request.accumulate is None else self.dtype.name,
            "nodes": self._placed(),
            "segments": int(request.segments),
            "radix": int(request.radix),
            "shards": int(request.shards),
        }  # fmt: skip

    def _operator(self) -> str:
        return self.op.name if is_builtin(self.op) else f"{self.op.name} (a user's)"

    def _placed(self) -> list[Any]:
        """Nodes of ranks, or switches of nodes if there are several."""
        where = self.program.topology
        assert where is not None
        on = [[list(where.nodes[node]) for node in switch] for switch in where.switches]
        return on if len(on) > 1 else on[0]


def taken(request: Request, arrays: Arrays) -> Request:
    """The request, with its arrays as ``arrays`` takes them.  Raises ArgumentError."""
    if arrays is HOST:
        return request
    x = None if request.collective == "barrier" else arrays.taken(request.x, "x")
    out = None if request.out is None else arrays.taken(request.out, "out")
    return replace(request, x=x, out=out)


def numeric(value: Any, name: str, arrays: Arrays) -> Array:
    """The caller's argument ``name`` as an array of numbers.  Raises ArgumentError."""
    array = arrays.taken(value, name)
    require_numeric(array.dtype, name)
    return array


def require_numeric(dtype: np.dtype[Any], name: str) -> None:
    """Raise ArgumentError, naming the argument, for a dtype of no kind of number."""
    try:
        kind(dtype)
    except ArgumentError as error:
        raise ArgumentError(f"{name}: {error}") from None
