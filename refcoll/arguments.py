"""What a caller may pass to a collective, and what is said where it is wrong.

Nothing here talks to other ranks: a wrong argument becomes an ArgumentError that the rank
brings to the handshake, so that every rank hears of it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from refcoll.arrays import HOST, Arrays
from refcoll.choosing import choose_best
from refcoll.chunks import Layout
from refcoll.collectives import COLLECTIVES, checked_root
from refcoll.collectives import collective as find_collective
from refcoll.errors import ArgumentError, integer
from refcoll.operators import Array, Operator, is_extension_float, kind, operator
from refcoll.outputs import checked_out
from refcoll.programs import Program
from refcoll.registry import program
from refcoll.requests import GATHERING, Call, Request, numeric, require_numeric
from refcoll.topology import topology


def checked(request: Request, rank: int, size: int, arrays: Arrays = HOST) -> Call:
    """The call, if its arguments are right.  Raises ArgumentError."""
    collective = find_collective(request.collective)
    x = np.empty(0, np.uint8) if collective.name == "barrier" else numeric(request.x, "x", arrays)
    op = operator(request.op)
    dtype = _travelling(request.accumulate, x.dtype)
    arrays.require(dtype)
    if collective.reduces:
        op.require(dtype)
    lengths = _lengths(request, x, rank, size)
    if collective.transposes and x.size % size:
        raise ArgumentError(
            f"x has {x.size} elements, which cannot be cut into {size} equal chunks, one for each "
            "rank; pad it to a multiple"
        )
    count = x.size if lengths is None else sum(lengths)
    made, reason = _program(request, op, size, count * dtype.itemsize)
    layout = made.layout(count) if lengths is None else Layout(lengths)
    call = Call(request, made, layout, op, x, None, dtype, reason)
    return replace(call, out=checked_out(call, request, rank, arrays))


def _program(request: Request, op: Operator, size: int, nbytes: int) -> tuple[Program, str]:
    """The program that the caller names, or the one for "auto", and why that; it must suit
    the operator."""
    collective, name = request.collective, request.algorithm
    root = integer(request.root, "root")
    cut = {key: integer(getattr(request, key), key) for key in ("segments", "radix", "shards")}
    checked_root(COLLECTIVES[collective], root, size)
    nodes = topology(request.nodes, size)
    in_order, reason = COLLECTIVES[collective].reduces and not op.commutative, "asked for"
    if name == "auto":
        options = tuple(cut.items())
        name, reason = choose_best(
            collective, size, nbytes, root, nodes, in_order, options, request.tuning
        )
    made = program(collective, name, size, root=root, nodes=nodes, **cut)
    _require_runnable(made, op, in_order)
    return made, reason


def _travelling(accumulate: Any, own: np.dtype[Any]) -> np.dtype[Any]:
    if accumulate is None:
        return _native(own)
    try:
        dtype: np.dtype[Any] = _native(np.dtype(accumulate))
    except (TypeError, ValueError) as error:
        raise ArgumentError(
            f"accumulate={accumulate!r:.80} is not a dtype; use one such as 'float32'"
        ) from error
    require_numeric(dtype, "accumulate")
    if kind(dtype) != kind(own) or not _holds(dtype, own):
        raise ArgumentError(
            f"accumulate={dtype.name} cannot hold every value of dtype={own.name}: "
            "use a dtype of the same kind that is no narrower"
        )
    return dtype


def _native(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return dtype if dtype.isnative else dtype.newbyteorder("=")


def _holds(wide: np.dtype[Any], narrow: np.dtype[Any]) -> bool:
    """Whether every value of ``narrow`` is one of ``wide``."""
    if is_extension_float(narrow) and wide.itemsize > narrow.itemsize:
        return wide.itemsize >= 4 or narrow.itemsize == 1
    return bool(np.can_cast(narrow, wide, "safe"))


def _lengths(request: Request, x: Array, rank: int, size: int) -> tuple[int, ...] | None:
    """The chunk lengths that the caller asks for, or that an all-gather implies."""
    gathers = request.collective in GATHERING
    if request.counts is None:
        return (x.size,) * size if gathers else None
    kind = COLLECTIVES[request.collective]
    if not kind.scattered or kind.transposes:
        raise ArgumentError(
            f"counts={request.counts!r:.80} has no meaning for {request.collective}: leave it out"
        )
    try:
        counts = tuple(integer(each, "counts") for each in request.counts)
    except (TypeError, ArgumentError):
        raise ArgumentError(f"counts={request.counts!r:.80} must be a list of integers") from None
    if len(counts) != size or min(counts) < 0:
        raise ArgumentError(f"counts={list(counts)} must be {size} lengths, none negative")
    wanted = counts[rank] if gathers else sum(counts)
    if x.size != wanted:
        said = f"counts[{rank}]={wanted}" if gathers else f"sum(counts)={wanted}"
        raise ArgumentError(f"x has {x.size} elements, but {said}")
    return counts


def _require_runnable(made: Program, op: Operator, in_order: bool) -> None:
    if made.helpers:
        raise ArgumentError(
            f"algorithm={made.name!r} needs {made.helpers} more ranks than take part: it can be "
            "counted, checked and simulated, but not run"
        )
    if in_order and not (made.claims and made.claims.in_rank_order):
        raise ArgumentError(
            f"op={op.name!r} does not commute, and algorithm={made.name!r}"
            f"{f' with root={made.root}' if made.root else ''} does not keep rank order; see "
            f"`refcoll list {made.collective.name}` for those that do"
            f"{', with root=0' if made.root else ''}"
        )
