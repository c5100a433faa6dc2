"""Prove an aligned program right, all ranks in lockstep, on arrays.

The same proof as ``check`` gives step by step, and only the proof: where anything at all is
wrong, or the program is not aligned, ``proof`` returns None, and ``check`` finds out what.

Values are numbered.  A number stands for one expression: a contribution, or the merge of
two numbered values, of which the same two merged again are the same number.  ``_Values``
holds, per number, the chunk, the first and last contributor, whether operands stand in rank
order, and the contributors as bits.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from refcoll.interpreters.table import Bools, Ints, Round, table, waves
from refcoll.programs import Program

Bits: TypeAlias = np.ndarray[Any, np.dtype[np.uint64]]
_EMPTY = -1


class _WrongError(Exception):
    """The program is not right, or not for this file to judge."""


def proof(program: Program) -> bool | None:
    """Whether results are in rank order, if the program is right; else None."""
    rounds = table(program)
    if rounds is None:
        return None
    try:
        proving = _Proof(program)
        for each in rounds:
            proving.play(each)
        return proving.judge()
    except _WrongError:
        return None


def _require(condition: object) -> None:
    if not condition:
        raise _WrongError


class _Values:
    """All values so far, a column each for what is known of them."""

    def __init__(self, ranks: int) -> None:
        self.words = -(-ranks // 64)
        self.count = 0
        self._room = 0
        self._merged: dict[int, int] = {}
        self.chunk = self.first = self.last = np.empty(0, np.int64)
        self.ordered: Bools = np.empty(0, np.bool_)
        self.bits: Bits = np.empty((0, self.words), np.uint64)

    def leaves(self, ranks: Ints, chunks: Ints) -> Ints:
        """The numbers of new contributions."""
        new = self._grow(ranks.size)
        self.chunk[new], self.first[new], self.last[new] = chunks, ranks, ranks
        self.ordered[new] = True
        self.bits[new] = 0
        self.bits[new, ranks // 64] = np.uint64(1) << (ranks % 64).astype(np.uint64)
        return new

    def merge(self, left: Ints, right: Ints) -> Ints:
        """The numbers of left op right; no rank may be in both."""
        keys, back = np.unique(left << 32 | right, return_inverse=True)
        numbers = np.array([self._merged.get(key, _EMPTY) for key in keys.tolist()], np.int64)
        fresh = np.flatnonzero(numbers == _EMPTY)
        if fresh.size:
            numbers[fresh] = self._made(keys[fresh] >> 32, keys[fresh] & 0xFFFFFFFF)
            self._merged.update(zip(keys[fresh].tolist(), numbers[fresh].tolist(), strict=True))
        return np.asarray(numbers[back.reshape(-1)])

    def _made(self, left: Ints, right: Ints) -> Ints:
        _require(np.array_equal(self.chunk[left], self.chunk[right]))
        _require(not (self.bits[left] & self.bits[right]).any())
        new = self._grow(left.size)
        self.chunk[new], self.first[new], self.last[new] = (
            self.chunk[left], self.first[left], self.last[right],
        )  # fmt: skip
        apart = self.last[left] < self.first[right]
        self.ordered[new] = self.ordered[left] & self.ordered[right] & apart
        self.bits[new] = self.bits[left] | self.bits[right]
        return new

    def _grow(self, more: int) -> Ints:
        new = np.arange(self.count, self.count + more)
        self.count += more
        if self.count > self._room:
            self._room = max(2 * self._room, self.count)
            for name in ("chunk", "first", "last", "ordered", "bits"):
                old = getattr(self, name)
                wide = np.empty((self._room, *old.shape[1:]), old.dtype)
                wide[: len(old)] = old
                setattr(self, name, wide)
        return new


class _Proof:
    def __init__(self, program: Program) -> None:
        self.program = program
        self.indices = program.areas * program.chunks
        self.values = _Values(program.size)
        self.memory = np.full(program.ranks * self.indices, _EMPTY, np.int64)
        held = [
            (rank, chunk, who)
            for rank in range(program.size)
            for chunk in range(program.chunks)
            if (who := program.before(rank, chunk)) is not None
        ]
        ranks, chunks, contributors = np.array(held, np.int64).reshape(-1, 3).T
        self.memory[ranks * self.indices + chunks] = self._distinct(contributors, chunks)
        tells = program.ranks if program.collective.synchronises else 0
        self.heard = np.eye(tells, dtype=np.bool_)

    def _distinct(self, ranks: Ints, chunks: Ints) -> Ints:
        """One contribution is one number, on however many ranks it starts."""
        keys, back = np.unique(ranks * self.program.chunks + chunks, return_inverse=True)
        made = self.values.leaves(keys // self.program.chunks, keys % self.program.chunks)
        return np.asarray(made[back.reshape(-1)])

    def play(self, each: Round) -> None:
        """Every rank's step of one number: all reads, then all writes in order."""
        self._require_legal(each)
        read = self.memory[each.source[each.row] * self.indices + each.sent]
        _require((read != _EMPTY).all())
        where = each.to[each.row] * self.indices + each.written
        merging, left = each.reduces[each.row], each.on_left[each.row]
        for wave in waves(where):
            at, new = where[wave], read[wave]
            mine, over = self.memory[at], merging[wave]
            _require((mine[over] != _EMPTY).all())
            if over.any():
                lefts = np.where(left[wave], new, mine)[over]
                rights = np.where(left[wave], mine, new)[over]
                new = new.copy()
                new[over] = self.values.merge(lefts, rights)
            self.memory[at] = new
        if self.program.collective.synchronises:
            told = self.heard[each.source]
            np.logical_or.at(self.heard, each.to, told)

    def _require_legal(self, each: Round) -> None:
        """Ranks and chunks in bounds, the ends alike, and no race (see ``legality``)."""
        for ranks in (each.source, each.to):
            _require(ranks.min() >= 0 and ranks.max() < self.program.ranks)
        for chunks in (each.sent, each.written):
            _require(chunks.size == 0 or (chunks.min() >= 0 and chunks.max() < self.indices))
        if not self.program.collective.transposes:
            c = self.program.chunks
            _require(np.array_equal(each.sent % c, each.written % c))
        where = each.to[each.row] * self.indices + each.written
        sent = each.source[each.row] * self.indices + each.sent
        copied = ~each.reduces[each.row]
        _require(not np.isin(where[copied], sent).any())
        order = np.argsort(where, kind="stable")
        again = np.flatnonzero(where[order][1:] == where[order][:-1]) + 1
        _require(not copied[order[again]].any())
        rows = each.row[order]
        _require(not (rows[again] == rows[again - 1]).any())

    def judge(self) -> bool:
        """Require the post-condition; whether operands are in rank order."""
        program, values = self.program, self.values
        if program.collective.synchronises:
            _require(self.heard[: program.size, : program.size].all())
        ranks, chunks, groups, sets = self._wanted()
        got = self.memory[
            ranks * self.indices + program.result_area * program.chunks + chunks
        ]  # fmt: skip
        _require((got != _EMPTY).all())
        _require(
            np.array_equal(values.chunk[got], ranks if program.collective.transposes else chunks)
        )
        for start in range(0, got.size, 65_536):
            part = slice(start, start + 65_536)
            _require(np.array_equal(values.bits[got[part]], sets[groups[part]]))
        self._require_agreement(chunks, groups, got)
        ordered = bool(values.ordered[got].all())
        claims = program.claims
        _require(ordered or not (claims and claims.in_rank_order))
        return ordered

    def _wanted(self) -> tuple[Ints, Ints, Ints, Bits]:
        """(rank, chunk, number of a set) of all results that matter, and the sets as bits."""
        program = self.program
        numbers: dict[frozenset[int], int] = {}
        rows = [
            (rank, chunk, numbers.setdefault(wanted, len(numbers)))
            for rank in range(program.size)
            for chunk in range(program.chunks)
            if (wanted := program.after(rank, chunk)) is not None
        ]
        sets = np.zeros((len(numbers), self.values.words), np.uint64)
        for members, number in numbers.items():
            for who in members:
                sets[number, who // 64] |= np.uint64(1 << who % 64)
        ranks, chunks, groups = np.array(rows, np.int64).reshape(-1, 3).T
        return ranks, chunks, groups, sets

    def _require_agreement(self, chunks: Ints, groups: Ints, got: Ints) -> None:
        """Where ranks end with the same contributors of a chunk, they hold one value.

        (A chunk of an all-to-all is another on every rank, and no rank's to agree about.)
        """
        if self.program.collective.transposes:
            return
        order = np.lexsort((got, groups, chunks))
        same = (np.diff(chunks[order]) == 0) & (np.diff(groups[order]) == 0)
        _require((np.diff(got[order])[same] == 0).all())
