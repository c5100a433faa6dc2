"""Hypotheses about what merging did: another operator, another factor, another rule."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from refcoll.operators import Array, kind
from refcoll.oracle.bounds import roundings
from refcoll.oracle.diagnosing.evidence import Evidence
from refcoll.oracle.floats import real_parts
from refcoll.oracle.merging import ignoring_nan, is_nan, merged
from refcoll.testing.values import MERGES
from refcoll.words import ranked


def scaled(e: Evidence, rank: int) -> str | None:
    """A constant times what is right: the sum for the mean, divided twice, ..."""
    if e.call.op not in ("sum", "avg") or e.probe in ("special", "extremes"):
        return None  # factors of what is not finite, or wraps, say nothing
    places = e.wrong[rank]
    ratio = _ratio(*(x[places].astype(np.complex128) for x in (e.got(rank), e.wanted(rank))))
    if ratio is None or _is_rounding(ratio - 1, e.got(rank)):
        return None
    factors = _factors(e.call.op, len(e.parts(rank)), e.call.count)
    fits = [said for factor, said in factors if abs(ratio - factor) <= 0.002 * abs(factor)]
    if fits:
        return f"{e.where(places)}: {', or '.join(fits[:2])}"
    if len(places) < 3:
        return None
    return f"{e.where(places)}: {ratio:.6g} times what is right: multiplied once too often"


def _is_rounding(off: float, got: Array) -> bool:
    """Whether so little is a few roundings in the dtype; ratios themselves are doubles."""
    dtype = got.real.dtype if kind(got.dtype) in "fc" else np.dtype(np.float64)
    return abs(off) < roundings(dtype, 4)


def _ratio(got: Array, wanted: Array) -> float | None:
    """got / wanted, if that is one real number for all of them."""
    with np.errstate(all="ignore"):
        some = wanted != 0
        if not some.any() or (got[~some] != 0).any() or not np.isfinite(got).all():
            return None
        ratios = got[some] / wanted[some]
        middle = float(np.median(ratios.real))
        constant = np.abs(got[some] - middle * wanted[some]) <= 0.01 * np.abs(got[some])
    precise = np.abs(ratios - middle) <= abs(1 - middle) / 4
    # Narrow floats round ratios; a few large elements show the number best.
    return middle if middle and constant.all() and precise.mean() > 0.5 else None


def _factors(op: str, n: int, count: int) -> Iterator[tuple[float, str]]:
    if op == "avg":
        yield n, "the sum, not the mean: never divided by N"
        yield 1 / n, "divided by N twice"
        yield n / max(count, 1), f"divided by the number of elements, {count}, not by N = {n}"
    else:
        yield 1 / n, "the mean, not the sum: divided by N"
    if n != 2:
        yield 2, "twice what is right"
    yield -1, "of the opposite sign"
    for group in (group for group in range(2, 17) if group not in (n, count / n)):
        yield 1 / group, f"divided by {group} once too often, as by the size of a group of ranks"


def other_operator(e: Evidence, rank: int) -> str | None:
    """What another operator gives."""
    parts = e.parts(rank)
    for op in MERGES:
        if op in (e.call.op, "avg") or not _defined(op, kind(parts.dtype)):
            continue
        with np.errstate(all="ignore"):
            other = merged(op, parts).astype(parts.dtype)
        if e.equal(rank, other, everywhere=e.few(rank)):
            return f"{e.where(e.wrong[rank])}: the {_NAMES.get(op, op)}, not the {e.call.op}"
    return None


_NAMES = {"min": "minimum", "max": "maximum", "prod": "product"}


def _defined(op: str, of: str) -> bool:
    if op.startswith(("bitwise", "logical")):
        return of in "ib"
    return of != "b" if op in ("sum", "prod") else of != "c"


def signedness(e: Evidence, rank: int) -> str | None:
    """Unsigned integers compared as signed ones, or the other way round.

    Asked early: a wrong extreme is somebody's input, too.
    """
    parts = e.parts(rank)
    if parts.dtype.kind not in "iu" or e.call.op not in ("min", "max"):
        return None
    taken = np.dtype(("i" if parts.dtype.kind == "u" else "u") + str(parts.dtype.itemsize))
    other = MERGES[e.call.op](parts.view(taken)).view(parts.dtype)
    if not e.equal(rank, other):
        return None
    return f"{e.where(e.wrong[rank])}: {parts.dtype} compared as {taken}"


def saturated(e: Evidence, rank: int) -> str | None:
    """The largest or smallest value, where that is not the sum; or that of the signed type."""
    dtype, got = e.got(rank).dtype, e.got(rank)[e.wrong[rank]]
    if dtype.kind not in "iu" or e.call.op not in ("sum", "prod"):
        return None
    for taken in (dtype, np.dtype(f"i{dtype.itemsize}")):
        info = np.iinfo(taken)
        if np.isin(got.astype(object), [info.max, info.min]).all():
            return f"{e.where(e.wrong[rank])}: saturated at the end of the range of {taken}"
    return None


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
    what = "infinite" if np.isinf(wanted.astype(np.float64)).any() else "infinity minus infinity"
    return f"{e.where(e.wrong[rank])}: {what}, but came out as {', '.join(shown[:3])}"


def part_by_part(e: Evidence, rank: int) -> str | None:
    """Complex numbers multiplied as pairs."""
    parts = e.parts(rank)
    if kind(parts.dtype) != "c" or e.call.op != "prod":
        return None
    other = MERGES["prod"](parts.real) + 1j * MERGES["prod"](parts.imag)
    if not e.equal(rank, other):
        return None
    return f"{e.where(e.wrong[rank])}: complex numbers multiplied part by part"


def magnitudes(e: Evidence, rank: int) -> str | None:
    """The extreme of magnitudes."""
    parts = e.parts(rank)
    if e.call.op not in ("min", "max") or kind(parts.dtype) not in "if":
        return None
    wide = np.abs(parts.astype(np.float64))
    chosen = (np.argmin if e.call.op == "min" else np.argmax)(wide, axis=0)
    found = np.take_along_axis(parts, chosen[None], axis=0)[0]
    if not e.equal(rank, found):
        return None
    return f"{e.where(e.wrong[rank])}: the {_NAMES[e.call.op]} by magnitude, not by value"


MEANINGS: Sequence[Callable[[Evidence, int], str | None]] = (
    saturated, scaled, magnitudes, other_operator, part_by_part,
)  # fmt: skip
