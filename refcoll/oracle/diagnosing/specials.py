"""Hypotheses about zeros, NaN and infinities: what became of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from refcoll.operators import Array, kind
from refcoll.oracle.diagnosing.evidence import Evidence
from refcoll.oracle.floats import real_parts
from refcoll.oracle.merging import ignoring_nan, is_nan, merged
from refcoll.words import ranked


def nan_rules(e: Evidence, rank: int) -> str | None:
    """NaN lost, made up, or treated now this way and now that."""
    if e.probe != "special":
        return None
    parts, places = e.parts(rank), e.wrong[rank]
    nan = (parts != parts)[:, places]
    if not nan.any(axis=0).all():
        return None
    holders = sorted({int(each) for each in np.argmax(nan, axis=0)})
    named = f"a NaN on {ranked(holders)}"
    said, op = e.where(places), str(e.call.op)
    if op not in ("min", "max"):
        return f"{said}: {named} is lost"
    return f"{said}: {op.upper()} depends on the order of operands: {_nan_by_rank(e, rank)}"


def _nan_by_rank(e: Evidence, rank: int) -> str:
    """What became of each rank's NaN, in all elements that have just that one.

    ``a < b ? a : b`` gives b where either is NaN: the NaN or, worse, what comes after it alone.
    """
    parts, got = e.parts(rank), e.got(rank)
    nan, lost = parts != parts, ignoring_nan(str(e.call.op), parts)
    fates: dict[str, list[int]] = {}
    for holder in range(len(parts)):
        alone = nan[holder] & (nan.sum(axis=0) == 1)
        ignored, through = (got == lost)[alone], (got != got)[alone]
        other = ~(through | ignored)
        said = [
            name for name, of in zip(_FATES, (through, ignored, other), strict=True) if of.any()
        ]
        if said:
            fates.setdefault(" or ".join(said), []).append(holder)
    return "; ".join(f"a NaN on {ranked(ranks)} {fate}" for fate, ranks in fates.items())


_FATES = ("comes through", "is ignored", "hides other ranks' values")


def infinities(e: Evidence, rank: int) -> str | None:
    """Infinities, and NaNs that come from them, that became something else."""
    wanted, got = (real_parts(x[e.wrong[rank]]) for x in (e.wanted(rank), e.got(rank)))
    if kind(wanted.dtype) != "f":
        return None
    differ = (got != wanted) & ~(is_nan(got) & is_nan(wanted))
    wanted, got = wanted[differ], got[differ]
    if np.isfinite(wanted.astype(np.float64)).any():
        return None
    shown = sorted({repr(float(each)) for each in got})
    if np.isinf(got.astype(np.float64)).all() and np.isinf(wanted.astype(np.float64)).all():
        return f"{e.where(e.wrong[rank])}: infinite, but of the wrong sign"
    open_ = "zero times infinity" if e.call.op == "prod" else "infinity minus infinity"
    what = "infinite" if np.isinf(wanted.astype(np.float64)).any() else open_
    return f"{e.where(e.wrong[rank])}: {what}, but came out as {', '.join(shown[:3])}"


def starting_value(e: Evidence, rank: int) -> str | None:
    """Extremes as if there were one input more, the same in all elements: C++'s least float, that
    numeric_limits::min() is not, or 0."""
    op, places, got, wanted = e.call.op, e.wrong[rank], e.got(rank), e.wanted(rank)
    if op not in ("min", "max") or kind(got.dtype) not in "if" or len(places) < 2:
        return None
    value = got[places[0]]
    more = merged(op, np.stack([wanted, np.full_like(wanted, value)])).astype(got.dtype)
    if not (got[places] == value).all() or not e.equal(rank, more, everywhere=True):
        return None
    if (got == value).all():
        return None  # that may be anything
    return (
        f"{e.where(places)}: {value!s}, as if that were one more input: what an accumulator "
        "starts at?"
    )


def zeros_left_out(e: Evidence, rank: int) -> str | None:
    """An input of 0 counts as none at all, in an operator to which it is something."""
    op, parts = str(e.call.op), e.parts(rank)
    if op not in ("min", "max", "prod", "bitwise_and", "logical_and") or len(e.wrong[rank]) < 2:
        return None
    if kind(parts.dtype) not in "if":
        return None
    zero = parts == 0
    other = merged(op, np.where(zero, _nothing(op, parts.dtype), parts))
    other = np.where(zero.all(axis=0), np.zeros(1, parts.dtype), other).astype(parts.dtype)
    if not e.equal(rank, other, everywhere=True):
        return None
    return f"{e.where(e.wrong[rank])}: zeros are left out, as if they were no inputs"


def _nothing(op: str, dtype: np.dtype[Any]) -> Array:
    """What merges with anything to that."""
    if op in ("min", "max"):
        ends = (-np.inf, np.inf) if kind(dtype) == "f" else _range(dtype)
        return np.array(ends[op == "min"], dtype)
    return np.array(-1 if op == "bitwise_and" else 1).astype(dtype)


def _range(dtype: np.dtype[Any]) -> tuple[int, int]:
    info = np.iinfo(dtype)
    return int(info.min), int(info.max)
