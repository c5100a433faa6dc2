"""Mutants that read memory too early, too late, or before it was written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from refcoll.communicator import Communicator
from refcoll.operators import Array
from refcoll.oracle.guarded import poison
from refcoll.oracle.mutants.mutant import Faulty, ShowsAt, mutants


class WrongHalfOfDoubleBuffer(Faulty):
    """Results alternate between two buffers, and the other one is delivered."""

    shows_at, says = ShowsAt("all_reduce"), "previous call"

    def __init__(self, comm: Communicator) -> None:
        super().__init__(comm)
        self._last: dict[int, Array] = {}

    def store(self, values: Array, out: Array) -> None:
        last = self._last.get(values.nbytes, values)
        self._last[values.nbytes] = values.copy()
        out[:] = last.view(out.dtype)


class CachedByShape(Faulty):
    """Results are kept for calls that look alike: of the same count, dtype and operator."""

    shows_at, says = ShowsAt("reduce"), "previous call"

    def __init__(self, comm: Communicator) -> None:
        super().__init__(comm)
        self._kept: dict[Any, Array] = {}

    def store(self, values: Array, out: Array) -> None:
        out[:] = self._kept.setdefault((values.size, values.dtype), values.copy())


class PlanWithoutOperator(Faulty):
    """Plans are kept by count and dtype: the first call's operator is everybody's."""

    shows_at = ShowsAt("all_reduce", operators=("sum", "max"))
    says = "the (sum|maximum), not the (sum|max)"

    def __init__(self, comm: Communicator) -> None:
        super().__init__(comm)
        self._plans: dict[Any, str] = {}

    def all_reduce(self, x: Array, out: Array, op: str) -> None:
        super().all_reduce(x, out, self._plans.setdefault((x.size, x.dtype), op))


class OperatorOfTheLastCall(Faulty):
    """In place, the operator that was set for the last call out of place is used."""

    shows_at = ShowsAt("all_reduce", counts="any; in place", operators=("sum", "max"))
    says = "the maximum, not the sum"

    def __init__(self, comm: Communicator) -> None:
        super().__init__(comm)
        self._set = "sum"

    def all_reduce(self, x: Array, out: Array, op: str) -> None:
        if x is not out:
            self._set = op
        super().all_reduce(x, out, self._set)


class StaleTail(Faulty):
    """The last elements of a scratch, beyond a multiple of eight, are not filled anew."""

    shows_at, says = ShowsAt("all_reduce", counts="no multiple of 8"), "previous call"

    def __init__(self, comm: Communicator) -> None:
        super().__init__(comm)
        self._scratch: dict[Any, Array] = {}

    def load(self, x: Array, out: Array | None) -> Array:
        kept = self._scratch.setdefault((x.size, x.dtype), x.copy())
        whole = x.size // 8 * 8
        kept[:whole] = x[:whole]
        return kept.copy()


class UninitialisedPadding(Faulty):
    """Pads to a multiple of four with memory that nobody has written, and merges that with
    the last element (deepspeedai/DeepSpeed#3832)."""

    shows_at, says = ShowsAt("reduce", counts="no multiple of 4"), "uninitialised|NaN"

    def load(self, x: Array, out: Array | None) -> Array:
        work = x.copy()
        if x.size % 4:
            garbage = poison(x.dtype).view(x.dtype)
            self.merge("sum", work[-1:], garbage)
        return work


class DeliveredTooEarly(Faulty):
    """The result is copied out before the last message of the ring has come."""

    shows_at, says = ShowsAt("all_reduce"), "missing|own input"

    def share(self, chunks: Sequence[Array], first: int) -> None:
        last = chunks[(first + 1) % self.size]
        before = last.copy()
        super().share(chunks, first)
        last[:] = before


class MixedCalls(Faulty):
    """A message more than is received is sent in each call: later calls get earlier ones'
    (as in open-mpi/ompi#2427, where two calls share a tag)."""

    shows_at, says = ShowsAt("scan"), "input of rank .* is that of the previous call"

    def send(self, values: Array, to: int) -> None:
        self.wire.post(values, to)

    def scan(self, x: Array, out: Array, op: str) -> None:
        super().scan(x, out, op)
        if self.rank + 1 < self.size:
            self.wire.post(out, self.rank + 1)


class AddsToTheOutput(Faulty):
    """Adds to the output, which it takes to hold zeros."""

    shows_at, says = ShowsAt("reduce_scatter"), "what the output held before"

    def store(self, values: Array, out: Array) -> None:
        with np.errstate(all="ignore"):
            out += values


class SendsBeforeWritten(Faulty):
    """The root sends while the memory it sends from is still being filled: the last half of
    what arrives is zeros."""

    shows_at, says = ShowsAt("broadcast", counts="2 and more"), "zeros"

    def send(self, values: Array, to: int) -> None:
        late = values.copy()
        late[values.size // 2 :] = 0
        super().send(late, to)


class GatherDeliversLastCall(Faulty):
    """Blocks that arrive are put into a buffer that is delivered by the next call."""

    shows_at, says = ShowsAt("all_gather"), "previous call"

    def __init__(self, comm: Communicator) -> None:
        super().__init__(comm)
        self._kept: dict[Any, Array] = {}

    def store(self, values: Array, out: Array) -> None:
        key = (values.size, values.dtype)
        out[:] = self._kept.get(key, values)
        self._kept[key] = values.copy()


class DeliversBeforeRefilled(Faulty):
    """There are two buffers in turn; the first chunk is delivered before the buffer is filled."""

    shows_at, says = ShowsAt("all_reduce", counts="4 and more"), "what the 2nd last call"

    def __init__(self, comm: Communicator) -> None:
        super().__init__(comm)
        self._kept: dict[Any, list[Array]] = {}

    def store(self, values: Array, out: Array) -> None:
        kept = self._kept.setdefault((values.size, values.dtype), [])
        kept.append(values.copy())
        super().store(values, out)
        first = self.chunks(out)[0]
        first[:] = kept.pop(0)[: first.size] if len(kept) > 2 else first


class FirstCallLost(Faulty):
    """Connections are made in the first call, and what is sent meanwhile is lost."""

    shows_at, says = ShowsAt("gather"), "zeros in"

    def __init__(self, comm: Communicator) -> None:
        super().__init__(comm)
        self._connected = False

    def gather(self, x: Array, out: Array | None, root: int) -> None:
        super().gather(x if self._connected else np.zeros_like(x), out, root)
        self._connected = True


MUTANTS = mutants(
    "memory", WrongHalfOfDoubleBuffer, CachedByShape, PlanWithoutOperator,
    OperatorOfTheLastCall, StaleTail, UninitialisedPadding, DeliveredTooEarly, MixedCalls,
    AddsToTheOutput, SendsBeforeWritten, GatherDeliversLastCall, DeliversBeforeRefilled,
    FirstCallLost,
)  # fmt: skip
