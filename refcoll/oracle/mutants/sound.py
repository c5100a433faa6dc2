"""A right implementation of all ten collectives, in small methods that mutants replace.

    all_reduce       ring: reduce-scatter, then all-gather, of N chunks
    reduce_scatter   the ring's first half        all_gather   its second half
    broadcast        binomial tree                reduce       the same, upwards
    gather, scatter  straight to and from the root
    all_to_all       N - 1 swaps, k ranks ahead and k behind
    scan, exscan     along a chain

It is written for mutants to go wrong in, apart from refcoll's own algorithms, and is itself
judged by the tests: a fault must come from what a mutant replaces.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from refcoll.communicator import Communicator
from refcoll.operators import Array, operator
from refcoll.oracle.calls import MISALIGNED, STRIDED
from refcoll.oracle.mutants.wire import Wire


class Sound:
    """One rank's end; the methods of ``implementation``, and what they are made of."""

    layouts = (STRIDED, MISALIGNED)

    def __init__(self, comm: Communicator) -> None:
        self.rank, self.size = comm.rank, comm.size
        self.wire = Wire(comm)
        self.name = type(self).__name__

    # ---- what collectives are made of ----------------------------------------------------

    def load(self, x: Array, out: Array | None) -> Array:
        """Memory to work in, holding the input."""
        return x.copy()

    def store(self, values: Array, out: Array) -> None:
        """Deliver the result."""
        out[:] = values

    def merge(self, op: str, left: Array, right: Array) -> None:
        """``left`` becomes left op right."""
        operator(op).merge(left, right, left)

    def finish(self, op: str, values: Array) -> None:
        """The mean is the sum over N; logical results are 0 or 1."""
        operator(op).finish(values, self.size)

    def bounds(self, count: int) -> list[int]:
        """Where the N chunks of a vector begin, and where the last one ends."""
        return [count * index // self.size for index in range(self.size + 1)]

    def chunks(self, values: Array) -> list[Array]:
        """Views of the N chunks."""
        cut = self.bounds(values.size)
        return [values[cut[index] : cut[index + 1]] for index in range(self.size)]

    def owned(self) -> int:
        """The chunk that this rank has merged after the ring's first half."""
        return self.rank

    def swap(self, values: Array, to: int, source: int, count: int | None = None) -> Array:
        """Send to one rank, receive from another."""
        return self.wire.swap(values, to, source, count)

    def around(self, chunks: Sequence[Array], op: str) -> None:
        """The ring's first half: at step s I merge into chunk (owned + N - 1 - s - 1)."""
        ahead, behind = (self.rank + 1) % self.size, (self.rank - 1) % self.size
        for step in range(self.size - 1):
            sent = chunks[(self.owned() - step - 1) % self.size]
            mine = chunks[(self.owned() - step - 2) % self.size]
            self.merge(op, mine, self.swap(sent, ahead, behind, mine.size))

    def share(self, chunks: Sequence[Array], first: int) -> None:
        """The ring's second half: chunks are passed on, each rank beginning with its ``first``."""
        ahead, behind = (self.rank + 1) % self.size, (self.rank - 1) % self.size
        for step in range(self.size - 1):
            sent = chunks[(first - step) % self.size]
            got = chunks[(first - step - 1) % self.size]
            got[:] = self.swap(sent, ahead, behind, got.size)

    # ---- collectives ---------------------------------------------------------------------

    def all_reduce(self, x: Array, out: Array, op: str) -> None:
        """As in ``implementation``; so are the others."""
        work = self.load(x, out)
        chunks = self.chunks(work)
        self.around(chunks, op)
        self.share(chunks, self.owned())
        self.finish(op, work)
        self.store(work, out)

    def reduce_scatter(self, x: Array, out: Array, op: str) -> None:
        work = self.load(x, out)
        chunks = self.chunks(work)
        self.around(chunks, op)
        mine = chunks[self.owned()]
        self.finish(op, mine)
        self.store(mine, out)

    def all_gather(self, x: Array, out: Array) -> None:
        work = np.empty(out.size, out.dtype)
        blocks = self.chunks(work)
        blocks[self.rank][:] = x
        self.share(blocks, self.rank)
        self.store(work, out)

    def broadcast(self, x: Array | None, out: Array, root: int) -> None:
        work = out.copy() if x is None else x.copy()
        place, distance = (self.rank - root) % self.size, 1
        while distance < self.size:
            if place < distance and place + distance < self.size:
                self.send(work, (self.rank + distance) % self.size)
            elif distance <= place < 2 * distance:
                work = self.receive(work, (self.rank - distance) % self.size)
            distance *= 2
        self.store(work, out)

    def reduce(self, x: Array, out: Array | None, op: str, root: int) -> None:
        work = self.load(x, out)
        place, distance = (self.rank - root) % self.size, 1
        while distance < self.size:
            if place & distance:
                self.send(work, (self.rank - distance) % self.size)
                break
            if place + distance < self.size:
                self.merge(op, work, self.receive(work, (self.rank + distance) % self.size))
            distance *= 2
        if out is not None:
            self.finish(op, work)
            self.store(work, out)

    def gather(self, x: Array, out: Array | None, root: int) -> None:
        if out is None:
            self.send(x, root)
            return
        blocks = self.chunks(out)
        for other in range(self.size):
            blocks[other][:] = x if other == root else self.receive(x, other)

    def scatter(self, x: Array | None, out: Array, root: int) -> None:
        if x is None:
            self.store(self.receive(out, root), out)
            return
        for other, block in enumerate(self.chunks(x)):
            if other != root:
                self.send(block, other)
        self.store(self.chunks(x)[root], out)

    def all_to_all(self, x: Array, out: Array) -> None:
        given, got = self.chunks(x), self.chunks(out)
        got[self.rank][:] = given[self.rank]
        for by in range(1, self.size):
            to, source = (self.rank + by) % self.size, (self.rank - by) % self.size
            got[source][:] = self.swap(given[to], to, source)

    def scan(self, x: Array, out: Array, op: str) -> None:
        work = self.load(x, out)
        if self.rank:
            self.merge(op, work, self.receive(work, self.rank - 1))
        if self.rank + 1 < self.size:
            self.send(work, self.rank + 1)
        operator(op).finish(work, self.rank + 1)
        self.store(work, out)

    def exscan(self, x: Array, out: Array | None, op: str) -> None:
        before = self.receive(x, self.rank - 1) if self.rank else None
        if self.rank + 1 < self.size:
            work = self.load(x, out)
            if before is not None:
                self.merge(op, work, before)
            self.send(work, self.rank + 1)
        if before is not None and out is not None:
            operator(op).finish(before, self.rank)
            self.store(before, out)

    def send(self, values: Array, to: int) -> None:
        """Returns when the other rank has it."""
        self.wire.send(values, to)

    def receive(self, like: Array, source: int) -> Array:
        """A message of the length and dtype of ``like``."""
        return self.wire.receive(like.size, like.dtype, source)
