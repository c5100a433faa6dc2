"""A rank's memory as chunks, part of which may still lie in the caller's input."""

from __future__ import annotations

from dataclasses import dataclass

from refcoll.chunks import Layout, runs
from refcoll.operators import Array
from refcoll.schedule import Chunks, indices


@dataclass(frozen=True, eq=False)
class Input:
    """A rank's input that does not lie in the plan's memory."""

    values: Array
    """1-D, contiguous, of the memory's dtype."""
    chunks: range
    """Which chunks it holds."""
    needed: range
    """Which chunks must lie in memory in the end."""


class Vector:
    """The rank's memory as chunks.  What was not yet written is read from its input."""

    def __init__(self, memory: Array, layout: Layout, source: Input | None) -> None:
        self.memory, self._layout, self._source = memory, layout, source
        self._unwritten = set(source.chunks) if source is not None else set()

    def reads(self, chunks: Chunks) -> list[Array]:
        """Where the chunks are to be read: a view per run of neighbours, at least one."""
        spans = runs(indices(chunks))
        return [self._read(first, last) for first, last in spans] or [self.memory[:0]]

    def writes(self, chunks: Chunks) -> list[Array]:
        """Where the chunks are to be written, likewise.  From now on they are read there."""
        spans = runs(indices(chunks))
        self._unwritten.difference_update(indices(chunks))
        return [self.memory[self._layout.span(*each)] for each in spans] or [self.memory[:0]]

    def gather(self, chunks: Chunks) -> list[tuple[Array, Array]]:
        """(to, from): what to copy into memory so that no run of neighbours lies half there."""
        copies = []
        for first, last in runs(indices(chunks)):
            fresh = self._unwritten.intersection(range(first, last))
            if 0 < len(fresh) < last - first:
                copies += [self._load(index) for index in sorted(fresh)]
        return copies

    def in_memory(self, chunks: Chunks) -> bool:
        """Whether all of the chunks are read from memory, not from the input."""
        return self._unwritten.isdisjoint(indices(chunks))

    def rest(self) -> list[tuple[Array, Array]]:
        """(to, from): what no step has written and is needed all the same."""
        needed = set(self._source.needed) if self._source is not None else set()
        return [self._load(index) for index in sorted(self._unwritten & needed)]

    def _load(self, index: int) -> tuple[Array, Array]:
        taken = self._read(index, index + 1)
        (to,) = self.writes(index)
        return to, taken

    def _read(self, first: int, last: int) -> Array:
        span = self._layout.span(first, last)
        if self._source is None or first not in self._unwritten:
            return self.memory[span]
        start = self._layout.span(self._source.chunks.start, self._source.chunks.start + 1).start
        return self._source.values[span.start - start : span.stop - start]
