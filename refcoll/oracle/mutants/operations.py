"""Mutants that merge by another rule than the operator's."""

from __future__ import annotations

import numpy as np

from refcoll.operators import Array
from refcoll.oracle.mutants.mutant import Faulty, ShowsAt, mutants

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
UNSIGNED = INTEGERS[4:]
FLOATS = ("float32", "float64")


class MinimumByLess(Faulty):
    """Minimum is a < b ? a : b: what a NaN does depends on its side (ml-explore/mlx#4072)."""

    shows_at, says = ShowsAt("all_reduce", operators=("min",), dtypes=FLOATS), "NaN on rank"

    def merge(self, op: str, left: Array, right: Array) -> None:
        with np.errstate(all="ignore"):
            left[:] = np.where(left < right, left, right)


class MaximumByGreater(Faulty):
    """Maximum is a > b ? a : b."""

    shows_at, says = ShowsAt("reduce", operators=("max",), dtypes=FLOATS), "NaN on rank"

    def merge(self, op: str, left: Array, right: Array) -> None:
        with np.errstate(all="ignore"):
            left[:] = np.where(left > right, left, right)


class UnsignedAsSigned(Faulty):
    """Unsigned integers are compared as signed ones (open-mpi/ompi#10525)."""

    shows_at = ShowsAt("all_reduce", operators=("min", "max"), dtypes=UNSIGNED)
    says = "uint.* compared as int"

    def merge(self, op: str, left: Array, right: Array) -> None:
        signed = f"i{left.itemsize}"
        super().merge(op, left.view(signed), right.view(signed))


class SignedAsUnsigned(Faulty):
    """Signed integers are compared as unsigned ones."""

    shows_at = ShowsAt("reduce", operators=("max",), dtypes=INTEGERS[:4])
    says = "int.* compared as uint"

    def merge(self, op: str, left: Array, right: Array) -> None:
        unsigned = f"u{left.itemsize}"
        super().merge(op, left.view(unsigned), right.view(unsigned))


class SaturatingVectors(Faulty):
    """Eight or more integers are added by an instruction that saturates, and takes unsigned
    ones for signed (as in open-mpi/ompi#8045)."""

    shows_at = ShowsAt("all_reduce", operators=("sum",), dtypes=UNSIGNED, counts="8 and more")
    says = "saturated"

    def merge(self, op: str, left: Array, right: Array) -> None:
        if op != "sum" or left.size < 8 or left.itemsize > 4:
            super().merge(op, left, right)
            return
        most = np.iinfo(f"i{left.itemsize}").max
        left[:] = np.minimum(left.astype(np.int64) + right.astype(np.int64), most)


class TruthAsByte(Faulty):
    """Logical or of bools adds the bytes that hold them (as in pytorch/pytorch#41959)."""

    shows_at = ShowsAt("all_reduce", operators=("logical_or",), dtypes=("bool",))
    says = "neither 0 nor 1"

    def merge(self, op: str, left: Array, right: Array) -> None:
        left.view(np.uint8)[:] += right.view(np.uint8)

    def finish(self, op: str, values: Array) -> None:
        return


class LogicalAsBitwise(Faulty):
    """Logical and is the bitwise one: 1 and 2 give 0."""

    shows_at = ShowsAt("all_reduce", operators=("logical_and",), dtypes=("int32",))
    says = "bitwise_and, not the logical_and"

    def merge(self, op: str, left: Array, right: Array) -> None:
        super().merge(op.replace("logical", "bitwise"), left, right)

    def finish(self, op: str, values: Array) -> None:
        return


class BitwiseAsLogical(Faulty):
    """Bitwise or gives 0 or 1."""

    shows_at = ShowsAt("all_reduce", operators=("bitwise_or",), dtypes=("int32", "uint8"))
    says = "logical_or, not the bitwise_or"

    def merge(self, op: str, left: Array, right: Array) -> None:
        super().merge(op.replace("bitwise", "logical"), left, right)


class BitwiseOnSomeBytes(Faulty):
    """Merges as many bytes as there are elements."""

    shows_at = ShowsAt("reduce", operators=("bitwise_xor",), dtypes=("int32",))
    says = "own input|missing"

    def merge(self, op: str, left: Array, right: Array) -> None:
        length = left.size
        super().merge(op, left.view(np.uint8)[:length], right.view(np.uint8)[:length])


class _OneForAnother(Faulty):
    """Takes one operator for another."""

    taken: str

    def merge(self, op: str, left: Array, right: Array) -> None:
        super().merge(self.taken, left, right)


class MaximumForMinimum(_OneForAnother):
    """Minimum finds the maximum."""

    shows_at, says, taken = ShowsAt("scan", operators=("min",)), "maximum, not the min", "max"


class SumForProduct(_OneForAnother):
    """Product adds."""

    shows_at, says, taken = ShowsAt("reduce", operators=("prod",)), "sum, not the prod", "sum"


class OrForXor(_OneForAnother):
    """Exclusive or is the inclusive one."""

    shows_at = ShowsAt("exscan", operators=("bitwise_xor",), dtypes=("uint16",))
    says, taken = "bitwise_or, not the bitwise_xor", "bitwise_or"


class ProductByParts(Faulty):
    """Complex numbers are multiplied part by part."""

    shows_at = ShowsAt("all_reduce", operators=("prod",), dtypes=("complex64",))
    says = "part by part"

    def merge(self, op: str, left: Array, right: Array) -> None:
        real = left.real.dtype
        super().merge(op, left.view(real), right.view(real))


class LargestMagnitude(Faulty):
    """Maximum compares magnitudes."""

    shows_at, says = ShowsAt("all_reduce", operators=("max",)), "magnitude"

    def merge(self, op: str, left: Array, right: Array) -> None:
        with np.errstate(all="ignore"):
            left[:] = np.where(np.abs(left) >= np.abs(right), left, right)


class SubtractsOnOneSide(Faulty):
    """The second operand's sign is lost on the way: it is subtracted."""

    shows_at, says = ShowsAt("reduce", size=2, operators=("sum",)), "opposite sign"

    def merge(self, op: str, left: Array, right: Array) -> None:
        super().merge(op, left, (-right).astype(right.dtype))


MUTANTS = mutants(
    "operators", MinimumByLess, MaximumByGreater, UnsignedAsSigned, SignedAsUnsigned,
    SaturatingVectors, TruthAsByte, LogicalAsBitwise, BitwiseAsLogical, BitwiseOnSomeBytes,
    MaximumForMinimum, SumForProduct, OrForXor, ProductByParts, LargestMagnitude,
    SubtractsOnOneSide,
)  # fmt: skip
