"""Mutants whose results are right, but not the same on all ranks or in all calls."""

from __future__ import annotations

import numpy as np

from refcoll.communicator import Communicator
from refcoll.operators import Array
from refcoll.oracle.mutants.mutant import Faulty, ShowsAt, mutants

FLOATS = ("float32", "float64")


class _GathersAll(Faulty):
    """Gathers all inputs, and merges them itself, in an order of its own."""

    def order(self, out: Array) -> list[int]:
        """Ranks, as they are merged."""
        return list(range(self.size))

    def all_reduce(self, x: Array, out: Array, op: str) -> None:
        whole = np.empty(x.size * self.size, x.dtype)
        self.all_blocks(x, whole)
        blocks = self.chunks(whole)
        first, *others = self.order(out)
        work = blocks[first].copy()
        for other in others:
            self.merge(op, work, blocks[other])
        self.finish(op, work)
        self.store(work, out)

    def all_blocks(self, x: Array, whole: Array) -> None:
        """Everybody's input, by rank."""
        blocks = self.chunks(whole)
        blocks[self.rank][:] = x
        self.share(blocks, self.rank)


class OwnFirst(_GathersAll):
    """Each rank begins with its own input (open-mpi/ompi#12258)."""

    shows_at = ShowsAt("all_reduce", dtypes=FLOATS, operators=("sum",))
    says = "not the same bits"

    def order(self, out: Array) -> list[int]:
        return sorted(range(self.size), key=lambda rank: rank != self.rank)


class OneRankWider(_GathersAll):
    """Rank 0 adds in double precision, the others do not."""

    shows_at = ShowsAt("all_reduce", dtypes=("float32",), operators=("sum",))
    says = "not the same bits"

    def all_reduce(self, x: Array, out: Array, op: str) -> None:
        if self.rank or op != "sum":
            super().all_reduce(x, out, op)
            return
        whole = np.empty(x.size * self.size, x.dtype)
        self.all_blocks(x, whole)
        out[:] = whole.reshape(self.size, -1).astype(np.float64).sum(axis=0)


class ReciprocalOnOneRank(Faulty):
    """The last rank multiplies by 1/N, the others divide by N."""

    shows_at = ShowsAt("all_reduce", size=3, dtypes=FLOATS, operators=("avg",))
    says = "not the same bits"

    def finish(self, op: str, values: Array) -> None:
        if op == "avg" and self.rank == self.size - 1:
            values *= values.dtype.type(1 / self.size)
        else:
            super().finish(op, values)


class SignOfZero(_GathersAll):
    """Of -0.0 and 0.0 each rank keeps the one it meets first."""

    shows_at = ShowsAt("all_reduce", dtypes=("float32",), operators=("min", "max"))
    says = "not the same bits"

    def order(self, out: Array) -> list[int]:
        return [(self.rank + by) % self.size for by in range(self.size)]

    def merge(self, op: str, left: Array, right: Array) -> None:
        with np.errstate(all="ignore"):
            other = (right < left) if op == "min" else (right > left)
            left[:] = np.where(other | (right != right), right, left)


class OrderOfArrival(_GathersAll):
    """Inputs are merged as they come, another rank's first in each call
    (as NVIDIA/nccl#1497 in a switch)."""

    shows_at = ShowsAt("all_reduce", dtypes=FLOATS, operators=("sum",))
    says = "other bits"

    def __init__(self, comm: Communicator) -> None:
        super().__init__(comm)
        self._calls = 0

    def order(self, out: Array) -> list[int]:
        self._calls += 1
        return [(self._calls + by) % self.size for by in range(self.size)]


class OrderByAlignment(_GathersAll):
    """The vector code, for aligned memory, merges from the other end."""

    shows_at = ShowsAt("all_reduce", dtypes=("float32",), operators=("sum",))
    says = "other bits one element further from an aligned address"

    def order(self, out: Array) -> list[int]:
        forward = list(range(self.size))
        return forward if out.ctypes.data % 16 == 0 else forward[::-1]


class ScatterOrderOfArrival(Faulty):
    """Reduce-scatter goes around the ring another way in every third call."""

    shows_at = ShowsAt("reduce_scatter", size=3, dtypes=FLOATS, operators=("sum",))
    says = "other bits the next time but one"

    def __init__(self, comm: Communicator) -> None:
        super().__init__(comm)
        self._calls = 0

    def reduce_scatter(self, x: Array, out: Array, op: str) -> None:
        self._calls += 1
        step = 1 if self._calls % 3 == 1 else -1
        work = self.load(x, out)
        order = [(self.rank + step * by) % self.size for by in range(1, self.size)]
        mine = self.chunks(work)[self.rank].copy()
        for other in order:
            opposite = (2 * self.rank - other) % self.size
            came = self.swap(self.chunks(work)[opposite], opposite, other, mine.size)
            self.merge(op, mine, came)
        self.finish(op, mine)
        self.store(mine, out)


MUTANTS = mutants("agreement", OwnFirst, OneRankWider, ReciprocalOnOneRank, SignOfZero) + mutants(
    "repeatability", OrderOfArrival, OrderByAlignment, ScatterOrderOfArrival
)
