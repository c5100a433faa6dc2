"""Inputs by design: each kind makes another kind of fault show.

    coded      small whole numbers, another for each rank and element: every order of adding
               is exact, so a wrong rank, element, factor or operator shows
    rough      floats of many magnitudes: a partial sum kept in too little precision shows
    special    NaN, infinities and zeros of both signs, on each rank in turn
    tiny       subnormal floats: flushing to zero shows
    huge       floats at the end of the range: results that overflow, or cancel
    extremes   integers around the sign bit, and unsigned ones that wrap: the wrong signedness,
               or saturation, shows
    bits       any bits at all, for what is only moved

All but rough inputs are exact in any order, for any number of ranks; of an average, what is
divided is.  Inputs follow from (seed, probe, call, rank), so that every rank knows all ranks'
inputs.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from refcoll.operators import Array, kind
from refcoll.oracle.calls import Call
from refcoll.oracle.probing.asked import Asked
from refcoll.oracle.probing.floating import huge, rough, special, tiny
from refcoll.oracle.probing.moved import bits
from refcoll.oracle.probing.whole import coded, extremes
from refcoll.testing.values import dtype_named

_MAKERS: Mapping[str, Callable[[Asked], Array]] = {
    "coded": coded, "rough": rough, "special": special, "tiny": tiny, "huge": huge,
    "extremes": extremes, "bits": bits,
}  # fmt: skip
PROBES = tuple(_MAKERS)

_EVERY_FLOAT = ("rough", "special", "tiny", "huge")
_UNROUNDED = ("special", "tiny", "huge")
_OF: Mapping[str, Mapping[str, Sequence[str]]] = {
    "i": {"sum": ("extremes",), "min": ("extremes",), "max": ("extremes",)},
    "u": dict.fromkeys(("sum", "prod", "min", "max"), ("extremes",)),
    "f": {
        "sum": _EVERY_FLOAT, "prod": _EVERY_FLOAT, "min": _UNROUNDED, "max": _UNROUNDED,
        "avg": ("rough", "special"),  # of right ones the sum may overflow, or a share underflow
    },
    # How infinite numbers multiply, or are divided, is open: in C, too.
    "c": {"sum": _EVERY_FLOAT, "prod": ("rough",), "avg": ("rough",)},
}  # fmt: skip
"""By kind of dtype, u if it is unsigned, and operator, the probes besides coded."""


_LONG = 32 * 1024
"""Bytes from which on lengths are tried, not all kinds of values again."""
_KEPT = 2**20


def probes_for(call: Call) -> list[str]:
    """Those that say something about the call."""
    if call.op is None:
        return ["bits"]
    dtype = dtype_named(call.dtype)
    found = ["coded", *_OF.get(_kind(dtype), {}).get(call.op, [])]
    long = call.count * dtype.itemsize > _LONG
    return [each for each in found if each in ("coded", "rough")] if long else found


def _kind(dtype: np.dtype[Any]) -> str:
    """Unsigned integers wrap; what comes of signed ones that overflow is open, as in C."""
    return "u" if dtype.kind == "u" else kind(dtype)


def inputs(probe: str, call: Call, size: int, seed: int) -> list[Array]:
    """All ranks' inputs, by rank."""
    if size * call.input_length(call.root, size) > _KEPT:
        return _made(probe, call, size, seed)
    return [each.copy() for each in _kept(probe, call, size, seed)]


@lru_cache(maxsize=8)
def _kept(probe: str, call: Call, size: int, seed: int) -> list[Array]:
    """Ranks that are threads ask for the same at about the same time."""
    return _made(probe, call, size, seed)


def _made(probe: str, call: Call, size: int, seed: int) -> list[Array]:
    dtype = dtype_named(call.dtype)
    return [
        _MAKERS[probe](
            Asked(
                call, dtype, call.input_length(rank, size), rank, size,
                np.random.default_rng(_key(seed, probe, call, rank)),
            )
        )
        for rank in range(size)
    ]  # fmt: skip


def _key(seed: int, probe: str, call: Call, rank: int) -> Sequence[int]:
    return seed, zlib.crc32(f"{probe} {call}".encode()), rank
