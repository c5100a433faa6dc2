"""Ask how each rank's contribution comes through by itself.

One rank at a time puts in its own input, the others what changes nothing: 0 in a sum, the end of
the range in a minimum.  What comes out is what the rank's contribution has become on its way:
that of other elements, rounded, without its sign.  It is told only where all of that, merged,
gives the wrong result to the bit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from refcoll.operators import Array, kind
from refcoll.oracle.diagnosing.evidence import Evidence
from refcoll.oracle.merging import merged, merging
from refcoll.testing.values import dtype_named
from refcoll.words import ranked

_CHANCE = 1e-3
"""That elements are those of other places by chance may be no more likely."""
_NARROW = {
    "f": ("float32", "bfloat16", "float16"), "i": ("int32", "int16", "int8", "float32"),
    "c": ("complex64",),
}  # fmt: skip


def changed_on_the_way(e: Evidence) -> dict[int, str]:
    """By rank that is wrong, whose contributions have become what.  Collective."""
    dtype = e.inputs[0].dtype
    neutral = _neutral(str(e.call.op), dtype)
    if neutral is None or e.probe != "coded":
        return {}
    came = [_alone(e, one, neutral) for one in range(e.size)]
    if any(each is None for each in came):
        return {}
    found = {rank: _said(e, rank, [each[rank] for each in came if each]) for rank in e.wrong}
    return {rank: words for rank, words in found.items() if words is not None}


def _neutral(op: str, dtype: np.dtype[Any]) -> float | int | None:
    if kind(dtype) not in "ifc" or op not in ("sum", "min", "max"):
        return None
    if op == "sum":
        return 0
    if kind(dtype) == "f":
        return np.inf if op == "min" else -np.inf
    return int(np.iinfo(dtype).max if op == "min" else np.iinfo(dtype).min)


def _alone(e: Evidence, one: int, neutral: float) -> list[Array | None] | None:
    """All ranks' results where only that rank puts something in."""
    return e.again([
        x.copy() if rank == one else np.full_like(x, neutral) for rank, x in enumerate(e.inputs)
    ])  # fmt: skip


def _said(e: Evidence, rank: int, came: Sequence[Array | None]) -> str | None:
    """``came``: by rank, what it has become."""
    members = range({"scan": rank + 1, "exscan": rank}.get(e.call.collective, e.size))
    rows = [row for source in members if (row := came[source]) is not None]
    if len(rows) < len(members) or not e.equal(rank, merged(str(e.call.op), np.stack(rows))):
        return None
    first = rank * e.call.count if e.call.collective == "reduce_scatter" else 0
    own = merging(e.call, e.inputs, rank)
    by_words: dict[str, list[int]] = {}
    for source, row in zip(members, rows, strict=True):
        differ = np.flatnonzero(row != own[source])
        if len(differ):
            words = _become(e, row, differ, e.inputs[source], first)
            by_words.setdefault(words, []).append(source)
    if "" in by_words or _is_everybodys_rounding(by_words):
        return None
    return "; ".join(f"{_whose(those)} {words}" for words, those in by_words.items())


def _whose(ranks: Sequence[int]) -> str:
    return f"what {ranked(ranks)} {'put' if len(ranks) > 1 else 'puts'} in is"


def _is_everybodys_rounding(by_words: dict[str, list[int]]) -> bool:
    """Then it is that of partial sums as well, of which there is more to say: ``rounding``."""
    rounded = [rank for words, ranks in by_words.items() if _ROUNDED in words for rank in ranks]
    return len(rounded) > 1


def _become(e: Evidence, row: Array, differ: Array, whole: Array, first: int) -> str:
    """What a contribution has become in the elements that differ; "" where that is not known."""
    own, got = whole[first + differ], row[differ]
    for said, other in _ways(own):
        if np.array_equal(other, got):
            return f"{said} in {e.where(differ)}"
    return _displaced(e, got, differ, whole, first)


_ROUNDED = "rounded to"


def _ways(own: Array) -> Iterator[tuple[str, Array]]:
    if kind(own.dtype) == "c":
        yield "conjugated", np.conj(own)
        yield "with real and imaginary parts swapped", (own.imag + 1j * own.real).astype(own.dtype)
    yield "without its sign", np.abs(own)
    yield "with its bytes in reverse order", own.byteswap()
    for name in _NARROW[kind(own.dtype)]:
        narrow = dtype_named(name)
        if narrow.itemsize < own.dtype.itemsize or kind(narrow) != kind(own.dtype):
            yield f"{_ROUNDED} {name}", own.astype(narrow).astype(own.dtype)


def _displaced(e: Evidence, got: Array, differ: Array, whole: Array, first: int) -> str:
    """The same number of elements further on, or back, around the end."""
    if kind(whole.dtype) == "c":
        return ""
    numbers = float(np.ptp(whole.astype(np.float64))) + 1  # that are drawn from
    if whole.size * numbers ** -float(len(differ)) > _CHANCE:
        return ""
    at, half = first + differ, whole.size // 2
    for source in np.flatnonzero(whole == got[0]):
        by = int(source - at[0])
        if at[0] + by < 0 or at[-1] + by >= whole.size:  # around the end: the shorter way
            by = (by + half) % whole.size - half
        if by and np.array_equal(whole[(at + by) % whole.size], got):
            return f"that of element i {'+' if by > 0 else '-'} {abs(by)} in {e.where(differ)}"
    return ""
