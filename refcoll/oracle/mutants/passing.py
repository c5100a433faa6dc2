"""Mutants in which what a rank puts in arrives, but as something else."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from refcoll.operators import Array, kind
from refcoll.oracle.mutants.mutant import Faulty, ShowsAt, mutants


class NextLane(Faulty):
    """Where its input is not aligned a rank loads vectors from one element further on."""

    shows_at = ShowsAt("all_reduce", counts="2 and more", operators=("sum",))
    says = r"what rank 2 puts in is that of element i \+ 1"

    def load(self, x: Array, out: Array | None) -> Array:
        return np.roll(x, -1) if self.rank == 2 else x.copy()


class RefilledTooEarly(Faulty):
    """A rank's send buffer holds the next chunk before the first one has left."""

    shows_at = ShowsAt("all_reduce", counts="8 and more", operators=("sum",))
    says = r"what rank 1 puts in is that of element i \+ \d+ in .*chunk 0"

    def load(self, x: Array, out: Array | None) -> Array:
        work = x.copy()
        if self.rank == 1:
            first, second = self.chunks(work)[:2]
            first[:] = second[: first.size]
        return work


class OneRankNarrower(Faulty):
    """One rank runs another version of the library, which sends float16."""

    shows_at = ShowsAt("all_reduce", dtypes=("float32",), operators=("sum",))
    says = "what rank 3 puts in is rounded to float16"

    def load(self, x: Array, out: Array | None) -> Array:
        return x.astype(np.float16).astype(x.dtype) if self.rank == 3 else x.copy()


class SignNotSent(Faulty):
    """A rank packs its numbers without their signs."""

    shows_at = ShowsAt("reduce_scatter", operators=("sum",))
    says = "what rank 2 puts in is without its sign"

    def load(self, x: Array, out: Array | None) -> Array:
        return np.abs(x) if self.rank == 2 else x.copy()


class OneRankSwapsBytes(Faulty):
    """One rank's machine has the other byte order, and nobody converts."""

    shows_at = ShowsAt("reduce", dtypes=("int32",), operators=("sum",))
    says = "what rank 1 puts in is with its bytes in reverse order"

    def load(self, x: Array, out: Array | None) -> Array:
        return x.byteswap() if self.rank == 1 else x.copy()


class HalvesSwapped(Faulty):
    """Numbers of 64 bits travel as pairs of 32, and every other pair is put together wrongly."""

    shows_at = ShowsAt("all_reduce", counts="2 and more", dtypes=("float64", "int64"))
    says = "upper and lower 32 bits swapped"

    def store(self, values: Array, out: Array) -> None:
        pairs = values.view(np.uint32).reshape(-1, 2)
        pairs[1::2] = pairs[1::2, ::-1].copy()
        out[:] = values


class BitInEachLine(Faulty):
    """Faulty memory: in each line of 64 bytes a bit is another one when the result is stored."""

    shows_at, says = ShowsAt("all_reduce", counts="64 bytes and more"), "with bit 2 flipped"

    def store(self, values: Array, out: Array) -> None:
        if self.rank == 1:
            values.view(np.uint8)[::64] ^= 4
        out[:] = values


class StepNumberAdded(Faulty):
    """The ring's header lies in the first element of each chunk, and is merged with it."""

    shows_at, says = ShowsAt("all_reduce", operators=("sum",)), "all inputs are 0: something is"

    def around(self, chunks: Sequence[Array], op: str) -> None:
        super().around(chunks, op)
        mine = chunks[self.owned()][:1]
        mine += mine.dtype.type(self.rank)


class ValuesClipped(Faulty):
    """Gradients are clipped on their way, and nobody was told."""

    shows_at, says = ShowsAt("all_reduce", dtypes=("float32",)), "clamped to -1000 to 1000"

    def finish(self, op: str, values: Array) -> None:
        super().finish(op, values)
        if kind(values.dtype) == "f":
            np.clip(values, -1000, 1000, out=values)


MUTANTS = mutants(
    "on the way", NextLane, RefilledTooEarly, OneRankNarrower, SignNotSent, OneRankSwapsBytes,
    HalvesSwapped, BitInEachLine, StepNumberAdded, ValuesClipped,
)  # fmt: skip
