"""Mutants that wait for ever, or give up: on all ranks or on one."""

from __future__ import annotations

from typing import Any

import numpy as np

from refcoll.operators import Array
from refcoll.oracle.mutants.mutant import Faulty, ShowsAt, mutants


class SendsFirst(Faulty):
    """All ranks send, then receive: it works while messages are buffered, up to 1 KiB
    (open-mpi/ompi#1669)."""

    shows_at, says = ShowsAt("all_gather", hangs=True, counts="more than 256"), "did not return"

    def swap(self, values: Array, to: int, source: int, count: int | None = None) -> Array:
        like = values if count is None else np.empty(count, values.dtype)
        if values.nbytes <= 1024:
            self.wire.post(values, to)
        else:
            self.send(values, to)
        return self.receive(like, source)


class ReturnsEarly(Faulty):
    """A rank whose chunk is empty has nothing to do, and returns: its neighbours wait."""

    shows_at, says = ShowsAt("all_reduce", hangs=True, counts="fewer than N"), "did not return"

    def all_reduce(self, x: Array, out: Array, op: str) -> None:
        if self.chunks(x)[self.rank].size or x.size == 0:
            super().all_reduce(x, out, op)


class RaisesOnOneRank(Faulty):
    """One rank raises, the others wait (chainer/chainermn#236)."""

    shows_at, says = ShowsAt("all_reduce", hangs=True), "^rank 1: raised TypeError"

    def all_reduce(self, x: Array, out: Array, op: str) -> None:
        if self.rank == 1 and x.size:
            raise TypeError("cannot cast the tensor")
        super().all_reduce(x, out, op)


class RefusesOnOneRank(Faulty):
    """One rank does not support the dtype, and says so to nobody."""

    shows_at, says = ShowsAt("broadcast", hangs=True), "^rank 2: refused"

    def broadcast(self, x: Array | None, out: Array, root: int) -> None:
        if self.rank == 2 and out.size:
            raise NotImplementedError("no kernel for this dtype")
        super().broadcast(x, out, root)


class NothingToGather(Faulty):
    """Divides by the size of the data, which may be none (pytorch/pytorch#85234)."""

    shows_at, says = ShowsAt("all_gather", counts="0"), "ZeroDivisionError"

    def all_gather(self, x: Array, out: Array) -> None:
        _ = out.nbytes % x.nbytes
        super().all_gather(x, out)


class PeersNotRotated(Faulty):
    """The tree is turned to the root, the peers in it are not: ranks wait for the wrong ones."""

    shows_at, says = (
        ShowsAt("reduce", hangs=True, size=3, counts="any; root not 0"),
        "did not return",
    )

    def reduce(self, x: Array, out: Array | None, op: str, root: int) -> None:
        work = self.load(x, out)
        place, distance = (self.rank - root) % self.size, 1
        while distance < self.size:
            if place & distance:
                self.send(work, place - distance)
                break
            if place + distance < self.size:
                self.merge(op, work, self.receive(work, (place + distance) % self.size))
            distance *= 2
        if out is not None:
            self.store(work, out)


class EmptyNotSent(Faulty):
    """Empty blocks are not sent by the root, but waited for by the others."""

    shows_at, says = ShowsAt("scatter", hangs=True, counts="0"), "did not return"

    def send(self, values: Array, to: int) -> None:
        if values.size:
            super().send(values, to)


class AlternatingDeadlock(Faulty):
    """Even ranks send first, odd ones receive first: two even ones wait for each other."""

    shows_at, says = ShowsAt("all_to_all", hangs=True), "did not return"

    def swap(self, values: Array, to: int, source: int, count: int | None = None) -> Array:
        if self.rank % 2 == 0:
            self.send(values, to)
            return self.receive(values, source)
        came = self.receive(values, source)
        self.send(values, to)
        return came


class OtherCount(Faulty):
    """The last rank rounds its count down to a multiple of two (as in NVIDIA/nccl#1394)."""

    shows_at, says = ShowsAt("reduce", hangs=True, counts="odd"), "bytes"

    def load(self, x: Array, out: Any) -> Array:
        work = super().load(x, out)
        return work[: x.size // 2 * 2] if self.rank == self.size - 1 else work


MUTANTS = mutants(
    "ending", SendsFirst, ReturnsEarly, RaisesOnOneRank, RefusesOnOneRank, NothingToGather,
    PeersNotRotated, EmptyNotSent, AlternatingDeadlock, OtherCount,
)  # fmt: skip
