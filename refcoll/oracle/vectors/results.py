"""What every rank must get in a case, computed from all inputs at once, without a schedule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from refcoll.operators import Array, kind
from refcoll.oracle.merging import ignoring_nan, merged
from refcoll.oracle.truth import truth
from refcoll.oracle.vectors.cases import Case
from refcoll.oracle.vectors.encoding import array_of
from refcoll.oracle.vectors.expected import Interval, intervals
from refcoll.oracle.vectors.ordered import IN_RANK_ORDER
from refcoll.testing.values import dtype_named


@dataclass(frozen=True)
class Right:
    """What ``ranks``, all alike, must get."""

    ranks: Sequence[int]
    exact: Array
    """Correctly rounded."""
    ignoring_nan: Array | None = None
    """The other result that is right, in whole, of min and max."""
    intervals: Sequence[Interval] | None = None
    """Of complex numbers the real and the imaginary part, by turns."""


def rights(case: Case) -> list[Right]:
    """All ranks that get something, those that get the same together."""
    holders = [r for r in range(case.size) if case.call.output_length(r, case.size) is not None]
    if case.call.collective in ("all_reduce", "all_gather", "broadcast"):
        return [_right(case, 0, holders)]
    return [_right(case, rank, [rank]) for rank in holders]


def _right(case: Case, rank: int, ranks: Sequence[int]) -> Right:
    call = case.call
    if call.op is None:
        alone = truth("bits", call, case.inputs, rank)
        assert alone is not None
        return Right(ranks, alone.wanted)
    parts = parts_of(case, rank)
    if call.op in IN_RANK_ORDER:
        return Right(ranks, array_of(reduce(IN_RANK_ORDER[call.op], parts), call.dtype))
    if case.compare == "interval":
        return _within(call.op, parts, call.dtype, ranks)
    with np.errstate(over="ignore"):
        exact = np.asarray(merged(call.op, parts)).astype(parts.dtype)
    other = ignoring_nan(call.op, parts) if case.compare == "either" else None
    return Right(ranks, exact, other)


def parts_of(case: Case, rank: int) -> Array:
    """What is merged into the rank's result, a row a rank."""
    first = {"scan": rank + 1, "exscan": rank}.get(case.call.collective, case.size)
    whole = np.stack(case.inputs[:first])
    if case.call.collective != "reduce_scatter":
        return whole
    return whole[:, rank * case.call.count : (rank + 1) * case.call.count]


def _within(op: str, parts: Array, dtype: str, ranks: Sequence[int]) -> Right:
    native = dtype_named(dtype)
    if kind(native) != "c":
        found = intervals(op, parts, dtype)
        return Right(ranks, array_of([x.rounded(native) for x in found], dtype), intervals=found)
    part = parts.real.dtype
    halves = [intervals(op, half, part.name) for half in (parts.real, parts.imag)]
    found = [half[i] for i in range(parts.shape[1]) for half in halves]
    flat = np.array([x.rounded(part) for x in found], part)
    return Right(ranks, flat.view(native), intervals=found)
