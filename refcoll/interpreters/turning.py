"""Simulate and count a uniform program: one array operation does a row of all ranks.

Memory is kept *skewed*: Z[j, r] is row j of rank r, its chunk r + j.  What every rank r sends
from row s over distance d is Z[s], and stands turned by d in row s - d of the receivers: two
slices, one for the ranks from d on, whose senders are lower, and one for the others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np

from refcoll.chunks import Layout
from refcoll.interpreters.uniform import Move
from refcoll.operators import Array, Operator

Steps: TypeAlias = Sequence[tuple[Move, ...]]
Ints: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]


def simulated(steps: Steps, inputs: Sequence[Array], op: Operator, layout: Layout) -> list[Array]:
    """What every rank's vector holds after the steps."""
    rows = _skewed(inputs, layout)
    merge = op.merge if op.ufunc is None else op.ufunc
    with np.errstate(all="ignore"):
        for moves in steps:
            _step(rows, moves, merge)
    return _straight(rows, layout)


def _step(rows: Array, moves: tuple[Move, ...], merge: Any) -> None:
    size = len(rows)
    written = {row for move in moves for row in move.rows}
    read = [
        [rows[s].copy() if s in written else rows[s] for s in move.sent(size)] for move in moves
    ]
    for move, values in zip(moves, read, strict=True):
        d = move.distance
        for row, sent in zip(move.rows, values, strict=True):
            mine = rows[row]
            for to, came, lower in ((mine[d:], sent[:-d], True), (mine[:d], sent[-d:], False)):
                left = lower if move.on_left is None else move.on_left
                if not move.merges:
                    to[...] = came
                elif left:
                    merge(came, to, to)
                else:
                    merge(to, came, to)


_BLOCK = 64
"""Ranks that are turned into rows, or back, at a time: as many as a cache holds."""


def _skewed(inputs: Sequence[Array], layout: Layout) -> Array:
    """Z, its chunks as long as the longest."""
    size, widest = len(inputs), max(layout.lengths, default=0)
    rows, even = np.empty((size, size, widest), inputs[0].dtype), _even(layout)
    for start in range(0, size, _BLOCK):
        some = inputs[start : start + _BLOCK]
        turned = np.zeros((len(some), size, widest), rows.dtype)
        for rank, given, mine in zip(range(start, size), some, turned, strict=False):
            chunks = given.reshape(size, -1) if even else _padded(given, layout)
            mine[: size - rank], mine[size - rank :] = chunks[rank:], chunks[:rank]
        rows[:, start : start + _BLOCK] = turned.swapaxes(0, 1)
    return rows


def _straight(rows: Array, layout: Layout) -> list[Array]:
    """Every rank's vector, from Z."""
    size, even = len(rows), _even(layout)
    results: list[Array] = []
    for start in range(0, size, _BLOCK):
        block = rows[:, start : start + _BLOCK].copy()  # first whole, into the cache
        turned = np.ascontiguousarray(block.swapaxes(0, 1))
        for rank, mine in zip(range(start, size), turned, strict=False):
            chunks = np.concatenate([mine[size - rank :], mine[: size - rank]])
            if not even:
                parts = [chunks[i, :length] for i, length in enumerate(layout.lengths)]
                chunks = np.concatenate(parts)
            results.append(chunks.reshape(-1))
    return results


def _even(layout: Layout) -> bool:
    return len(set(layout.lengths)) == 1


def _padded(given: Array, layout: Layout) -> Array:
    chunks = np.zeros((len(layout.lengths), max(layout.lengths)), given.dtype)
    for index, length in enumerate(layout.lengths):
        chunks[index, :length] = given[layout.span(index, index + 1)]
    return chunks


# ---- counting --------------------------------------------------------------------------


class Tally:
    """What every rank does in a uniform program, in elements of a vector so cut."""

    def __init__(self, steps: Steps, layout: Layout) -> None:
        self._lengths = np.asarray(layout.lengths, np.int64)
        self.size = len(layout.lengths)
        self.steps = self.depth = len(steps)
        self.messages = sum(len(moves) for moves in steps)
        self.sent, self.staged, self.packed = (np.zeros(self.size, np.int64) for _ in range(3))
        self.received = self.sent.copy()
        self.rounds = sum(_rounds(moves) for moves in steps)
        self._by_distance: dict[int, Ints] = {}
        for moves in steps:
            merged = {row for move in moves if move.merges for row in move.rows}
            for move in moves:
                self._add(move, merged)

    def links(self) -> Counter[tuple[int, int]]:
        """Elements from one rank to another."""
        return Counter({
            (rank, (rank + distance) % self.size): elements
            for distance, sizes in self._by_distance.items()
            for rank, elements in enumerate(sizes.tolist())
        })  # fmt: skip

    def _add(self, move: Move, merged: set[int]) -> None:
        sent = move.sent(self.size)
        sizes = self._sizes(sent)
        self.sent += sizes
        self.received += self._sizes(move.rows)
        so_far = self._by_distance.setdefault(move.distance, np.zeros(self.size, np.int64))
        so_far += sizes
        if not merged.isdisjoint(sent):
            self.staged += sizes
        for rows in (sent, move.rows):
            if len(rows) > 1:
                self.packed += self._sizes(rows) * self._scattered(rows)

    def _sizes(self, rows: Iterable[int]) -> Ints:
        """Per rank: how many elements the rows hold."""
        total = np.zeros(self.size, np.int64)
        for row in rows:
            total[: self.size - row] += self._lengths[row:]
            total[self.size - row :] += self._lengths[:row]
        return total

    def _scattered(self, rows: Sequence[int]) -> Any:
        """Per rank: whether the rows are chunks that are not neighbours in memory."""
        chunks = (np.arange(self.size)[:, None] + np.array(rows)) % self.size
        return (np.diff(chunks, axis=1) != 1).any(axis=1)


def _rounds(moves: Sequence[Move]) -> int:
    """How long a step takes at one message each way at a time, all ranks alike (``clock``)."""
    landed = 0
    for arrival in sorted(move.place + 1 for move in moves):
        landed = max(landed + 1, arrival)
    return max(landed, len(moves))
