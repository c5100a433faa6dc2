"""A hypothesis: of complex numbers one part is right, and the other is not."""

from __future__ import annotations

import numpy as np

from refcoll.operators import Array, kind
from refcoll.oracle.bounds import magnitudes, roundings
from refcoll.oracle.diagnosing.evidence import Evidence
from refcoll.oracle.diagnosing.meanings import ratio


def one_part(e: Evidence, rank: int) -> str | None:
    """Which part is wrong, and whether it is a multiple of what is right, or not merged."""
    if kind(e.got(rank).dtype) != "c" or e.call.op not in ("sum", "avg") or e.probe != "coded":
        return None
    real, imaginary = (_differs(e, rank, part) for part in ("real", "imag"))
    if real.any() == imaginary.any() or (real | imaginary).mean() < 1:
        return None
    part, right, wrong = (
        ("real", "imaginary", "real") if real.any() else ("imag", "real", "imaginary")
    )
    what = _what(e, rank, part)
    return f"{e.where(e.wrong[rank])}: the {right} parts are right, the {wrong} ones {what}"


def _differs(e: Evidence, rank: int, part: str) -> Array:
    """Where the part is wrong, of wrong elements."""
    places, rows = e.wrong[rank], getattr(e.parts(rank), part)
    most = roundings(rows.dtype, e.size + 1) * magnitudes(rows)[places]
    got, wanted = (
        getattr(x[places], part).astype(np.float64) for x in (e.got(rank), e.wanted(rank))
    )
    return np.asarray(~(np.abs(got - wanted) <= most))


def _what(e: Evidence, rank: int, part: str) -> str:
    places = e.wrong[rank]
    got, wanted = (getattr(x[places], part) for x in (e.got(rank), e.wanted(rank)))
    times = ratio(got.astype(np.complex128), wanted.astype(np.complex128))
    if times is not None and len(places) > 1:
        return f"{times:.6g} times what is right"
    for source, row in enumerate(getattr(e.parts(rank)[:, places], part)):
        if (row == got).all():
            return f"rank {source}'s alone, nothing merged into them"
    return "are not"
