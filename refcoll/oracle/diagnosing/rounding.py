"""Hypotheses about rounding: once too often, in too narrow a dtype, or with a common scale."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from refcoll.operators import Array, kind
from refcoll.oracle.bounds import magnitudes, roundings
from refcoll.oracle.diagnosing.evidence import Evidence
from refcoll.oracle.doubled import complex_product, product, total
from refcoll.oracle.floats import info, ordinals, real_parts
from refcoll.testing.values import dtype_named

ROUNDING = ("sum", "avg", "prod")
_NARROWER = {
    "float64": ("float32", "float16", "bfloat16"),
    "float32": ("float16", "bfloat16"),
    "float16": ("bfloat16", "float8_e4m3fn", "float8_e5m2"),
    "bfloat16": ("float8_e4m3fn", "float8_e5m2"),
    "complex128": ("complex64", "float16", "bfloat16"),
    "complex64": ("float16", "bfloat16"),
}


def last_place(e: Evidence, rank: int) -> str | None:
    """Each wrong element, or part of a complex one, next to what is right."""
    places = e.wrong[rank]
    got, wanted = (real_parts(x[places]) for x in (e.got(rank), e.wanted(rank)))
    if kind(got.dtype) != "f" or not np.isfinite(np.stack([got, wanted]).astype(np.float64)).all():
        return None
    off = ordinals(got) - ordinals(wanted)
    if (np.abs(off) > 1).any():
        return None
    first = f"{e.got(rank)[places[0]]!s}, not {e.wanted(rank)[places[0]]!s}"
    return (
        f"{e.where(places)}: differs by one unit in the last place{_way(off, wanted)}; the first "
        f"is {first}: rounded once too often, or the wrong way"
    )


def _way(off: Array, wanted: Array) -> str:
    outwards = off * np.where(wanted < 0, -1, 1)
    ways = {"too high": off, "too low": -off, "away from zero": outwards, "towards zero": -outwards}
    return next((f", {said}" for said, by in ways.items() if (by >= 0).all()), "")


def cut(e: Evidence, rank: int) -> str | None:
    """Within the bound of roundings twice as large, which cutting makes, and nearer to zero."""
    parts, got = e.parts(rank), e.got(rank)
    if e.probe != "rough" or e.call.op != "sum" or kind(got.dtype) != "f":
        return None
    exact, scale = _exact_and_scale("sum", parts)
    off = got.astype(np.float64) - exact
    near = np.abs(off) <= roundings(got.dtype, 2 * (len(parts) - 1)) * scale
    towards_zero = (off * exact < 0)[off != 0]
    if not near[e.wrong[rank]].all() or len(towards_zero) < _MANY or towards_zero.mean() < _MOST:
        return None
    return (
        f"{e.where(e.wrong[rank])}: beyond what rounding explains, and "
        f"{100 * towards_zero.mean():.0f} % of all sums are too near to zero: cut, not rounded"
    )


_MANY, _MOST = 20, 0.75
"""Sums that are not exact, and the share of those that are too near to zero: half by chance.

Of 20 fair coins 15 show heads once in 50 times; but here, too, sums are beyond the bound.
"""


def imprecise(e: Evidence, rank: int) -> str | None:
    """Within the bound of a narrower dtype's roundings."""
    parts, places = e.parts(rank)[:, e.wrong[rank]], e.wrong[rank]
    if not _rounds(e) or kind(parts.dtype) not in "fc":
        return None
    got = e.got(rank)[places].astype(np.complex128 if parts.dtype.kind == "c" else np.float64)
    exact, scale = _exact_and_scale(str(e.call.op), parts)
    names = _NARROWER.get(parts.dtype.name, ())
    for name in sorted(names, key=lambda name: not _are_numbers_of(name, got)):
        near, beyond = _rounded_in(name, got, exact, scale, len(parts))
        if not (near | beyond).all():
            continue
        off = np.abs(got - exact) / np.where(scale == 0, 1, scale)
        if near.all() and np.max(off) < roundings(_part(name), 1) / 16:
            continue  # rounded in that dtype it would be off by far more
        if not near.any():
            if not _in_range(name, e.wanted(rank)[e.right(rank)]):
                continue  # right ones are as large
            return f"{e.where(places)}: beyond the range of {name}, in which it was kept"
        worst = f"off by up to {np.max(off[near]):.1e} of the sum of magnitudes"
        if _are_numbers_of(name, got):
            return f"{e.where(places)}: accumulated in {name}, not {parts.dtype.name}: {worst}"
        return (
            f"{e.where(places)}: rounded on the way, as to {name} or with a common scale: {worst}"
        )
    return None


def _in_range(name: str, values: Array) -> bool:
    most = float(info(_part(name)).max)
    return bool((np.abs(real_parts(values).astype(np.float64)) <= most).all())


def _rounds(e: Evidence) -> bool:
    return e.probe in ("rough", "coded") and e.call.op in ROUNDING


def _part(name: str) -> np.dtype[Any]:
    return np.zeros(0, dtype_named(name)).real.dtype


def _are_numbers_of(name: str, values: Array) -> bool:
    parts = real_parts(values)
    with np.errstate(all="ignore"):
        return bool((parts.astype(_part(name)).astype(parts.dtype) == parts).mean() > 0.9)


def _rounded_in(
    name: str, got: Array, exact: Array, scale: Array, ranks: int
) -> tuple[Array, Array]:
    """Where rounding each input and each partial result to the dtype explains the error, and where
    its range does: half a subnormal each time is lost below, anything above."""
    known, times = info(_part(name)), 6 * ranks if got.dtype.kind == "c" else 2 * ranks
    least, most = float(known.smallest_subnormal), float(known.max)
    with np.errstate(all="ignore"):
        near = np.abs(got - exact) <= roundings(_part(name), times) * scale + ranks * least
        beyond = (scale >= most / 2) & (~np.isfinite(got) | (np.abs(got) == most))
    return near, beyond


def common_scale(e: Evidence, rank: int) -> str | None:
    """Errors that go with the largest value around, not with the element's own."""
    parts, places = e.parts(rank), e.wrong[rank]
    if not _rounds(e) or kind(parts.dtype) not in "fc" or len(places) < 2 or e.call.op == "prod":
        return None
    exact, scale = _exact_and_scale(str(e.call.op), parts)
    error = np.abs(e.got(rank).astype(exact.dtype) - exact)[places]
    for bits in (16, 8, 4):
        if (error <= len(parts) * np.max(scale) / 2**bits).all():
            return (
                f"{e.where(places)}: off by up to {np.max(error) / np.max(scale):.1e} of the "
                f"largest value: values carried with a common scale, in {bits} bits"
            )
    return None


def _exact_and_scale(op: str, parts: Array) -> tuple[Array, Array]:
    """By column the exact result, rounded to float64, and what an error is to be compared with."""
    if op == "prod":
        exact = _exact_product(parts)
        return exact, np.abs(exact)
    size = len(parts) if op == "avg" else 1
    return _exact_sum(parts) / size, magnitudes(parts) / size


def _exact_product(parts: Array) -> Array:
    if parts.dtype.kind != "c":
        return product(parts)[0]
    (real, _), (imaginary, _) = complex_product(parts)
    return np.asarray(real + 1j * imaginary)


def _exact_sum(parts: Array) -> Array:
    if parts.dtype.kind != "c":
        return total(parts)[0]
    return np.asarray(total(parts.real)[0] + 1j * total(parts.imag)[0])


ROUNDINGS: Sequence[Callable[[Evidence, int], str | None]] = (
    last_place,
    cut,
    imprecise,
    common_scale,
)
"""Asked when no rank is missing or doubled: with so wide bounds they explain too much."""
