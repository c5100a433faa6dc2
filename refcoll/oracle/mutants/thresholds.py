"""Mutants that are right up to a length, as where libraries change to another algorithm."""

from __future__ import annotations

import numpy as np

from refcoll.operators import Array
from refcoll.oracle.mutants.mutant import Faulty, ShowsAt, mutants
from refcoll.testing.values import dtype_named

KIB = 1024
WIDE = ("float32", "int32", "float64", "int64")


class ScratchOfOnePage(Faulty):
    """The scratch is a page, of which elements of eight bytes fill twice as much as was thought:
    beyond it nothing is merged."""

    shows_at = ShowsAt(
        "all_reduce", dtypes=WIDE, counts="more than 512, 8 bytes wide", beyond=4 * KIB
    )
    says = "element 512: the rank's own input alone"

    def all_reduce(self, x: Array, out: Array, op: str) -> None:
        mine = x.copy()
        super().all_reduce(x, out, op)
        if x.itemsize == 8:
            out[4 * KIB // 8 :] = mine[4 * KIB // 8 :]


class PipelineDropsRemainder(Faulty):
    """Beyond 64 KiB vectors are piped in segments of 16 KiB; what is left over is not merged."""

    shows_at = ShowsAt("reduce", counts="more than 64 KiB", beyond=64 * KIB)
    says = "own input alone|missing in element 16384"

    def merge(self, op: str, left: Array, right: Array) -> None:
        segment = 16 * KIB // left.itemsize
        whole = left.size // segment * segment if left.nbytes > 64 * KIB else left.size
        super().merge(op, left[:whole], right[:whole])


class HeaderInsteadOfData(Faulty):
    """Messages of more than 64 KiB wait for their receiver, and begin with a header of 16 bytes
    that takes the place of data."""

    shows_at = ShowsAt("all_gather", counts="more than 64 KiB", beyond=64 * KIB)
    says = "zeros in elements"

    def swap(self, values: Array, to: int, source: int, count: int | None = None) -> Array:
        sent = values.copy()
        if sent.nbytes > 64 * KIB:
            sent.view(np.uint8)[:16] = 0
        return super().swap(sent, to, source, count)


class CompressesLongVectors(Faulty):
    """Vectors of more than 256 KiB travel as bfloat16, and nobody was asked."""

    shows_at = ShowsAt(
        "all_reduce", operators=("sum",), counts="more than 256 KiB", beyond=256 * KIB
    )
    says = "rounded on the way, as to bfloat16"

    def swap(self, values: Array, to: int, source: int, count: int | None = None) -> Array:
        if values.nbytes * self.size > 256 * KIB and values.dtype == np.float32:
            values = values.astype(dtype_named("bfloat16")).astype(np.float32)
        return super().swap(values, to, source, count)


class FullBufferShort(Faulty):
    """A buffer of 64 KiB takes messages of less: of one that fills it the last element is lost."""

    shows_at = ShowsAt("scatter", counts="64 KiB", beyond=64 * KIB)
    says = "element 16383 not written"

    def store(self, values: Array, out: Array) -> None:
        whole = values.size - (values.nbytes == 64 * KIB)
        super().store(values[:whole], out[:whole])


class SegmentsOutOfOrder(Faulty):
    """Broadcast pipes more than 64 KiB in two halves, over two paths, and stores them as they
    come."""

    shows_at = ShowsAt("broadcast", size=3, counts="more than 64 KiB", beyond=64 * KIB)
    says = "in halves that have changed places"

    def store(self, values: Array, out: Array) -> None:
        half = values.size // 2
        later = values.nbytes > 64 * KIB and self.rank == self.size - 1
        super().store(np.roll(values, -half) if later else values, out)


MUTANTS = mutants(
    "lengths", ScratchOfOnePage, PipelineDropsRemainder, HeaderInsteadOfData,
    CompressesLongVectors, FullBufferShort, SegmentsOutOfOrder,
)  # fmt: skip
