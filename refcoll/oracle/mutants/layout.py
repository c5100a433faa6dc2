"""Mutants with the right values, in another order of elements or bytes."""

from __future__ import annotations

import numpy as np

from refcoll.operators import Array, kind
from refcoll.oracle.mutants.mutant import Faulty, ShowsAt, mutants


class ByteOrder(Faulty):
    """What comes by the wire stays in the wire's byte order."""

    shows_at, says = ShowsAt("broadcast"), "bytes in reverse order"

    def receive(self, like: Array, source: int) -> Array:
        came = super().receive(like, source)
        if self.odd_hops(source):
            came = came.byteswap()
        return came

    def odd_hops(self, source: int) -> bool:
        """Leaves swap, as in a cluster whose other half has another byte order."""
        return self.rank % 2 == 1


class Interleaved(Faulty):
    """Gathered elements are stored as rows of all ranks' i-th elements
    (as in pytorch/pytorch#130251)."""

    shows_at, says = ShowsAt("all_gather", counts="2 and more"), "transpose"

    def store(self, values: Array, out: Array) -> None:
        out[:] = values.reshape(self.size, -1).T.ravel()


class MisalignedNotReturned(Faulty):
    """Works on an aligned copy where the buffer is not aligned to 32 bytes, and returns the
    original (NVIDIA/Megatron-LM#5337, there for strides)."""

    shows_at, says = ShowsAt("all_reduce", counts="any; misaligned"), "own input"

    def all_reduce(self, x: Array, out: Array, op: str) -> None:
        out[:] = x
        aligned = self.wire_aligned(out)
        super().all_reduce(out.copy(), out if aligned else out.copy(), op)

    def wire_aligned(self, values: Array) -> bool:
        """Judged buffers begin 64 bytes into memory of numpy's, which aligns to 16."""
        return bool(values.ctypes.data % 16 == 0)


class PartsSwapped(Faulty):
    """Real and imaginary parts are stored in each other's place."""

    shows_at, says = ShowsAt("all_to_all", dtypes=("complex64",)), "imaginary"

    def all_to_all(self, x: Array, out: Array) -> None:
        super().all_to_all(x, out)
        if kind(out.dtype) == "c":
            parts = out.view(out.real.dtype).reshape(-1, 2)
            parts[:] = parts[:, ::-1].copy()


class PlanarParts(Faulty):
    """All real parts travel ahead of all imaginary ones, and are stored so."""

    shows_at, says = ShowsAt("scatter", dtypes=("complex64",), counts="2 and more"), "planes|real"

    def store(self, values: Array, out: Array) -> None:
        if kind(out.dtype) == "c":
            parts = values.view(values.real.dtype).reshape(-1, 2)
            out[:] = np.ascontiguousarray(parts.T).ravel().view(out.dtype)
        else:
            out[:] = values


class Reversed(Faulty):
    """Packed from the last element down, and not unpacked so."""

    shows_at, says = ShowsAt("gather", counts="2 and more"), "reverse"

    def gather(self, x: Array, out: Array | None, root: int) -> None:
        super().gather(x[::-1].copy(), out, root)


class TransposedPieces(Faulty):
    """Takes the vector for a matrix in the other order, before it scatters."""

    shows_at, says = (
        ShowsAt("reduce_scatter", counts="2 and more"),
        "whole vector is in storage order of a 4-column transpose",
    )

    def load(self, x: Array, out: Array | None) -> Array:
        return x.reshape(-1, self.size).T.ravel().copy()


MUTANTS = mutants(
    "layout", ByteOrder, Interleaved, MisalignedNotReturned, PartsSwapped, PlanarParts, Reversed,
    TransposedPieces,
)  # fmt: skip
