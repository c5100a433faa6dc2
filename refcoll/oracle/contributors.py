"""Ask the implementation again, with inputs from which one can read who contributed what.

For a sum rank r puts in B^r: the digits of the result count how often each rank is in it,
from -2 (subtracted twice) to 5.
With many ranks, or a narrow dtype, a few at a time, the others putting in 0.  For min, max and
the like one rank at a time holds the value that must win.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from refcoll.operators import Array, kind
from refcoll.oracle.evidence import Evidence
from refcoll.testing.values import dtype_named
from refcoll.words import spans

BASE = 8
LEAST = -2
"""Digits are LEAST ... LEAST + BASE - 1 times."""


def contributed(e: Evidence) -> dict[int, str]:
    """By rank, whose contributions are missing or doubled, and where.  Collective."""
    if e.call.op is None or kind(dtype_named(e.call.dtype)) == "b":
        return {}
    times = _counted(e) if e.call.op in ("sum", "avg") else _present(e)
    if times is None:
        return {}
    return {
        rank: said
        for rank in range(e.size)
        if times[rank] is not None and (said := _said(e, rank, times[rank]))
    }


Times = list[Array | None]
"""By rank: how often each rank (row) is in each element (column)."""


def _counted(e: Evidence) -> Times | None:
    dtype = dtype_named(e.call.dtype)
    group = _digits(dtype, e.call.op == "avg", e.size)
    found: list[list[Array]] = [[] for _ in range(e.size)]
    for first in range(0, e.size, group):
        ranks = range(first, min(first + group, e.size))
        scale = e.size if e.call.op == "avg" else 1
        given = [
            np.full(x.size, scale * BASE ** (rank - first) if rank in ranks else 0).astype(dtype)
            for rank, x in enumerate(e.inputs)
        ]
        results = e.again(given)
        if results is None:
            return None
        for rank, result in enumerate(results):
            if result is not None:
                found[rank] += _decoded(result, len(ranks))
    return [np.stack(rows) if rows else None for rows in found]


def _digits(dtype: np.dtype[Any], average: bool, size: int) -> int:
    """How many ranks fit into one result."""
    bits = {"float16": 10, "bfloat16": 7, "float32": 23, "float64": 50}.get(dtype.name)
    if bits is None:
        bits = 8 * dtype.itemsize - 2 if dtype.kind in "iu" else 23 if dtype.itemsize == 8 else 50
    if average:
        bits -= size.bit_length()
    return max(1, min(bits // 3, 16))


def _decoded(result: Array, digits: int) -> list[Array]:
    """The digits, lowest first; the highest may exceed the base."""
    with np.errstate(all="ignore"):
        whole = np.nan_to_num(np.real(result).astype(np.float64), nan=0, posinf=0, neginf=0)
    rest = np.rint(whole).astype(np.int64)
    rows = []
    for _ in range(digits - 1):
        digit = (rest - LEAST) % BASE + LEAST
        rows.append(digit)
        rest = (rest - digit) // BASE
    return [*rows, rest]


def _present(e: Evidence) -> Times | None:
    """0 or 1: whether the value that must win has won."""
    dtype = dtype_named(e.call.dtype)
    plain, winner = _WINNERS.get(str(e.call.op), (1, 2))
    if e.call.op in ("bitwise_xor", "logical_xor"):
        plain, winner = 0, 1
    found: list[list[Array]] = [[] for _ in range(e.size)]
    for chosen in range(e.size):
        given = [
            np.full(x.size, winner if rank == chosen else plain).astype(dtype)
            for rank, x in enumerate(e.inputs)
        ]
        results = e.again(given)
        if results is None:
            return None
        for rank, result in enumerate(results):
            if result is not None:
                found[rank].append(np.real(result != np.asarray(plain, dtype)).astype(np.int64))
    return [np.stack(rows) if rows else None for rows in found]


_WINNERS = {
    "min": (2, 1), "max": (1, 2), "prod": (1, 2), "bitwise_or": (0, 1), "bitwise_and": (1, 0),
    "logical_or": (0, 1), "logical_and": (1, 0),
}  # fmt: skip


def _said(e: Evidence, rank: int, times: Array | None) -> str | None:
    """Groups of elements with the same contributors, the largest first."""
    assert times is not None
    members = _members(e, rank)
    right = np.array([[int(each in members)] for each in range(e.size)])
    plausible = ((times >= LEAST) & (times < LEAST + BASE)).all(axis=0)
    odd = np.flatnonzero((times != right).any(axis=0) & plausible)
    if plausible.sum() < len(plausible) / 2:
        return None  # these are no counts: something else is wrong
    groups: dict[str, list[int]] = {}
    for place in odd:
        groups.setdefault(_who(times[:, place], members), []).append(int(place))
    if not groups:
        return None
    largest = sorted(groups.items(), key=lambda item: -len(item[1]))[:3]
    return "; ".join(f"{who} in {e.where(places)}" for who, places in largest)


def _members(e: Evidence, rank: int) -> Sequence[int]:
    return {"scan": range(rank + 1), "exscan": range(rank)}.get(e.call.collective, range(e.size))


def _who(times: Array, members: Sequence[int]) -> str:
    missing = [r for r in members if times[r] == 0]
    extra = [r for r in range(len(times)) if r not in members and times[r]]
    if missing == [*members]:
        return "nobody's contribution is there"
    said = [f"{_ranks(missing)} missing"] if missing else []
    for count in sorted({int(times[r]) for r in members} - {0, 1}):
        ranks = [r for r in members if times[r] == count]
        said.append(f"{_ranks(ranks)} {_TIMES.get(count, f'{count} times')}")
    said += [f"{_ranks(extra)} too many"] if extra else []
    return ", ".join(said)


_TIMES = {2: "twice", 3: "three times", -1: "with the opposite sign (subtracted)"}


def _ranks(ranks: Sequence[int]) -> str:
    return f"rank{'s' if len(ranks) > 1 else ''} {spans(ranks)}"
