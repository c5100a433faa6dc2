"""What a call returns on a rank, and whether the caller's ``out`` may take it."""

from __future__ import annotations

from typing import Any

from refcoll.arrays import HOST, Arrays
from refcoll.chunks import Layout
from refcoll.errors import ArgumentError
from refcoll.operators import Array
from refcoll.programs import Program
from refcoll.requests import GATHERING, Call, Request, numeric


def checked_out(call: Call, request: Request, rank: int, arrays: Arrays = HOST) -> Array | None:
    """The request's ``out``, if it may take the result of ``call``.  Raises ArgumentError."""
    if request.out is None:
        return None
    x: Array = request.x
    shape = result_shape(call.program, call.layout, x, rank)
    if shape is None:
        return None
    piece = _piece(call.program, call.layout, x, request.out, rank, arrays)
    return _out(request.out, x, shape, piece, arrays)


def _piece(
    made: Program, layout: Layout, x: Array, out: Array, rank: int, arrays: Arrays
) -> tuple[Array, Array] | None:
    """What may be the same memory where x is rank's piece of out, or out is its piece of x."""
    if made.collective.transposes or not made.collective.scattered:
        return None
    if not arrays.owns(out):
        return None
    whole, piece = (out, x) if made.collective.name in GATHERING else (x, out)
    if not whole.flags.c_contiguous or whole.size != layout.count:
        return None
    return whole.reshape(-1)[layout.span(rank, rank + 1)], piece


def result_shape(made: Program, layout: Layout, x: Array, rank: int) -> tuple[int, ...] | None:
    """The shape of what the call returns on ``rank``; None where it returns nothing."""
    match made.collective.name:
        case "all_gather":
            return (layout.count,)
        case "gather":
            return (layout.count,) if rank == made.root else None
        case "reduce_scatter" | "scatter":
            return (layout.lengths[rank],)
        case "barrier":
            return None
        case "reduce" if rank != made.root:
            return None
        case "exscan" if rank == 0:
            return None
    return tuple(x.shape)


def _out(
    value: Any,
    x: Array,
    shape: tuple[int, ...],
    piece: tuple[Array, Array] | None,
    arrays: Arrays,
) -> Array:
    out = numeric(value, "out", arrays)
    if out.shape != shape or out.dtype != x.dtype:
        raise ArgumentError(
            f"out has shape {out.shape} and dtype {out.dtype.str} ({out.dtype.name}), but the "
            f"result has {shape} and {x.dtype.str} ({x.dtype.name}); pass such an array"
        )
    if not arrays.writable(out):
        raise ArgumentError("out is read-only; pass an array that may be written")
    if overlaps_itself(out):
        raise ArgumentError(
            f"out has several elements in one place (strides {out.strides}); pass an array that "
            "has room for each"
        )
    in_place = arrays.same(out, x) or (piece is not None and arrays.same(*piece))
    if not in_place and arrays.overlap(out, x):
        raise ArgumentError("out overlaps x without being x; pass x itself, or separate memory")
    return out


def overlaps_itself(array: Array) -> bool:
    """Whether two indices may name one place: each stride must step over all finer ones."""
    if array.size == 0:
        return False
    extent = array.itemsize
    for stride, length in sorted(
        (abs(stride), length)
        for stride, length in zip(array.strides, array.shape, strict=True)
        if length > 1
    ):
        if stride < extent:
            return True
        extent = stride * (length - 1) + extent
    return False
