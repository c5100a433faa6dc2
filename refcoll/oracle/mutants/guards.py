"""Mutants that write outside of their buffers, or not up to their ends."""

from __future__ import annotations

from refcoll.operators import Array
from refcoll.oracle.mutants.beyond import padded
from refcoll.oracle.mutants.mutant import Faulty, ShowsAt, mutants


class WritesWholeVectors(Faulty):
    """The result is stored 32 bytes at a time, the last of them past the end."""

    shows_at, says = ShowsAt("all_reduce", counts="no multiple of 8"), "behind the end"

    def store(self, values: Array, out: Array) -> None:
        more = -out.nbytes % 32 // out.itemsize
        long = padded(out, more)
        long[: out.size] = values
        long[out.size :] = values[:1]


class WritesFromAlignedAddress(Faulty):
    """Where the output does not begin at a multiple of 16 bytes, it is stored from the last
    one before."""

    shows_at, says = ShowsAt("broadcast", counts="any; misaligned"), "ahead of the start"

    def store(self, values: Array, out: Array) -> None:
        ahead = out.ctypes.data % 16 // out.itemsize
        if ahead and values.size:
            padded(out, 0, ahead)[:ahead] = values[0]
        out[:] = values


class CopiesTooMuchAlone(Faulty):
    """With one rank there is nothing to merge, and it copies one element too many
    (open-mpi/ompi#1636)."""

    shows_at, says = ShowsAt("reduce_scatter", size=1), "behind the end"

    def reduce_scatter(self, x: Array, out: Array, op: str) -> None:
        if self.size == 1:
            padded(out, 1)[:] = padded(x, 1)
        super().reduce_scatter(x, out, op)


class LastElementNotStored(Faulty):
    """The loop that stores the result ends one element early."""

    shows_at, says = ShowsAt("scatter"), "not written"

    def store(self, values: Array, out: Array) -> None:
        out[:-1] = values[:-1]


class ReadsPastTheEnd(Faulty):
    """Reads the input from one element further on, and so past its end."""

    shows_at, says = ShowsAt("broadcast"), "shifted"

    def broadcast(self, x: Array | None, out: Array, root: int) -> None:
        super().broadcast(None if x is None else padded(x, 1)[1:], out, root)


class GatherWritesBehind(Faulty):
    """The block of the last rank is stored one element too long."""

    shows_at, says = ShowsAt("all_gather"), "behind the end"

    def store(self, values: Array, out: Array) -> None:
        out[:] = values
        padded(out, 1)[-1:] = values[-1:]


class ChunkBehindTheEnd(Faulty):
    """The number of the last chunk that is stored is not taken modulo N."""

    shows_at, says = ShowsAt("all_reduce"), r"wrote up to 132 bytes \(33 elements\) behind the end"

    def store(self, values: Array, out: Array) -> None:
        super().store(values, out)
        last = self.chunks(values)[-1]
        if out.flags.c_contiguous:
            padded(out, last.size)[out.size :] = last


class BlockAheadOfTheStart(Faulty):
    """The number of the first block that is stored, rank - 1, is not taken modulo N."""

    shows_at = ShowsAt("all_gather")
    says = r"^rank 0: wrote up to 52[1-4] bytes \(131 elements\) ahead of the start"

    def store(self, values: Array, out: Array) -> None:
        super().store(values, out)
        block = self.chunks(values)[-1]
        if self.rank == 0 and out.flags.c_contiguous:
            padded(out, 0, block.size)[: block.size] = block


class PageBehindTheEnd(Faulty):
    """Memory is cleared by whole pages before it is used, and one too many."""

    shows_at, says = ShowsAt("scan"), r"wrote up to 4096 bytes \(1024 elements\) behind the end"

    def store(self, values: Array, out: Array) -> None:
        super().store(values, out)
        if out.flags.c_contiguous:
            padded(out, 4096 // out.itemsize)[out.size :] = 0


MUTANTS = mutants(
    "guards", WritesWholeVectors, WritesFromAlignedAddress, CopiesTooMuchAlone,
    LastElementNotStored, ReadsPastTheEnd, GatherWritesBehind, ChunkBehindTheEnd,
    BlockAheadOfTheStart, PageBehindTheEnd,
)  # fmt: skip
