"""A hypothesis: contributions are left out where they are small, as by sparse all-reduces."""

from __future__ import annotations

import numpy as np

from refcoll.operators import Array, kind
from refcoll.oracle.diagnosing.evidence import Evidence


def small_left_out(e: Evidence, rank: int) -> str | None:
    """In nearly each wrong element the smallest are missing.  Coded floats say so exactly."""
    places, parts = e.wrong[rank], e.parts(rank)
    if e.call.op != "sum" or e.probe != "coded" or kind(parts.dtype) != "f":
        return None
    parts, lost = parts.astype(np.float64), np.zeros(parts.shape, bool)
    got, wanted = (x[places].astype(np.float64) for x in (e.got(rank), e.wanted(rank)))
    lost[:, places] = _smallest_that_sum_to(wanted - got, parts[:, places])
    if lost.any(axis=0).sum() < 0.9 * len(places):
        return None
    most, least = _beside_the_largest(parts, lost)
    if most >= least and e.few(rank):
        return None
    return (
        f"{e.where(places)}: small contributions are left out, as of sparse vectors: those up to "
        f"{most:.2g} times the rank's largest{' and none above' if most < least else ''}"
    )


def _smallest_that_sum_to(missing: Array, parts: Array) -> Array:
    """Which, by column; none, where the smallest, as many as may be, do not."""
    order = np.argsort(np.abs(parts), axis=0)
    fits = np.cumsum(np.take_along_axis(parts, order, axis=0), axis=0) == missing
    smaller = np.argsort(order, axis=0)  # than so many others is each
    return np.asarray(fits.any(axis=0) & (smaller <= np.argmax(fits, axis=0)))


def _beside_the_largest(parts: Array, lost: Array) -> tuple[float, float]:
    """Of each rank's largest: the most that is lost, and the least that is not."""
    size = np.abs(parts)
    share = size / np.maximum(size.max(axis=1, keepdims=True), 1)
    kept = share[~lost & (share > 0)]
    return float(share[lost].max()), float(kept.min(initial=np.inf))
