"""Ask the implementation again, with inputs from which one can read who contributed what.

One rank at a time puts in 1, the others 0: a sum then is how often that rank is in it.  For
min, max and the like it holds the value that must win, and is there or not.  Whatever order
and precision the implementation merges in, numbers as small as these show it exactly.  Before
that nobody does: what is there then is nobody's.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from refcoll.operators import Array, kind
from refcoll.oracle.bounds import roundings
from refcoll.oracle.diagnosing.evidence import Evidence
from refcoll.oracle.merging import merged
from refcoll.testing.values import dtype_named
from refcoll.words import listed, ranked

MOST = 64
"""More often than that nobody is merged: then these are no counts."""


def contributed(e: Evidence) -> dict[int, str]:
    """By rank, whose contributions are missing or doubled, and where.  Collective."""
    if e.call.op is None or kind(dtype_named(e.call.dtype)) == "b":
        return {}
    times = _asked(e)
    if times is None:
        return {}
    return {
        rank: said
        for rank, each in enumerate(times)
        if each is not None and (said := _nobodys(e, rank, each[0]) or _said(e, rank, each[1:]))
    }


Times = list[Array | None]
"""By rank: how often nobody (the first row) and each rank (a row more) is in each element."""


def _asked(e: Evidence) -> Times | None:
    dtype, op = dtype_named(e.call.dtype), str(e.call.op)
    plain, chosen = _WINNERS.get(op, (0, e.size if op == "avg" else 1))
    found: list[list[Array]] = [[] for _ in range(e.size)]
    for one in (None, *range(e.size)):
        given = [
            np.full(x.size, chosen if rank == one else plain).astype(dtype)
            for rank, x in enumerate(e.inputs)
        ]
        results = e.again(given)
        if results is None:
            return None
        for rank, result in enumerate(results):
            if result is not None:
                counts = op in ("sum", "avg")
                found[rank].append(_times(result) if counts else _won(result, plain))
    return [np.stack(rows) if rows else None for rows in found]


def _times(result: Array) -> Array:
    """Of integers, negative counts, too; what is no number counts as never."""
    signed = result.view(f"i{result.itemsize}") if result.dtype.kind == "u" else result
    with np.errstate(all="ignore"):
        whole = np.nan_to_num(np.real(signed).astype(np.float64), nan=0, posinf=0, neginf=0)
    return np.rint(np.clip(whole, -1e6, 1e6)).astype(np.int64)


def _won(result: Array, plain: int) -> Array:
    won: Array = (result != np.asarray(plain, result.dtype)).astype(np.int64)
    return won


_WINNERS = {
    "min": (2, 1), "max": (1, 2), "prod": (1, 2), "bitwise_or": (0, 1), "bitwise_and": (1, 0),
    "logical_or": (0, 1), "logical_and": (1, 0),
}  # fmt: skip


def _nobodys(e: Evidence, rank: int, times: Array) -> str | None:
    """What is in all wrong elements of a sum though all inputs are 0."""
    places = e.wrong.get(rank)
    if places is None or e.call.op not in ("sum", "avg") or not times[places].all():
        return None
    values = list(dict.fromkeys(times[places].tolist()))
    if max(map(abs, values)) > MOST:
        return None
    if len(values) == 1 and (e.got(rank)[places] == values[0]).all():
        return f"{e.where(places)}: {values[0]} whatever the inputs are"
    shown = listed([str(each) for each in values], 4)
    return f"{e.where(places)}: {shown} where all inputs are 0: something is added"


def _said(e: Evidence, rank: int, times: Array) -> str | None:
    """Of the wrong elements, groups with the same contributors, the largest first."""
    members = _members(e, rank)
    right = np.array([[int(each in members)] for each in range(e.size)])
    plausible = np.asarray((np.abs(times) <= MOST).all(axis=0))
    odd = np.flatnonzero((times != right).any(axis=0) & plausible)
    odd = np.intersect1d(odd, e.wrong.get(rank, odd))
    if plausible.sum() < len(plausible) / 2:
        return None  # these are no counts: something else is wrong
    if rank in e.wrong and not _explain(e, rank, times, odd):
        return None
    groups: dict[str, list[int]] = {}
    for place in odd:
        groups.setdefault(_who(times[:, place], members), []).append(int(place))
    if not groups:
        return None
    largest = sorted(groups.items(), key=lambda item: -len(item[1]))[:3]
    return "; ".join(f"{who} in {e.where(places)}" for who, places in largest)


def _explain(e: Evidence, rank: int, times: Array, odd: Array) -> bool:
    """Whether most of the wrong elements are what comes of so many times each input.

    Not so where a fault comes and goes: then it was another one that was asked.
    """
    if e.probe != "coded" or not len(odd):
        return True
    first = rank * e.call.count if e.call.collective == "reduce_scatter" else 0
    rows, got = np.stack([x[first + odd] for x in e.inputs]), e.got(rank)[odd]
    fits = _added if e.call.op in ("sum", "avg") else _chosen
    return bool(fits(e, rows, times[:, odd], got).mean() > 0.5)


def _added(e: Evidence, rows: Array, times: Array, got: Array) -> Array:
    if kind(got.dtype) == "i":
        return np.asarray((rows * times).sum(axis=0).astype(got.dtype) == got)
    size = e.size if e.call.op == "avg" else 1
    scale = np.abs(rows * times).sum(axis=0) / size
    off = np.abs(got - (rows * times).sum(axis=0) / size)
    return np.asarray(off <= roundings(got.real.dtype, 2 * e.size) * scale)


def _chosen(e: Evidence, rows: Array, times: Array, got: Array) -> Array:
    """By operators for which once is as good as twice, or of which once is all that is known."""
    found = np.zeros(len(got), bool)
    for pattern in np.unique(times > 0, axis=1).T:
        here = ((times > 0) == pattern[:, None]).all(axis=0)
        if pattern.any():
            merges = merged(str(e.call.op), rows[pattern][:, here]).astype(got.dtype)
            found[here] = merges == got[here]
    return found


def _members(e: Evidence, rank: int) -> Sequence[int]:
    return {"scan": range(rank + 1), "exscan": range(rank)}.get(e.call.collective, range(e.size))


def _who(times: Array, members: Sequence[int]) -> str:
    missing = [r for r in members if times[r] == 0]
    extra = [r for r in range(len(times)) if r not in members and times[r]]
    if missing == [*members] and not extra:
        return "nobody's contribution is there"
    said = [f"{ranked(missing)} missing"] if missing else []
    for count in sorted({int(times[r]) for r in members} - {0, 1}):
        ranks = [r for r in members if times[r] == count]
        said.append(f"{ranked(ranks)} {_TIMES.get(count, f'{count} times')}")
    said += [f"{ranked(extra)} too many"] if extra else []
    return ", ".join(said)


_TIMES = {2: "twice", 3: "three times", -1: "with the opposite sign (subtracted)"}
