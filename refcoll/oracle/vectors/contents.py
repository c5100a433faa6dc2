"""Inputs by what is in them: a design a bug class, or a few that go together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from refcoll.operators import Array
from refcoll.oracle.calls import Call
from refcoll.oracle.probes import inputs
from refcoll.oracle.vectors.encoding import MATRIX, STRING
from refcoll.testing.values import dtype_named

FLOATS = ("float16", "bfloat16", "float32", "float64")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
Maker = Callable[[Call, int, int], "list[Array] | None"]
"""All ranks' inputs from call, number of ranks and seed; None where there is nothing to find."""


@dataclass(frozen=True)
class Design:
    """One kind of inputs."""

    name: str
    make: Maker
    operators: Sequence[str]
    said: Sequence[str]
    comment: str
    bounded: bool = False
    """Whether results are rounded, so that a bound, not a value, is right."""
    dtype: str | None = None
    """Where it is but one."""

    def compare(self, op: str) -> str:
        """How results are held to what is right."""
        if self.bounded:
            return "interval"
        return "either" if self.name == "special" and op in ("min", "max") else "equal"

    def count(self, call: Call, size: int) -> int:
        """Elements: the special ones need some for each rank."""
        if self.name != "special":
            return call.count
        return 4 if call.collective == "reduce_scatter" else 4 * size

    def flags(self, call: Call) -> list[str]:
        """Which bugs it finds in this call."""
        renamed = {}
        if call.op in ("min", "max"):
            # Infinities of both signs are a trap for sums only.
            renamed = {"NaNOnEachRank": "NaNInMinMax", "OppositeInfinities": "InfinityOnEachRank"}
        if np.dtype(dtype_named(call.dtype) if self.dtype is None else "i8").kind == "u":
            renamed["SignedExtremes"] = "UnsignedExtremes"
        return [renamed.get(flag, flag) for flag in self.said]


def _probe(name: str) -> Maker:
    return lambda call, size, seed: inputs(name, call, size, seed)


def _special(call: Call, size: int, seed: int) -> list[Array]:
    """NaN, infinities, inf - inf, and zeros: four kinds of elements for each rank.

    Of the probe's six kinds two say no more: -inf alone, and zeros that are all negative.  In
    a reduce-scatter part r has those elements whose odd value is on rank r.
    """
    scattered = call.collective == "reduce_scatter"
    given = inputs("special", replace(call, count=6 * size), size, seed)
    place = np.arange(given[0].size)
    chosen = np.isin(place % 6, (0, 1, 3, 5))
    if scattered:
        chosen &= place % (6 * size) // 6 == place // (6 * size)
    return [each[chosen] for each in given]


def _powers(call: Call, size: int, seed: int) -> list[Array] | None:
    """Rank r puts in 4^r."""
    if 4**size >= 2**24 or call.dtype not in ("float32", "int32", "int64", "float64"):
        return None
    lengths = [call.input_length(rank, size) for rank in range(size)]
    return [np.full(lengths[r], 4**r, dtype_named(call.dtype)) for r in range(size)]


def _cancelling(call: Call, size: int, seed: int) -> list[Array] | None:
    """In element i rank i mod N has a large number, and the next rank its opposite."""
    if size < 2:
        return None
    given = inputs("rough", call, size, seed + 1)
    digits = {"float16": 11, "bfloat16": 8, "float32": 24}.get(call.dtype, 53)
    large, place = 2.0 ** (digits // 2), np.arange(given[0].size) % size
    return [
        (x.astype(np.float64) / 4 + large * (place == r) - large * ((place + 1) % size == r)).astype(
            x.dtype
        )
        for r, x in enumerate(given)
    ]


def _overflowing(call: Call, size: int, seed: int) -> list[Array] | None:
    """Everyone has the largest number, of a sign that depends on the element."""
    if size < 2:
        return None
    return _alike(call, size, float(_info(call.dtype).max))


def _nearly_overflowing(call: Call, size: int, seed: int) -> list[Array]:
    """Powers of two of which N are no more than the largest one."""
    power = int(np.log2(float(_info(call.dtype).max))) - (size - 1).bit_length()
    return _alike(call, size, 2.0 ** min(power, 1023))


def _alike(call: Call, size: int, value: float) -> list[Array]:
    lengths = [call.input_length(rank, size) for rank in range(size)]
    signs = [np.where(np.arange(length) % 2, -1.0, 1.0) for length in lengths]
    return [(value * each).astype(dtype_named(call.dtype)) for each in signs]


def _info(dtype: str) -> Any:
    import ml_dtypes

    return ml_dtypes.finfo(dtype_named(dtype))  # type: ignore[no-untyped-call]


def _wrapping(call: Call, size: int, seed: int) -> list[Array] | None:
    """The upper half of the range; signed overflow is an error in C, so nothing is said of it."""
    if not call.dtype.startswith("u") or size < 2:
        return None
    return _integers(call, size, seed, int(np.iinfo(call.dtype).max) // 2 + 1, 1.0)


def _long(call: Call, size: int, seed: int) -> list[Array] | None:
    """Odd numbers of 57 bits or so, that sum to less than 2^63."""
    if not call.dtype.endswith("int64"):
        return None
    return [x | 1 for x in _integers(call, size, seed, 2**62 // size, 0.25)]


def _integers(call: Call, size: int, seed: int, least: int, spread: float) -> list[Array]:
    lengths = [call.input_length(rank, size) for rank in range(size)]
    width = int(least * spread)
    make = [np.random.default_rng([seed, rank, least % 2**32]) for rank in range(size)]
    return [
        (least + make[r].integers(0, width, lengths[r], dtype=np.uint64)).astype(call.dtype)
        for r in range(size)
    ]


def _matrices(call: Call, size: int, seed: int) -> list[Array]:
    """Entries 0, 1 and 2, not two of which products commute as a rule."""
    lengths = [call.input_length(rank, size) for rank in range(size)]
    make = [np.random.default_rng([seed, rank]) for rank in range(size)]
    upper = [m.integers(1, 3, (length, 4)) for m, length in zip(make, lengths, strict=True)]
    for rank, each in enumerate(upper):
        each[:, 2 - rank % 2] = 0  # triangular, upper and lower by turns: these never commute
    return upper


def _strings(call: Call, size: int, seed: int) -> list[Array]:
    """One letter each: element i of rank r is the letter r + i, so that "abcd" is right."""
    lengths = [call.input_length(rank, size) for rank in range(size)]
    return [
        np.array([chr(ord("a") + (rank + i) % 26) for i in range(lengths[rank])], "U64")
        for rank in range(size)
    ]


def payloads(call: Call, size: int) -> list[Array]:
    """NaNs with the rank and the element in the payload, signalling and quiet by turns."""
    wide = call.dtype == "float64"
    exponent, shift = (0x7FF << 52, 51) if wide else (0xFF << 23, 22)
    made = []
    for rank in range(size):
        place = np.arange(call.input_length(rank, size))
        raw = exponent + (place % 2 << shift) + rank * 256 + place + 1
        made.append(raw.astype("u8" if wide else "u4").view(call.dtype))
    return made


OF_FLOATS = (
    Design("powers", _powers, ("sum",), ("RankMissing", "RankDoubled"), "rank r puts in 4^r"),
    Design("rough", _probe("rough"), ("sum", "avg", "prod"), ("NarrowAccumulator",),
           "magnitudes differ by up to the precision", bounded=True),
    Design("cancelling", _cancelling, ("sum",), ("Cancellation",),
           "rank i mod N has a large number, the next its opposite", bounded=True),
    Design("special", _special, ("sum", "min", "max"),
           ("NaNOnEachRank", "InfinityOnEachRank", "OppositeInfinities", "SignedZeros"),
           "by elements: NaN, inf, inf with -inf, zeros of both signs; on each rank in turn"),
    Design("tiny", _probe("tiny"), ("sum", "max"), ("Subnormal",),
           "small multiples of the least subnormal number"),
    Design("overflowing", _overflowing, ("sum",), ("Overflow",), "the largest number, on all ranks"),
    Design("nearly", _nearly_overflowing, ("sum",), ("NearOverflow",),
           "a power of two, of which N just fit"),
)  # fmt: skip
OF_INTEGERS = (
    Design("powers", _powers, ("sum",), ("RankMissing", "RankDoubled"), "rank r puts in 4^r"),
    Design("extremes", _probe("extremes"), ("sum", "min", "max"), ("SignedExtremes",),
           "around the sign bit; the sum fits"),
    Design("wrapping", _wrapping, ("sum",), ("WrapAround",), "modulo 2^bits"),
    Design("long", _long, ("sum",), ("IntegerBeyondDouble",), "more than 53 bits"),
)  # fmt: skip
OF_ORDER = (
    Design("ordered", _matrices, ("matmul",), ("NonCommutative",),
           "matrices a b c d for rows (a b) and (c d), multiplied in rank order", dtype=MATRIX),
    Design("ordered", _strings, ("concatenate",), ("NonCommutative",),
           "letters, joined in rank order", dtype=STRING),
)  # fmt: skip
