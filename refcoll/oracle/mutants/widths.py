"""Mutants that count in too few bits, or take bytes for elements.

The limits are lowered from 2^31 to some hundreds, so that small data show them.
"""

from __future__ import annotations

import numpy as np

from refcoll.operators import Array
from refcoll.oracle.mutants.mutant import Faulty, ShowsAt, mutants

BITS = 11
"""Of what stands for an int."""


def narrow(number: int) -> int:
    """What a signed integer of ``BITS`` bits makes of it."""
    half = 1 << (BITS - 1)
    return (number + half) % (2 * half) - half


class NarrowOffsets(Faulty):
    """Offsets of blocks are kept in a narrow signed integer
    (open-mpi/ompi#10094, with 2^31)."""

    shows_at, says = (
        ShowsAt("gather", counts="N count > 1023", beyond=1024),
        "block.*not written|not written.*block",
    )

    def gather(self, x: Array, out: Array | None, root: int) -> None:
        whole = None if out is None else np.empty_like(out)
        super().gather(x, whole, root)
        if out is not None and whole is not None:
            for other in range(self.size):
                at = narrow(other * x.size) % max(1, out.size)
                block = whole[other * x.size : (other + 1) * x.size]
                out[at : at + x.size] = block[: max(0, out.size - at)]


class NarrowCount(Faulty):
    """The count passes through a narrow integer: the rest is never merged."""

    shows_at, says = ShowsAt("all_reduce", counts="more than 1023", beyond=4092), "tail|not written"

    def all_reduce(self, x: Array, out: Array, op: str) -> None:
        count = max(0, narrow(x.size))
        super().all_reduce(x[:count], out[:count], op)


class ElementsForBytes(Faulty):
    """Copies as many bytes as there are elements."""

    shows_at, says = ShowsAt("broadcast"), "tail|not written"

    def store(self, values: Array, out: Array) -> None:
        out.view(np.uint8)[: out.size] = values.view(np.uint8)[: out.size]


class BytesForElements(Faulty):
    """A scratch of 512 bytes is taken to hold 512 elements: of each part only what fits
    comes through (horovod/horovod#1604)."""

    shows_at, says = ShowsAt("all_reduce", counts="more than 128"), "not written|own input"

    def all_reduce(self, x: Array, out: Array, op: str) -> None:
        for first in range(0, max(x.size, 1), 512):
            length = min(512, x.size - first, 512 // x.itemsize)
            part = slice(first, first + length)
            super().all_reduce(x[part], out[part], op)


class TotalForBlock(Faulty):
    """The count of one block is taken for that of all of them."""

    shows_at, says = ShowsAt("all_to_all"), "not written"

    def all_to_all(self, x: Array, out: Array) -> None:
        short = x.size // self.size // self.size
        given, got = self.chunks(x), self.chunks(out)
        for by in range(self.size):
            to, source = (self.rank + by) % self.size, (self.rank - by) % self.size
            got[source][:short] = self.swap(given[to][:short], to, source)


class SixteenBitIndex(Faulty):
    """Elements are numbered in a narrow unsigned integer: later ones overwrite the first."""

    shows_at = ShowsAt("reduce_scatter", counts="more than 1024", beyond=4096)
    says = "element 1024 not written"

    def store(self, values: Array, out: Array) -> None:
        out[np.arange(values.size) % (1 << (BITS - 1))] = values


MUTANTS = mutants(
    "counts", NarrowOffsets, NarrowCount, ElementsForBytes, BytesForElements, TotalForBlock,
    SixteenBitIndex,
)  # fmt: skip
