"""Hypotheses about what merging did: another operator, another factor, another rule."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from refcoll.operators import Array, kind
from refcoll.oracle.bounds import roundings
from refcoll.oracle.diagnosing.evidence import Evidence
from refcoll.oracle.merging import merged
from refcoll.testing.values import MERGES


def scaled(e: Evidence, rank: int) -> str | None:
    """A constant times what is right: the sum for the mean, divided twice, ..."""
    if e.call.op not in ("sum", "avg") or e.probe in ("special", "extremes"):
        return None  # factors of what is not finite, or wraps, say nothing
    places = e.wrong[rank]
    times = ratio(*(x[places].astype(np.complex128) for x in (e.got(rank), e.wanted(rank))))
    if times is None or abs(times - 1) < _NO_FACTOR or _is_rounding(times - 1, e.got(rank)):
        return None
    factors = _factors(e.call.op, len(e.parts(rank)), e.call.count)
    fits = [said for factor, said in factors if abs(times - factor) <= 0.002 * abs(factor)]
    if fits:
        return f"{e.where(places)}: {', or '.join(fits[:2])}"
    if len(places) < 3:
        return None
    return f"{e.where(places)}: {times:.6g} times what is right: multiplied once too often"


_NO_FACTOR = 1e-5
"""So close to 1 nothing is multiplied by."""


def _is_rounding(off: float, got: Array) -> bool:
    """Whether so little is a few roundings in the dtype; ratios themselves are doubles."""
    dtype = got.real.dtype if kind(got.dtype) in "fc" else np.dtype(np.float64)
    return abs(off) < roundings(dtype, 4)


def ratio(got: Array, wanted: Array) -> float | None:
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
        if n > 2:
            yield n / (n - 1), f"divided by N - 1, which is {n - 1}, not by N"
        yield n / (n + 1), f"divided by N + 1, which is {n + 1}, not by N"
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
        if e.explains(rank, other):
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
    if not e.explains(rank, other):
        return None
    return f"{e.where(e.wrong[rank])}: {parts.dtype} compared as {taken}"


def saturated(e: Evidence, rank: int) -> str | None:
    """The largest or smallest value, where the sum is beyond it; or that of the signed type.

    Asked early: few values are those of something else by chance.
    """
    places, dtype = e.wrong[rank], e.got(rank).dtype
    if dtype.kind not in "iu" or e.call.op not in ("sum", "prod"):
        return None
    exact = MERGES[e.call.op](e.parts(rank)[:, places[:_ENOUGH]].astype(object))
    for taken in (dtype, np.dtype(f"i{dtype.itemsize}")):
        info = np.iinfo(taken)
        ended = {*e.got(rank)[places].tolist()} <= {int(info.max), int(info.min)}
        if ended and all(not info.min <= int(each) <= info.max for each in exact):
            return f"{e.where(places)}: saturated at the end of the range of {taken}"
    return None


_ENOUGH = 1000
"""Elements of which the sum is made in Python's integers."""


def clamped(e: Evidence, rank: int) -> str | None:
    """All that is beyond some number is that number, and nothing else is wrong."""
    places, right = e.wrong[rank], e.right(rank)
    if kind(e.got(rank).dtype) not in "if" or e.probe == "special":
        return None
    got, wanted = (x.astype(np.float64) for x in (e.got(rank), e.wanted(rank)))
    most = float(np.abs(got[places]).max())
    if len(np.unique(wanted[places])) < 3 or not 0 < most < np.inf:
        return None
    cut = (got[places] == np.sign(wanted[places]) * most) & (np.abs(wanted[places]) > most)
    if not cut.all() or (np.abs(got[right]) > most).any():
        return None
    return f"{e.where(places)}: clamped to {-most:g} to {most:g}"


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
    clamped, scaled, magnitudes, other_operator, part_by_part,
)  # fmt: skip
