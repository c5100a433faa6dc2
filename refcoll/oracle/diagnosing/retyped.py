"""A hypothesis: the elements' bytes were taken for those of another dtype.

As where a table of datatypes has two of one width in each other's place, or adds several narrow
integers at once as a wide one.  Told only where all elements are what comes of that.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from refcoll.operators import OPERATORS, Array, kind
from refcoll.oracle.comparing import bounded
from refcoll.oracle.diagnosing.evidence import Evidence
from refcoll.oracle.merging import ignoring_nan, is_nan, merged
from refcoll.testing.values import DTYPES, dtype_named


def retyped(e: Evidence, rank: int) -> str | None:
    """Right, of another dtype."""
    op, places = e.call.op, e.wrong[rank]
    parts, got, wanted = map(np.ascontiguousarray, (e.parts(rank), e.got(rank), e.wanted(rank)))
    own = got.dtype
    if op is None or kind(own) == "b":
        return None
    for name, dtype in _others(own, op):
        whole = got.nbytes // dtype.itemsize * dtype.itemsize // own.itemsize
        if not whole or places[-1] >= whole:
            continue
        taken, at = parts[:, :whole].copy().view(dtype), places * own.itemsize // dtype.itemsize
        fits, right = (_gives(op, taken, x[:whole].view(dtype)) for x in (got, wanted))
        if fits.all() and not right[at].mean() > 0.5 and _telling(op, got[:whole].view(dtype)[at]):
            much = "" if dtype.itemsize == own.itemsize else f", {_width(own, dtype)}"
            return f"{e.where(places)}: {own.name} taken for {name}{much}"
    return None


def _telling(op: str, values: Array) -> bool:
    """Whether most are not what comes of many things: 0, or of a sum no number."""
    chosen = op in ("min", "max")
    return bool(((values != 0) & (chosen | _finite(values))).mean() > 0.5)


def _others(own: np.dtype[Any], op: str) -> Iterator[tuple[str, np.dtype[Any]]]:
    """Complex ones, whose parts add alike, last; of the same width first, then of the same kind.

    Not the parts of a whole: of those there is more to say, such as which carries are lost.
    """
    found = [(name, dtype_named(name)) for name in DTYPES if name != own.name]

    def unlike(other: tuple[str, np.dtype[Any]]) -> tuple[bool, ...]:
        dtype = other[1]
        return dtype.kind == "c", dtype.itemsize != own.itemsize, dtype.kind != own.kind

    for name, dtype in sorted(found, key=unlike):
        narrower = dtype.itemsize < own.itemsize and (own.kind == "c" or kind(own) == "i")
        if kind(dtype) in OPERATORS[op].kinds.replace("b", "") and not narrower:
            yield name, dtype


def _width(own: np.dtype[Any], dtype: np.dtype[Any]) -> str:
    several, one = sorted((own.itemsize, dtype.itemsize), reverse=True)
    return f"{several // one} to {'one' if dtype.itemsize > own.itemsize else 'each'}"


def _gives(op: str, parts: Array, got: Array) -> Array:
    """Which elements are what merging these, in any order, gives."""
    with np.errstate(all="ignore"):
        exact = merged(op, parts)
        if kind(parts.dtype) not in "fc":
            return np.asarray(exact.astype(got.dtype) == got)
        if op in ("min", "max"):
            either = (exact.astype(got.dtype), ignoring_nan(op, parts))
            same = [(got == each) | (is_nan(got) & is_nan(each)) for each in either]
            return np.asarray(same[0] | same[1])
        open_ = ~_finite(exact.astype(got.dtype)) | ~_finite(parts).all(axis=0)
        return np.asarray((~_finite(got) & open_) | ~bounded(op, parts).check(got))


def _finite(values: Array) -> Array:
    wide = values.astype(np.complex128 if values.dtype.kind == "c" else np.float64)
    return np.asarray(np.isfinite(wide))
