"""Mutants that count a rank's contribution twice, or not at all."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from refcoll.operators import Array
from refcoll.oracle.mutants.mutant import Faulty, ShowsAt, mutants


class RingStopsEarly(Faulty):
    """The ring's first half makes one step too few: each chunk misses one rank."""

    shows_at, says = ShowsAt("all_reduce"), "missing"

    def around(self, chunks: Sequence[Array], op: str) -> None:
        ahead, behind = (self.rank + 1) % self.size, (self.rank - 1) % self.size
        for step in range(1, self.size - 1):
            sent = chunks[(self.owned() - step - 1) % self.size]
            mine = chunks[(self.owned() - step - 2) % self.size]
            self.merge(op, mine, self.swap(sent, ahead, behind, mine.size))


class OwnTwice(Faulty):
    """A rank's input is the start of the sum, and added once more."""

    shows_at, says = ShowsAt("reduce"), "twice"

    def load(self, x: Array, out: Array | None) -> Array:
        work = super().load(x, out)
        if self.rank == self.size - 1:
            self.merge("sum", work, x)
        return work


class SamePartnerTwice(Faulty):
    """A butterfly whose distance is not doubled: the same pairs exchange again."""

    shows_at, says = ShowsAt("all_reduce"), "missing.*twice|twice.*missing"

    def all_reduce(self, x: Array, out: Array, op: str) -> None:
        work = self.load(x, out)
        for _ in range((self.size - 1).bit_length()):
            partner = self.rank ^ 1
            if partner < self.size:
                self.merge(op, work, self.swap(work, partner, partner))
        self.finish(op, work)
        self.store(work, out)


class CopiesInSecondSegment(Faulty):
    """Long vectors are piped in segments of 512; from the second on the last step of the ring
    copies where it should merge."""

    shows_at, says = ShowsAt("all_reduce", counts="more than 512", beyond=2048), "missing"

    def all_reduce(self, x: Array, out: Array, op: str) -> None:
        for first in range(0, max(x.size, 1), 512):
            self._later = first > 0
            super().all_reduce(x[first : first + 512], out[first : first + 512], op)

    def around(self, chunks: Sequence[Array], op: str) -> None:
        super().around(chunks, op)
        if self._later:
            chunks[self.owned()][:] = self._last

    def merge(self, op: str, left: Array, right: Array) -> None:
        self._last = right
        super().merge(op, left, right)


class VectorRemainder(Faulty):
    """Merges eight elements at a time, and forgets what is left over."""

    shows_at, says = ShowsAt("reduce", counts="no multiple of 8"), "own input|missing"

    def merge(self, op: str, left: Array, right: Array) -> None:
        whole = left.size // 8 * 8
        super().merge(op, left[:whole], right[:whole])


class RetriedMessage(Faulty):
    """A message of more than 1 KiB is sent again, and merged again."""

    shows_at, says = ShowsAt("reduce", counts="more than 256", beyond=1024), "rank.* twice"

    def merge(self, op: str, left: Array, right: Array) -> None:
        super().merge(op, left, right)
        if right.nbytes > 1024 and self.rank == self.size - 2:
            super().merge(op, left, right)


class RootForgetsItself(Faulty):
    """The root adds up what the others send, and leaves itself out."""

    shows_at, says = ShowsAt("reduce"), "rank 0 missing"

    def reduce(self, x: Array, out: Array | None, op: str, root: int) -> None:
        if out is None:
            self.send(x, root)
            return
        others = [rank for rank in range(self.size) if rank != root]
        work = self.receive(x, others[0])
        for other in others[1:]:
            self.merge(op, work, self.receive(x, other))
        self.finish(op, work)
        self.store(work, out)


class OneChunkDoubled(Faulty):
    """The first chunk passes rank 1 twice."""

    shows_at, says = ShowsAt("all_reduce"), r"rank 1 twice.*chunk 0 of 4"

    def around(self, chunks: Sequence[Array], op: str) -> None:
        if self.rank == 1:
            self.merge("sum" if op == "avg" else op, chunks[0], chunks[0].copy())
        super().around(chunks, op)


class OneElementLost(Faulty):
    """The last element of each chunk is merged on all ranks but one."""

    shows_at, says = ShowsAt("reduce_scatter"), "rank 2 missing in (the one )?element"

    def load(self, x: Array, out: Array | None) -> Array:
        work = super().load(x, out)
        if self.rank == 2:
            for chunk in self.chunks(work):
                chunk[-1:] = 0
        return work


class StragglerDropped(Faulty):
    """The last rank comes late, and its contribution is taken for zero."""

    shows_at, says = ShowsAt("all_reduce"), "rank 3 missing"

    def load(self, x: Array, out: Array | None) -> Array:
        work = super().load(x, out)
        if self.rank == self.size - 1:
            work[:] = 0
        return work


class ScanAddsTwice(Faulty):
    """A rank in the middle of the chain passes its own input on twice."""

    shows_at, says = ShowsAt("exscan"), "rank 1 twice"

    def send(self, values: Array, to: int) -> None:
        super().send(values + self._mine if self.rank == 1 else values, to)

    def exscan(self, x: Array, out: Array | None, op: str) -> None:
        self._mine = x
        super().exscan(x, out, op)


class LocalGroupOnly(Faulty):
    """Two levels: within pairs of ranks, and then not between them."""

    shows_at, says = ShowsAt("all_reduce"), "ranks? .*missing"

    def all_reduce(self, x: Array, out: Array, op: str) -> None:
        work, partner = self.load(x, out), self.rank ^ 1
        if partner < self.size:
            self.merge(op, work, self.swap(work, partner, partner))
        self.finish(op, work)
        self.store(work, out)


class ZerosSkipped(Faulty):
    """An operand of 0 is not merged, whatever the operator."""

    shows_at, says = ShowsAt("all_reduce", operators=("min", "max")), "zeros are left out"

    def merge(self, op: str, left: Array, right: Array) -> None:
        one, other = left.copy(), right.copy()
        super().merge(op, left, right)
        left[:] = np.where(other == 0, one, np.where(one == 0, other, left))


MUTANTS = mutants(
    "contribution", RingStopsEarly, OwnTwice, SamePartnerTwice, CopiesInSecondSegment,
    VectorRemainder, RetriedMessage, RootForgetsItself, OneChunkDoubled, OneElementLost,
    StragglerDropped, ScanAddsTwice, LocalGroupOnly, ZerosSkipped,
)  # fmt: skip
