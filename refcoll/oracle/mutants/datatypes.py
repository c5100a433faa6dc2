"""Mutants that take the bytes of one dtype for those of another, as where a table is wrong."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from refcoll.operators import Array
from refcoll.oracle.mutants.mutant import Faulty, ShowsAt, mutants
from refcoll.testing.values import dtype_named


class _Taken(Faulty):
    """Merges elements of one dtype as if they were of another."""

    taken: ClassVar[Mapping[str, str]]

    def merge(self, op: str, left: Array, right: Array) -> None:
        other = dtype_named(self.taken.get(left.dtype.name, left.dtype.name))
        whole = left.nbytes // other.itemsize * other.itemsize // left.itemsize
        with np.errstate(all="ignore"):
            super().merge(op, left[:whole].view(other), right[:whole].view(other))
        super().merge(op, left[whole:], right[whole:])


class IntegersTakenForFloats(_Taken):
    """int32 has the number of float32 in the table of datatypes."""

    shows_at = ShowsAt("all_reduce", dtypes=("int32",), operators=("sum", "max"))
    says, taken = "int32 taken for float32", {"int32": "float32"}


class Bfloat16TakenForFloat16(_Taken):
    """There is one type of 16 bits, and that is float16."""

    shows_at = ShowsAt("reduce_scatter", dtypes=("bfloat16",), operators=("sum", "min"))
    says, taken = "bfloat16 taken for float16", {"bfloat16": "float16"}


class BytesAddedAsWords(_Taken):
    """Four integers of eight bits are added as one of 32: what one carries goes into the next."""

    shows_at = ShowsAt("reduce", dtypes=("uint8", "int8"), operators=("sum",))
    says = "u?int8 taken for u?int32, 4 to one"
    taken: ClassVar = {"uint8": "uint32", "int8": "int32"}


class DoublesAddedAsFloats(_Taken):
    """The count is that of halves, and so is the dtype."""

    shows_at = ShowsAt("scan", dtypes=("float64",), operators=("sum",))
    says, taken = "float64 taken for float32, 2 to each", {"float64": "float32"}


MUTANTS = mutants(
    "datatypes", IntegersTakenForFloats, Bfloat16TakenForFloat16, BytesAddedAsWords,
    DoublesAddedAsFloats,
)  # fmt: skip
