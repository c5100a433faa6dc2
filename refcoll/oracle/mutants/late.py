"""Mutants that go on after their call has returned: in the next one, so that it can be told when.

What is written by a thread, or a device, comes at its own time; in which call does not matter.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from refcoll.communicator import Communicator
from refcoll.operators import Array
from refcoll.oracle.mutants.beyond import padded
from refcoll.oracle.mutants.mutant import Faulty, ShowsAt, mutants


class _Remembers(Faulty):
    """Knows the buffers of the call before."""

    def __init__(self, comm: Communicator) -> None:
        super().__init__(comm)
        self._before: Any = None

    def remember(self, *of: Array) -> Any:
        """What was remembered last."""
        before, self._before = self._before, of
        return before


class CompletesInNextCall(_Remembers):
    """Returns while the last chunk is on its way; whoever calls next lets it arrive
    (as a nonblocking collective does that nobody waits for)."""

    shows_at, says = ShowsAt("all_reduce"), "returned before its result was complete: .*chunk 3"

    def store(self, values: Array, out: Array) -> None:
        last = self.chunks(out)[-1]
        if before := self.remember(last, self.chunks(values)[-1].copy()):
            before[0][:] = before[1]
        out[: out.size - last.size] = values[: out.size - last.size]


class ReceivesIntoOldOutput(_Remembers):
    """A receive is left posted: the next call's first message lands in this call's result."""

    shows_at = ShowsAt("broadcast")
    says = "result was written to after the call had returned"

    def store(self, values: Array, out: Array) -> None:
        super().store(values, out)
        if (before := self.remember(out)) and before[0].size == values.size:
            before[0][:] = values


class ScratchInOldInput(_Remembers):
    """Memory that was registered for the call before is taken for scratch of this one."""

    shows_at, says = ShowsAt("reduce"), "input was written to after the call had returned"

    def load(self, x: Array, out: Array | None) -> Array:
        if (before := self.remember(x)) and before[0].size:
            before[0][0] = x[0] if x.size else 0
        return super().load(x, out)


class TailComesLate(_Remembers):
    """Whole vectors of 32 bytes are stored, and past the end: by an engine that is behind."""

    shows_at = ShowsAt("scatter", counts="no multiple of 8")
    says = "memory up to .* behind the end of a buffer was written to after the call"

    def store(self, values: Array, out: Array) -> None:
        super().store(values, out)
        if before := self.remember(out, values[:1].copy()):
            more = -before[0].nbytes % 32 // out.itemsize
            padded(before[0], more)[before[0].size :] = np.resize(before[1], more)


MUTANTS = mutants(
    "lateness", CompletesInNextCall, ReceivesIntoOldOutput, ScratchInOldInput, TailComesLate
)
