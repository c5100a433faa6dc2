"""What a caller may pass to a collective, and what is said where it is wrong.

Nothing here talks to other ranks: a wrong argument becomes an ArgumentError that the rank
brings to the handshake, so that every rank hears of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np

from refcoll.arrays import HOST, Arrays
from refcoll.choosing import choose_best
from refcoll.chunks import Layout
from refcoll.collectives import COLLECTIVES, checked_root
from refcoll.collectives import collective as find_collective
from refcoll.errors import ArgumentError, integer
from refcoll.operators import Array, Operator, is_builtin, is_extension_float, kind, operator
from refcoll.programs import Program
from refcoll.registry import DEFAULT_RADIX, DEFAULT_SEGMENTS, DEFAULT_SHARDS, program
from refcoll.topology import Topology, topology
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


def checked(request: Request, rank: int, size: int, arrays: Arrays = HOST) -> Call:
    """The call, if its arguments are right.  Raises ArgumentError."""
    collective = find_collective(request.collective)
    x = np.empty(0, np.uint8) if collective.name == "barrier" else _array(request.x, "x", arrays)
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


def _array(value: Any, name: str, arrays: Arrays) -> Array:
    array = arrays.taken(value, name)
    _require_numeric(array.dtype, name)
    return array


def _require_numeric(dtype: np.dtype[Any], name: str) -> None:
    try:
        kind(dtype)
    except ArgumentError as error:
        raise ArgumentError(f"{name}: {error}") from None


def _travelling(accumulate: Any, own: np.dtype[Any]) -> np.dtype[Any]:
    if accumulate is None:
        return _native(own)
    try:
        dtype: np.dtype[Any] = _native(np.dtype(accumulate))
    except (TypeError, ValueError) as error:
        raise ArgumentError(
            f"accumulate={accumulate!r:.80} is not a dtype; use one such as 'float32'"
        ) from error
    _require_numeric(dtype, "accumulate")
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


_LONGEST = 1e9
"""Seconds: 31 years.  What waits for messages takes neither infinity nor much more than this."""


def seconds(value: Any) -> float:
    """A time limit.  Raises ArgumentError unless it is a number above 0, and not too large."""
    number = isinstance(value, Real) and not isinstance(value, bool)
    if not number or not 0 < value <= _LONGEST:
        raise ArgumentError(
            f"timeout={value!r:.80} must be a number of seconds above 0, and at most {_LONGEST:g}"
        )
    return float(value)


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


def _out(
    value: Any,
    x: Array,
    shape: tuple[int, ...],
    piece: tuple[Array, Array] | None,
    arrays: Arrays,
) -> Array:
    out = _array(value, "out", arrays)
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
