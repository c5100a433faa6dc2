"""Mutants that keep, or carry, values in too little precision."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from refcoll.operators import Array, kind
from refcoll.oracle.mutants.mutant import Faulty, ShowsAt, mutants
from refcoll.testing.values import dtype_named


class _Through(Faulty):
    """Every message of the first half passes through another dtype."""

    through: str

    def around(self, chunks: Sequence[Array], op: str) -> None:
        super().around(chunks, op)
        mine = chunks[self.owned()]
        mine[:] = self._rounded(mine)

    def swap(self, values: Array, to: int, source: int, count: int | None = None) -> Array:
        return super().swap(self._rounded(values), to, source, count)

    def _rounded(self, values: Array) -> Array:
        with np.errstate(all="ignore"):
            return values.astype(dtype_named(self.through)).astype(values.dtype)


class Bfloat16PerHop(_Through):
    """float32 travels as bfloat16 (as users of NVIDIA/nccl#1026 suspected)."""

    shows_at = ShowsAt("all_reduce", dtypes=("float32",), operators=("sum",))
    says, through = "accumulated in bfloat16", "bfloat16"


class Float16PerHop(_Through):
    """float32 travels as float16."""

    shows_at = ShowsAt("reduce_scatter", dtypes=("float32",), operators=("sum",))
    says, through = "(accumulated in|range of) float16", "float16"


class Float32ForFloat64(_Through):
    """float64 is summed in float32."""

    shows_at = ShowsAt("all_reduce", dtypes=("float64",), operators=("sum",))
    says, through = "accumulated in float32", "float32"


class Float8ForBfloat16(_Through):
    """bfloat16 travels in eight bits."""

    shows_at = ShowsAt("all_reduce", dtypes=("bfloat16",), operators=("sum",))
    says, through = "float8", "float8_e4m3fn"


class IntegersThroughFloats(_Through):
    """Integers are added as float64, or int32 as float32."""

    shows_at = ShowsAt("all_reduce", dtypes=("int64", "uint64"), operators=("sum", "max"))
    says, through = "passed through float64", "float64"


class ShortIntegersThroughFloats(_Through):
    """int32 is added as float32, which has 24 digits."""

    shows_at = ShowsAt("reduce_scatter", dtypes=("int32",), operators=("sum", "max"))
    says, through = "passed through float32", "float32"


class FlushToZero(Faulty):
    """Adding flushes subnormal results to zero."""

    shows_at = ShowsAt("all_reduce", dtypes=("float32",), operators=("sum",))
    says = "subnormal, and flushed to zero"

    def merge(self, op: str, left: Array, right: Array) -> None:
        super().merge(op, left, right)
        with np.errstate(all="ignore"):
            left[np.abs(left) < np.finfo(left.dtype).tiny] = 0


class InfinityClamped(Faulty):
    """Conversions saturate: infinity becomes the largest number."""

    shows_at = ShowsAt("reduce", dtypes=("float32",), operators=("sum", "max"))
    says = "infinite, but came out"

    def merge(self, op: str, left: Array, right: Array) -> None:
        super().merge(op, left, right)
        most = np.finfo(left.dtype).max
        np.clip(left, -most, most, out=left)


class BroadcastBySum(Faulty):
    """Broadcast adds the root's values to zeros: -0.0 becomes 0.0."""

    shows_at = ShowsAt("broadcast", dtypes=("float16", "float32"), counts="with a -0.0")
    says = "the sign of zero lost"

    def broadcast(self, x: Array | None, out: Array, root: int) -> None:
        super().broadcast(x, out, root)
        if out.dtype.kind == "f":
            zero = out == 0
            out[zero] = out[zero] + out.dtype.type(0)


class PayloadLost(Faulty):
    """Gathered floats pass through a register as numbers: a NaN keeps no payload."""

    shows_at = ShowsAt("all_gather", dtypes=("float16", "float32"), counts="with a NaN")
    says = "the payload of NaNs lost"

    def store(self, values: Array, out: Array) -> None:
        out[:] = values
        if kind(out.dtype) == "f":
            out[out != out] = np.nan


class ProductByLogarithms(Faulty):
    """The product is the exponential of a sum of logarithms, in single precision."""

    shows_at = ShowsAt("reduce", dtypes=("float64",), operators=("prod",))
    says = "accumulated in float32"

    def merge(self, op: str, left: Array, right: Array) -> None:
        sign = np.sign(left) * np.sign(right)
        logs = np.log(np.abs(left).astype(np.float32)) + np.log(np.abs(right).astype(np.float32))
        left[:] = sign * np.exp(logs)


class QuantisedBlocks(Faulty):
    """Blocks travel as eight-bit integers with a common scale."""

    shows_at = ShowsAt("all_reduce", dtypes=("float32",), operators=("sum",))
    says = "common scale"

    def swap(self, values: Array, to: int, source: int, count: int | None = None) -> Array:
        with np.errstate(all="ignore"):
            scale = np.max(np.abs(values), initial=0) / 127
            sent = np.rint(values / scale) * scale if scale > 0 else values
        return super().swap(sent.astype(values.dtype), to, source, count)


class NarrowMean(Faulty):
    """The mean multiplies by 1/N as a float16."""

    shows_at = ShowsAt("all_reduce", size=3, dtypes=("float32",), operators=("avg",))
    says = r"times|divided by|multiplied"

    def finish(self, op: str, values: Array) -> None:
        if op == "avg":
            values *= np.float32(np.float16(1 / self.size))


MUTANTS = mutants(
    "precision", Bfloat16PerHop, Float16PerHop, Float32ForFloat64, Float8ForBfloat16,
    IntegersThroughFloats, ShortIntegersThroughFloats, FlushToZero, InfinityClamped,
    BroadcastBySum, PayloadLost, ProductByLogarithms, QuantisedBlocks, NarrowMean,
)  # fmt: skip
