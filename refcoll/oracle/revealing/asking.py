"""Ask an implementation on all ranks, and think on one.

Rank 0 asks, with the inputs of all ranks, and gets the results of all; the others serve until
it has no more questions.  What they tell each other goes through a communicator that is not
the implementation's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any, TypeVar

import numpy as np

from refcoll.communicator import Communicator
from refcoll.errors import ArgumentError
from refcoll.operators import Array
from refcoll.oracle.calls import Call
from refcoll.oracle.guarded import Guarded
from refcoll.oracle.implementation import Factory, Implementation, called, named, unsupported
from refcoll.spawning import spawn
from refcoll.testing.inprocess import InProcess, World
from refcoll.testing.values import dtype_named

T = TypeVar("T")
Ask = Callable[[Call, Sequence[Array], int], "list[Array | None]"]
"""ask(call, inputs, shift): results by rank, None where a rank gets none.  Buffers stand
``shift`` elements behind an aligned address."""
THINKING = 3600.0
"""Seconds that rank 0 may take between two questions."""


class Asking:
    """One rank's part: on rank 0 ``ask``, on the others ``serve``."""

    def __init__(self, comm: Communicator, implementation: Implementation) -> None:
        self._comm, self._implementation = comm, implementation
        self.name = named(implementation)
        self.refused = False
        """Whether a question has been refused, which ends it on all ranks."""

    def ask(self, call: Call, inputs: Sequence[Array], shift: int = 0) -> list[Array | None]:
        """Results by rank.  Raises ArgumentError where the implementation refuses or raises."""
        self._told({"call": asdict(call), "shift": shift})
        return self._answered(call, shift, np.concatenate(inputs))

    def end(self) -> None:
        """No more questions."""
        self._told({"call": None})

    def serve(self) -> None:
        """Answer until rank 0 has no more questions."""
        while (told := self._told({}))["call"] is not None:
            call = Call(**told["call"])
            whole = call.input_length(0, self._comm.size) * self._comm.size
            self._answered(call, told["shift"], np.zeros(whole, dtype_named(call.dtype)))

    def _told(self, record: dict[str, Any]) -> dict[str, Any]:
        """What rank 0 says."""
        everyone = self._comm.agreement.collect({"collective": "reveal", **record}, (), THINKING)
        return everyone[0]

    def _answered(self, call: Call, shift: int, whole: Array) -> list[Array | None]:
        size, dtype = self._comm.size, dtype_named(call.dtype)
        x = Guarded(call.input_length(self._comm.rank, size), dtype, shift).array
        self._comm.scatter(whole, 0, out=x)
        lengths = [call.output_length(rank, size) for rank in range(size)]
        mine = lengths[self._comm.rank]
        out = Guarded(call.count if mine is None else mine, dtype, shift).array
        status = self._tried(call, x, None if mine is None else out)
        self._require_done(status)
        got = self._comm.gather(out, 0)
        if got is None or self._comm.rank:
            return []
        rows = got.reshape(size, -1)
        return [None if n is None else row for row, n in zip(rows, lengths, strict=True)]

    def _tried(self, call: Call, x: Array, out: Array | None) -> str:
        reason = unsupported(self._implementation, call)
        if reason is not None:
            return reason
        try:
            with np.errstate(all="ignore"):
                called(self._implementation, call, x, out)
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        return ""

    def _require_done(self, status: str) -> None:
        record = {"collective": "reveal", "status": status}
        everyone = self._comm.agreement.collect(record, (), THINKING)
        said = {rank: each["status"] for rank, each in enumerate(everyone) if each["status"]}
        if said:
            self.refused = True
            rank, first = next(iter(said.items()))
            raise ArgumentError(f"{self.name} does not do this (rank {rank}): {first}")


def asked(
    comm: Communicator, implementation: Implementation, function: Callable[[Ask, str], T]
) -> T | None:
    """``function(ask, name of the implementation)`` on rank 0; None on the others.  Collective."""
    asking = Asking(comm, implementation)
    if comm.rank:
        asking.serve()
        return None
    try:
        return function(asking.ask, asking.name)
    finally:
        if not asking.refused:
            asking.end()


def asked_in_process(
    make: Factory, size: int, function: Callable[[Ask, str], T], timeout: float = 30.0
) -> T:
    """The same, on ranks that are threads of this process."""
    world = World(size)  # the implementation's own

    def on_rank(comm: Communicator) -> T | None:
        implementation = make(Communicator(InProcess(world, comm.rank), timeout))
        return asked(comm, implementation, function)

    found = spawn(size, on_rank, timeout=THINKING)[0]
    assert found is not None
    return found
