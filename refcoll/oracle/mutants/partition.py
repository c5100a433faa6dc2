"""Mutants that cut the vector, or place its chunks, wrongly."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from refcoll.operators import Array
from refcoll.oracle.mutants.mutant import Faulty, ShowsAt, mutants


class RotatedOwnership(Faulty):
    """The ring's natural last owner is not shifted by one: rank r gets chunk r + 1
    (Xilinx/ACCL#25)."""

    shows_at, says = ShowsAt("reduce_scatter"), "rotated by 1"

    def owned(self) -> int:
        return (self.rank + 1) % self.size


class GatherPhaseIndex(Faulty):
    """The gather phase stores each chunk one place further, except on rank 0
    (NVIDIA/FasterTransformer#672)."""

    shows_at, says = ShowsAt("all_reduce"), "(chunk|rotated)"

    def share(self, chunks: Sequence[Array], first: int) -> None:
        super().share(chunks, first)
        if self.rank:
            moved = [each.copy() for each in chunks]
            for index, chunk in enumerate(chunks):
                other = moved[(index - 1) % self.size]
                chunk[: other.size] = other[: chunk.size]


class DroppedTail(Faulty):
    """Chunks of count // N elements: what is left over is not processed."""

    shows_at, says = ShowsAt("all_reduce", counts="no multiple of N"), "tail"

    def bounds(self, count: int) -> list[int]:
        return [count // self.size * index for index in range(self.size + 1)]

    def store(self, values: Array, out: Array) -> None:
        done = self.bounds(values.size)[-1]
        out[:done] = values[:done]


class CrashingTail(Faulty):
    """In segments of 64; a last one with fewer elements than ranks has chunks of length
    zero, over which it steps (ROCm/rocm-systems#3213)."""

    shows_at = ShowsAt("all_reduce", counts="64 k + t, 0 < t < N")
    says = "ValueError"
    segment = 64

    def all_reduce(self, x: Array, out: Array, op: str) -> None:
        for first in range(0, x.size, self.segment):
            part = slice(first, min(first + self.segment, x.size))
            length = part.stop - first
            range(0, length, length // self.size)
            super().all_reduce(x[part], out[part], op)


class SkippedShortTail(Faulty):
    """In segments of 64; a last one with fewer elements than ranks is left out."""

    shows_at = ShowsAt("all_reduce", counts="64 k + t, 0 < t < N")
    says = "(tail|one element) .*not|not written"

    def all_reduce(self, x: Array, out: Array, op: str) -> None:
        for first in range(0, x.size, 64):
            part = slice(first, min(first + 64, x.size))
            if part.stop - first >= self.size:
                super().all_reduce(x[part], out[part], op)


class OverlappingChunks(Faulty):
    """Chunks end one element late, and the next begins where they should have ended."""

    shows_at, says = ShowsAt("all_reduce"), "twice|[0-9] times|three times"

    def chunks(self, values: Array) -> list[Array]:
        cut = self.bounds(values.size)
        return [values[cut[index] : cut[index + 1] + 1] for index in range(self.size)]


class GappedChunks(Faulty):
    """Chunks end one element early: their last elements never travel."""

    shows_at, says = ShowsAt("all_reduce"), "own input"

    def chunks(self, values: Array) -> list[Array]:
        cut = self.bounds(values.size)
        ends = [max(cut[index], cut[index + 1] - 1) for index in range(self.size)]
        return [values[cut[index] : ends[index]] for index in range(self.size)]


class UnrotatedGather(Faulty):
    """Bruck's all-gather without its last step: blocks stay in the order of arrival."""

    shows_at, says = ShowsAt("all_gather"), "rotated by"

    def all_gather(self, x: Array, out: Array) -> None:
        blocks = self.chunks(out)
        blocks[0][:] = x
        for by in range(1, self.size):
            to, source = (self.rank - by) % self.size, (self.rank + by) % self.size
            blocks[by][:] = self.swap(blocks[0], to, source)


class WrongBlockSent(Faulty):
    """All-to-all sends the block of the rank it receives from."""

    shows_at, says = ShowsAt("all_to_all"), "block|rank"

    def all_to_all(self, x: Array, out: Array) -> None:
        given, got = self.chunks(x), self.chunks(out)
        got[self.rank][:] = given[self.rank]
        for by in range(1, self.size):
            to, source = (self.rank + by) % self.size, (self.rank - by) % self.size
            got[source][:] = self.swap(given[source], to, source)


class RelativeScatter(Faulty):
    """Pieces are numbered from the root, not from rank 0."""

    shows_at, says = ShowsAt("scatter", counts="any; root not 0"), "rotated by"

    def scatter(self, x: Array | None, out: Array, root: int) -> None:
        super().scatter(None if x is None else np.roll(x, root * out.size), out, root)


class RelativeGather(Faulty):
    """Blocks are stored in the order of ranks counted from the root."""

    shows_at, says = ShowsAt("gather", counts="any; root not 0"), "rotated by"

    def gather(self, x: Array, out: Array | None, root: int) -> None:
        super().gather(x, out, root)
        if out is not None:
            out[:] = np.roll(out, -root * x.size)


class DummyElement(Faulty):
    """Empty chunks are sent as one element, which overwrites what lies there."""

    shows_at, says = ShowsAt("all_reduce", counts="fewer than N"), "missing|twice|times|own input"

    def chunks(self, values: Array) -> list[Array]:
        cut = self.bounds(values.size)
        return [
            values[min(first, max(values.size - 1, 0)) :][: max(1, end - first)]
            for first, end in pairwise(cut)
        ]


class LastBlockEarly(Faulty):
    """The displacement of the last block is one element too small, on the receiving side."""

    shows_at, says = ShowsAt("all_gather"), r"shifted: element i holds element i \+ 1"

    def store(self, values: Array, out: Array) -> None:
        first = values.size - values.size // self.size
        by = 1 if first else 0
        super().store(values[:first], out[:first])
        super().store(values[first:], out[first - by : values.size - by])


MUTANTS = mutants(
    "partition", RotatedOwnership, GatherPhaseIndex, DroppedTail, CrashingTail, SkippedShortTail,
    OverlappingChunks, GappedChunks, UnrotatedGather, WrongBlockSent, RelativeScatter,
    RelativeGather, DummyElement, LastBlockEarly,
)  # fmt: skip
