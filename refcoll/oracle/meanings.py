"""Hypotheses about what merging did: another operator, another factor, too little precision."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from refcoll.operators import Array, kind
from refcoll.oracle.evidence import Evidence
from refcoll.oracle.truth import MERGES, exact_sums, ignoring_nan, merged, roundings
from refcoll.words import spans


def scaled(e: Evidence, rank: int) -> str | None:
    """A constant times what is right: the sum for the mean, divided twice, ..."""
    if kind(e.got(rank).dtype) not in "fc" or e.call.op not in ("sum", "avg"):
        return None
    if e.probe == "special":
        return None  # factors of what is not finite say nothing
    n, count = e.size, e.call.count
    places = e.wrong[rank]
    got, wanted = (x[places].astype(np.complex128) for x in (e.got(rank), e.wanted(rank)))
    for factor, said in _factors(e.call.op, n, count):
        with np.errstate(all="ignore"):
            fits = np.allclose(got, wanted * factor, rtol=0.01, atol=0)
        if fits and np.any(wanted != 0):
            return f"{e.where(places)}: {said}"
    return None


def _factors(op: str, n: int, count: int) -> Iterator[tuple[float, str]]:
    if op == "avg":
        yield n, "the sum, not the mean: never divided by N"
        yield 1 / n, "divided by N twice"
        yield n / max(count, 1), f"divided by the number of elements, {count}, not by N = {n}"
    else:
        yield 1 / n, "the mean, not the sum: divided by N"
    yield 2, "twice what is right"
    yield -1, "of the opposite sign"


def other_operator(e: Evidence, rank: int) -> str | None:
    """What another operator gives."""
    parts = e.parts(rank)
    for op in ("sum", "min", "max", "prod", "bitwise_or", "bitwise_and", "bitwise_xor"):
        if op == e.call.op or (op.startswith("bitwise") and kind(parts.dtype) not in "ib"):
            continue
        if op in ("min", "max") and kind(parts.dtype) == "c":
            continue
        if op == "sum" and kind(parts.dtype) == "b":
            continue
        with np.errstate(all="ignore"):
            other = merged(op, parts).astype(parts.dtype)
        if e.equal(rank, other):
            return f"{e.where(e.wrong[rank])}: the {_NAMES.get(op, op)}, not the {e.call.op}"
    return None


_NAMES = {"min": "minimum", "max": "maximum", "prod": "product"}


def signedness(e: Evidence, rank: int) -> str | None:
    """Unsigned integers compared as signed ones, or the other way round."""
    parts = e.parts(rank)
    if parts.dtype.kind not in "iu" or e.call.op not in ("min", "max"):
        return None
    taken = np.dtype(("i" if parts.dtype.kind == "u" else "u") + str(parts.dtype.itemsize))
    other = MERGES[e.call.op](parts.view(taken)).view(parts.dtype)
    if not e.equal(rank, other):
        return None
    return f"{e.where(e.wrong[rank])}: {parts.dtype} compared as {taken}"


def saturated(e: Evidence, rank: int) -> str | None:
    """The largest or smallest value, where that is not the sum."""
    dtype = e.got(rank).dtype
    if dtype.kind not in "iu":
        return None
    info = np.iinfo(dtype)
    got = e.got(rank)[e.wrong[rank]]
    if not np.isin(got, [info.max, info.min]).all() or e.call.op not in ("sum", "prod"):
        return None
    return f"{e.where(e.wrong[rank])}: saturated at the end of the range of {dtype}"


def nan_rules(e: Evidence, rank: int) -> str | None:
    """NaN lost, made up, or treated now this way and now that."""
    parts, places = e.parts(rank), e.wrong[rank]
    if kind(parts.dtype) != "f" or e.probe != "special":
        return None
    nan = (parts != parts)[:, places]
    if not nan.any(axis=0).all():
        return None
    holders = sorted({int(each) for each in np.argmax(nan, axis=0)})
    named = ", ".join(map(str, holders))
    if e.call.op in ("min", "max"):
        return _nan_by_rank(e, rank)
    return f"{e.where(places)}: a NaN on rank {named} is lost"


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
        said = [
            name for name, of in (
                ("comes through", through), ("is ignored", ignored),
                ("hides other ranks' values", ~(through | ignored)),
            ) if of.any()
        ]  # fmt: skip
        if said:
            fates.setdefault(" or ".join(said), []).append(holder)
    words = "; ".join(f"a NaN on {_ranks(ranks)} {fate}" for fate, ranks in fates.items())
    return f"{words}: the {_NAMES[str(e.call.op)]} depends on the order of operands"


def _ranks(ranks: Sequence[int]) -> str:
    return f"rank{'s' if len(ranks) > 1 else ''} {spans(ranks)}"


def infinities(e: Evidence, rank: int) -> str | None:
    """Infinities that became something else."""
    wanted, got = e.wanted(rank)[e.wrong[rank]], e.got(rank)[e.wrong[rank]]
    if kind(wanted.dtype) != "f" or not np.isinf(wanted.astype(np.float64)).all():
        return None
    shown = sorted({repr(float(each)) for each in got})
    return f"{e.where(e.wrong[rank])}: infinite, but came out as {', '.join(shown[:3])}"


def flushed(e: Evidence, rank: int) -> str | None:
    """Subnormals taken for zero."""
    if e.probe != "tiny" or (e.got(rank)[e.wrong[rank]] != 0).any():
        return None
    return f"{e.where(e.wrong[rank])}: subnormal, and flushed to zero"


def imprecise(e: Evidence, rank: int) -> str | None:
    """Within the bound of a narrower dtype's roundings."""
    parts, got, places = e.parts(rank), e.got(rank), e.wrong[rank]
    if e.probe != "rough" or e.call.op is None:
        return None
    narrower = _NARROWER.get(parts.dtype.name, ())
    exact, scale = _exact_and_scale(e.call.op, parts[:, places])
    with np.errstate(all="ignore"):
        error = np.abs(got[places].astype(np.float64) - exact)
    for name in narrower:
        dtype = _named(name)
        if (error <= roundings(dtype, 2 * len(parts)) * scale).all():
            worst = float(np.max(error / np.where(scale == 0, 1, scale)))
            return (
                f"{e.where(places)}: accumulated in {name}, not {parts.dtype.name}: off by up to "
                f"{worst:.1e} of the sum of magnitudes"
            )
    return None


_NARROWER = {
    "float64": ("float32", "float16", "bfloat16"),
    "float32": ("float16", "bfloat16"),
    "float16": ("bfloat16", "float8_e4m3fn", "float8_e5m2"),
    "bfloat16": ("float8_e4m3fn", "float8_e5m2"),
}


def _named(name: str) -> np.dtype[Any]:
    from refcoll.testing.values import dtype_named

    return dtype_named(name)


def _exact_and_scale(op: str, parts: Array) -> tuple[Array, Array]:
    if op == "prod":
        exact = np.multiply.reduce(parts.astype(np.float64), axis=0)
        return exact, np.abs(exact)
    exact, absolute = exact_sums(parts)
    size = len(parts) if op == "avg" else 1
    return exact / size, absolute / size


MEANINGS: Sequence[Callable[[Evidence, int], str | None]] = (
    infinities, flushed, saturated, scaled, other_operator, imprecise,
)  # fmt: skip
