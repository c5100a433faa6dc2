"""Hypotheses about precision: what was rounded away, and where values passed through."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from refcoll.operators import Array, kind
from refcoll.oracle.bounds import magnitudes, roundings
from refcoll.oracle.diagnosing.evidence import Evidence
from refcoll.oracle.doubled import total
from refcoll.testing.values import dtype_named


def flushed(e: Evidence, rank: int) -> str | None:
    """Subnormals taken for zero."""
    if e.probe != "tiny" or (e.got(rank)[e.wrong[rank]] != 0).any():
        return None
    return f"{e.where(e.wrong[rank])}: subnormal, and flushed to zero"


def whole_numbers(e: Evidence, rank: int) -> str | None:
    """A mean whose fraction is cut off."""
    places, got, wanted = e.wrong[rank], e.got(rank), e.wanted(rank)
    if e.call.op != "avg" or kind(got.dtype) != "f":
        return None
    parts = e.parts(rank)
    exact = total(parts)[0] / len(parts)
    for cut in (np.trunc, np.floor, np.rint):
        if (got[places] == cut(exact[places]).astype(wanted.dtype)).all():
            return f"{e.where(places)}: the mean cut to a whole number"
    return None


def divided_often(e: Evidence, rank: int) -> str | None:
    """A mean of integers that is off by as much as several divisions cut off."""
    places, got, wanted = e.wrong[rank], e.got(rank), e.wanted(rank)
    if e.call.op != "avg" or kind(got.dtype) != "i":
        return None
    off = np.abs(got[places].astype(np.float64) - wanted[places].astype(np.float64))
    if off.max() > e.size.bit_length():
        return None
    return (
        f"{e.where(places)}: off by {int(off.max())}: whole numbers divided and cut at several "
        "levels, not once after the sum"
    )


def through_floats(e: Evidence, rank: int) -> str | None:
    """Integers that a float's digits do not hold."""
    places, got, wanted = e.wrong[rank], e.got(rank), e.wanted(rank)
    if kind(got.dtype) != "i":
        return None
    one, other = got[places].astype(object), wanted[places].astype(object)
    ends = np.iinfo(got.dtype)
    for name, digits in (("float64", 53), ("float32", 24), ("float16", 11)):
        fits = [
            g in (ends.min, ends.max, 0) or 2**digits * abs(g - w) <= 2 * e.size * abs(w)
            for g, w in zip(one, other, strict=True)
        ]
        if all(fits) and all(abs(w) > 2**digits for w in other):
            return f"{e.where(places)}: integers passed through {name}, which has {digits} digits"
    return None


def imprecise(e: Evidence, rank: int) -> str | None:
    """Within the bound of a narrower dtype's roundings."""
    parts, places = e.parts(rank), e.wrong[rank]
    if e.probe not in ("rough", "coded") or kind(parts.dtype) != "f":
        return None
    if e.call.op not in ("sum", "avg", "prod"):
        return None
    got = e.got(rank)[places].astype(np.float64)
    exact, scale = _exact_and_scale(e.call.op, parts[:, places])
    names = _NARROWER.get(parts.dtype.name, ())
    for name in sorted(names, key=lambda name: not _are_numbers_of(dtype_named(name), got)):
        dtype = dtype_named(name)
        near, beyond = _rounded_in(dtype, got, exact, scale, len(parts))
        if not (near | beyond).all():
            continue
        if near.all() and _too_little(dtype, got, exact, scale):
            continue  # rounded in that dtype it would be off by far more
        if not near.any():
            return f"{e.where(places)}: beyond the range of {name}, in which it was kept"
        off = np.abs(got - exact) / np.where(scale == 0, 1, scale)
        worst = f"off by up to {np.max(off[near]):.1e} of the sum of magnitudes"
        if e.probe == "rough" or _are_numbers_of(dtype, got):
            return f"{e.where(places)}: accumulated in {name}, not {parts.dtype.name}: {worst}"
        return (
            f"{e.where(places)}: rounded on the way, as to {name} or with a common scale: {worst}"
        )
    return None


def _too_little(dtype: np.dtype[Any], got: Array, exact: Array, scale: Array) -> bool:
    """Whether all are off by less than a sixteenth of one rounding in the dtype."""
    off = np.abs(got - exact) / np.where(scale == 0, 1, scale)
    return bool(np.max(off) < (roundings(dtype, 1) / 16))


def _are_numbers_of(dtype: np.dtype[Any], values: Array) -> bool:
    with np.errstate(all="ignore"):
        return bool((values.astype(dtype).astype(values.dtype) == values).mean() > 0.9)


_NARROWER = {
    "float64": ("float32", "float16", "bfloat16"),
    "float32": ("float16", "bfloat16"),
    "float16": ("bfloat16", "float8_e4m3fn", "float8_e5m2"),
    "bfloat16": ("float8_e4m3fn", "float8_e5m2"),
}


def _rounded_in(
    dtype: np.dtype[Any], got: Array, exact: Array, scale: Array, ranks: int
) -> tuple[Array, Array]:
    """Where rounding each input and each partial sum to the dtype explains the error, and where
    its range does: half a subnormal each time is lost below, anything above."""
    import ml_dtypes

    info: Any = ml_dtypes.finfo(dtype)  # type: ignore[no-untyped-call]
    least, most = float(info.smallest_subnormal), float(info.max)
    with np.errstate(all="ignore"):
        near = np.abs(got - exact) <= roundings(dtype, 2 * ranks) * scale + ranks * least
    beyond = (scale >= most / 2) & (~np.isfinite(got) | (np.abs(got) >= most / 2))
    return near, beyond


def common_scale(e: Evidence, rank: int) -> str | None:
    """Errors that go with the largest value around, not with the element's own."""
    parts, places = e.parts(rank), e.wrong[rank]
    if e.probe not in ("rough", "coded") or kind(parts.dtype) != "f" or len(places) < 2:
        return None
    if e.call.op not in ("sum", "avg"):
        return None
    exact, scale = _exact_and_scale(e.call.op, parts)
    error = np.abs(e.got(rank).astype(np.float64) - exact)[places]
    for bits in (16, 8, 4):
        if (error <= len(parts) * np.max(scale) / 2**bits).all():
            return (
                f"{e.where(places)}: off by up to {np.max(error) / np.max(scale):.1e} of the "
                f"largest value: values carried with a common scale, in {bits} bits"
            )
    return None


def _exact_and_scale(op: str, parts: Array) -> tuple[Array, Array]:
    if op == "prod":
        exact = np.multiply.reduce(parts.astype(np.float64), axis=0)
        return exact, np.abs(exact)
    exact, absolute = total(parts)[0], magnitudes(parts)
    size = len(parts) if op == "avg" else 1
    return exact / size, absolute / size


LOSSES: Sequence[Callable[[Evidence, int], str | None]] = (
    flushed, whole_numbers, divided_often, through_floats,
)  # fmt: skip
"""Asked at once."""
ROUNDINGS: Sequence[Callable[[Evidence, int], str | None]] = (imprecise, common_scale)
"""Asked when no rank is missing or doubled: with so wide bounds they explain too much."""
