"""Inputs by what is in them: a design a bug class, or a few that go together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from refcoll.operators import Array
from refcoll.oracle.calls import Call
from refcoll.oracle.probes import inputs
from refcoll.oracle.vectors.encoding import MATRIX, STRING
from refcoll.oracle.vectors.floats import cancelling, nearly_overflowing, overflowing, special
from refcoll.oracle.vectors.integers import long, powers, wrapping
from refcoll.oracle.vectors.ordered import matrices, strings
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


OF_FLOATS = (
    Design("powers", powers, ("sum",), ("RankMissing", "RankDoubled"), "rank r puts in 4^r"),
    Design("rough", _probe("rough"), ("sum", "avg", "prod"), ("NarrowAccumulator",),
           "magnitudes differ by up to the precision", bounded=True),
    Design("cancelling", cancelling, ("sum",), ("Cancellation",),
           "rank i mod N has a large number, the next its opposite", bounded=True),
    Design("special", special, ("sum", "min", "max"),
           ("NaNOnEachRank", "InfinityOnEachRank", "OppositeInfinities", "SignedZeros"),
           "by elements: NaN, inf, inf with -inf, zeros of both signs; on each rank in turn"),
    Design("tiny", _probe("tiny"), ("sum", "max"), ("Subnormal",),
           "small multiples of the least subnormal number"),
    Design("overflowing", overflowing, ("sum",), ("Overflow",),
           "the largest number, on all ranks"),
    Design("nearly", nearly_overflowing, ("sum",), ("NearOverflow",),
           "a power of two, of which N just fit"),
)  # fmt: skip
OF_INTEGERS = (
    Design("powers", powers, ("sum",), ("RankMissing", "RankDoubled"), "rank r puts in 4^r"),
    Design("extremes", _probe("extremes"), ("sum", "min", "max"), ("SignedExtremes",),
           "around the sign bit; the sum fits"),
    Design("wrapping", wrapping, ("sum",), ("WrapAround",), "modulo 2^bits"),
    Design("long", long, ("sum",), ("IntegerBeyondDouble",), "more than 53 bits"),
)  # fmt: skip
OF_ORDER = (
    Design("ordered", matrices, ("matmul",), ("NonCommutative",),
           "matrices a b c d for rows (a b) and (c d), multiplied in rank order", dtype=MATRIX),
    Design("ordered", strings, ("concatenate",), ("NonCommutative",),
           "letters, joined in rank order", dtype=STRING),
)  # fmt: skip
