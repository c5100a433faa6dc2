"""Mutants that go wrong where buffers share memory, or write what is not theirs."""

from __future__ import annotations

import numpy as np

from refcoll.operators import Array, operator
from refcoll.oracle.mutants.mutant import Faulty, ShowsAt, mutants


class InPlaceOverwritten(Faulty):
    """Builds the sum in the output, and adds the input last: in place it is gone by then
    (open-mpi/ompi#9385)."""

    shows_at, says = ShowsAt("all_reduce", counts="any; in place"), "missing, rank 0 8 times"

    def all_reduce(self, x: Array, out: Array, op: str) -> None:
        if self.rank:
            out[:] = self.receive(x, self.rank - 1)
            self.merge(op, out, x)
        else:
            out[:] = x
        if self.rank + 1 < self.size:
            self.send(out, self.rank + 1)
        self.broadcast(out if self.rank == self.size - 1 else None, out, self.size - 1)
        self.finish(op, out)


class WorksInTheInput(Faulty):
    """Merges into the caller's input, and copies the result out."""

    shows_at, says = ShowsAt("all_reduce", counts="any; out of place"), "input is not as it was"

    def load(self, x: Array, out: Array | None) -> Array:
        return x


class InputsOfInnerRanks(Faulty):
    """Ranks inside the tree merge into their inputs; the root does not."""

    shows_at, says = ShowsAt("reduce"), "rank.*input is not as it was"

    def load(self, x: Array, out: Array | None) -> Array:
        return x if out is None else x.copy()


class AliasedOutputs(Faulty):
    """A list made by repeating one buffer: all blocks lie in the same place
    (pytorch/pytorch#14632)."""

    shows_at, says = ShowsAt("all_gather"), "every block holds block"

    def all_gather(self, x: Array, out: Array) -> None:
        blocks = [np.empty(x.size, x.dtype)] * self.size
        for other in range(self.size):
            blocks[other][:] = x
            for to in range(self.size):
                if other == self.rank != to:
                    self.wire.post(x, to)
            if other != self.rank:
                blocks[other][:] = self.receive(x, other)
        out[:] = np.concatenate(blocks)


class NcclInPlace(Faulty):
    """In place the piece is put where it was in the buffer, as NCCL has it, not at the start
    (pmodels/mpich#1594)."""

    shows_at, says = ShowsAt("reduce_scatter", counts="any; in place"), "NCCL"

    def reduce_scatter(self, x: Array, out: Array, op: str) -> None:
        if np.may_share_memory(x, out):
            out = self.chunks(x)[self.rank]
        super().reduce_scatter(x, out, op)


class GatherInPlaceFromStart(Faulty):
    """In place it takes its own block from the start of the buffer."""

    shows_at, says = ShowsAt("all_gather", counts="any; in place"), "not written|as it was"

    def all_gather(self, x: Array, out: Array) -> None:
        super().all_gather(out[: x.size] if np.may_share_memory(x, out) else x, out)


class ScanReceivesOverInput(Faulty):
    """Receives what comes before into the output, and adds the input to it."""

    shows_at, says = ShowsAt("scan", counts="any; in place"), "missing|twice"

    def scan(self, x: Array, out: Array, op: str) -> None:
        if self.rank:
            out[:] = self.receive(out, self.rank - 1)
            self.merge(op, out, x)
        else:
            out[:] = x
        if self.rank + 1 < self.size:
            self.send(out, self.rank + 1)
        operator(op).finish(out, self.rank + 1)


class InPlaceNotLoaded(Faulty):
    """Copies the input to the output first, unless they are the same, and works on scratch
    that only this copy fills."""

    shows_at, says = ShowsAt("all_reduce", counts="any; in place"), "zeros"

    def load(self, x: Array, out: Array | None) -> Array:
        work = np.zeros_like(x)
        if out is not None and not np.may_share_memory(x, out):
            work[:] = x
        return work


class AllToAllThroughOutput(Faulty):
    """Sends from the output, where the blocks that came before lie already."""

    shows_at, says = ShowsAt("all_to_all", size=5), "block|rank"

    def all_to_all(self, x: Array, out: Array) -> None:
        out[:] = x
        blocks = self.chunks(out)
        for by in range(1, self.size):
            to, source = (self.rank + by) % self.size, (self.rank - by) % self.size
            blocks[source][:] = self.swap(blocks[to], to, source)


MUTANTS = mutants(
    "aliasing", InPlaceOverwritten, WorksInTheInput, InputsOfInnerRanks, AliasedOutputs,
    NcclInPlace, GatherInPlaceFromStart, ScanReceivesOverInput, InPlaceNotLoaded,
    AllToAllThroughOutput,
)  # fmt: skip
