"""Mutants that talk to the wrong rank."""

from __future__ import annotations

import numpy as np

from refcoll.operators import Array
from refcoll.oracle.mutants.mutant import Faulty, ShowsAt, mutants


class XorPartner(Faulty):
    """A butterfly, partner = rank XOR distance, for any N: partners that are not there are
    skipped (tile-ai/tilelang#2611)."""

    shows_at, says = ShowsAt("all_reduce", size=3, counts="any; N no power of two"), "missing"

    def all_reduce(self, x: Array, out: Array, op: str) -> None:
        work, distance = self.load(x, out), 1
        while distance < self.size:
            partner = self.rank ^ distance
            if partner < self.size:
                self.merge(op, work, self.swap(work, partner, partner))
            distance *= 2
        self.finish(op, work)
        self.store(work, out)


class UnfoldedRanks(Faulty):
    """Recursive doubling among a power of two; the other ranks get the result, but their
    inputs are not folded in."""

    shows_at, says = ShowsAt("all_reduce", size=5, counts="any; N no power of two"), "missing"

    folds = 0

    def all_reduce(self, x: Array, out: Array, op: str) -> None:
        power = 1 << (self.size.bit_length() - 1)
        work, extra = self.load(x, out), self.rank >= power
        partner = self.rank - power if extra else self.rank + power
        for _ in range(self.folds):
            if extra:
                self.send(work, partner)
            elif partner < self.size:
                self.merge(op, work, self.receive(work, partner))
        distance = 1
        while distance < power and not extra:
            self.merge(op, work, self.swap(work, self.rank ^ distance, self.rank ^ distance))
            distance *= 2
        if extra:
            work = self.receive(work, partner)
        elif partner < self.size:
            self.send(work, partner)
        self.finish(op, work)
        self.store(work, out)


class FoldedTwice(UnfoldedRanks):
    """Recursive doubling: inputs of the ranks beyond the power of two are folded in twice."""

    says = "twice"
    folds = 2


class RootIgnored(Faulty):
    """Rank 0 is taken for the root of a reduction; the root's output stays as it was."""

    shows_at, says = ShowsAt("reduce", counts="any; root not 0"), "not written"

    def reduce(self, x: Array, out: Array | None, op: str, root: int) -> None:
        here = x.copy() if self.rank == 0 else None
        super().reduce(x, here, op, 0)
        if out is not None and root == 0 and here is not None:
            self.store(here, out)


class BroadcastFromZero(Faulty):
    """Broadcast begins at rank 0, whatever the root: it sends what its output held."""

    shows_at, says = ShowsAt("broadcast", counts="any; root not 0"), "not written|as it was"

    def broadcast(self, x: Array | None, out: Array, root: int) -> None:
        super().broadcast(out if root and self.rank == 0 else x, out, 0)


class ScanWithoutOwn(Faulty):
    """Scan leaves the rank's own input out, as exscan does."""

    shows_at, says = ShowsAt("scan"), "missing|rank [0-9]'s input alone"

    def scan(self, x: Array, out: Array, op: str) -> None:
        if self.rank == 0:
            self.store(x, out)
        super().exscan(x, out if self.rank else None, op)


class ExscanWithOwn(Faulty):
    """Exscan adds the rank's own input, as scan does."""

    shows_at, says = ShowsAt("exscan"), "too many"

    def exscan(self, x: Array, out: Array | None, op: str) -> None:
        super().scan(x, x.copy() if out is None else out, op)


class ScanFromTheEnd(Faulty):
    """Scan runs from the last rank down."""

    shows_at, says = ShowsAt("scan"), "missing|too many"

    def scan(self, x: Array, out: Array, op: str) -> None:
        work = self.load(x, out)
        if self.rank + 1 < self.size:
            self.merge(op, work, self.receive(work, self.rank + 1))
        if self.rank:
            self.send(work, self.rank - 1)
        self.store(work, out)


class ScanStopsEarly(Faulty):
    """Scan by doubling distances, the last of which is left out where N is no power of two."""

    shows_at, says = ShowsAt("scan", size=3, counts="any; N no power of two"), "rank 0 missing"

    def scan(self, x: Array, out: Array, op: str) -> None:
        work, distance = self.load(x, out), 1
        while 2 * distance <= self.size:
            before = work.copy()
            if self.rank + distance < self.size:
                self.wire.post(before, self.rank + distance)
            if self.rank >= distance:
                self.merge(op, work, self.receive(work, self.rank - distance))
            distance *= 2
        self.store(work, out)


class PartnersSwapped(Faulty):
    """Gather stores two ranks' blocks in each other's place."""

    shows_at, says = ShowsAt("gather"), "1 holds 2, 2 holds 1"

    def gather(self, x: Array, out: Array | None, root: int) -> None:
        super().gather(x, out, root)
        if out is not None and self.size > 2:
            blocks = self.chunks(out)
            one = blocks[1].copy()
            blocks[1][:], blocks[2][:] = blocks[2], one


class SecondKeepsOwn(Faulty):
    """Exscan on rank 1, which has nothing to merge, keeps its own input, not rank 0's."""

    shows_at, says = ShowsAt("exscan"), "rank 1: .*the rank's own input alone"

    def exscan(self, x: Array, out: Array | None, op: str) -> None:
        mine = x.copy()
        super().exscan(x, out, op)
        if self.rank == 1 and out is not None:
            self.store(mine, out)


class DiagonalBlocks(Faulty):
    """All-to-all sends each rank the block with its own number, not with the other's."""

    shows_at, says = ShowsAt("all_to_all"), "block 2 holds block 2 of rank 2's input"

    def all_to_all(self, x: Array, out: Array) -> None:
        given = self.chunks(x)
        same = np.concatenate([given[self.rank]] * self.size)
        super().all_to_all(same, out)


MUTANTS = mutants(
    "rank mapping", XorPartner, UnfoldedRanks, FoldedTwice, RootIgnored, BroadcastFromZero,
    ScanWithoutOwn, ExscanWithOwn, ScanFromTheEnd, ScanStopsEarly, PartnersSwapped,
    SecondKeepsOwn, DiagonalBlocks,
)  # fmt: skip
