"""A collective prepared once, to be run many times."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from refcoll.agreement import CHANNEL
from refcoll.buffers import Buffers
from refcoll.calls import Calls, Considered
from refcoll.errors import ArgumentError
from refcoll.inorder import Handle
from refcoll.interpreters.execute import Plan
from refcoll.operators import Array

if TYPE_CHECKING:
    from refcoll.stragglers import Watch


class CollectivePlan:
    """A collective on given arrays, made once by all ranks together, run many times.

    Each run reads ``x`` anew, and writes the result anew into the same array: ``out``, or
    one that the plan has made.  Nothing is compared between ranks again.  All ranks must
    run their plans in the same order.
    """

    def __init__(self, comm: Calls, considered: Considered, sequence: int, check: bool) -> None:
        self._comm = comm
        call, _ = comm._agreed(considered, sequence, None, check)
        self.algorithm = call.program.name
        self.reason = call.reason
        """Why this algorithm, in words."""
        self.number, self.channel = sequence, CHANNEL + sequence
        """Of the call that made it, and where its messages go."""
        self._buffers = Buffers(call, comm.transport)
        self._plan = Plan(
            call.program,
            comm.transport,
            self._buffers.memory,
            call.layout,
            call.op,
            self.channel,
            self._buffers.source,
        )
        self._load, self._store = self._buffers.load, self._buffers.store
        self._execute = self._plan.run
        self._started: Handle[Any] | None = None

    def run(self, timeout: float | None = None) -> Any:
        """Do it once; returns the result as the communicator's method does."""
        comm = self._comm
        limit, watching = comm._limit(timeout), comm.watching
        if comm._order.idle and comm._ordered is None:
            return comm._guarded(self._run, limit, watching)
        return comm._do(lambda: self._run(limit, watching))

    def __repr__(self) -> str:
        return f"<CollectivePlan {self._plan.program.title}>"

    def start(self, timeout: float | None = None) -> Handle[Any]:
        """Do it in the background; ``wait()``, of the handle or of the plan, returns the result."""
        limit, watching = self._comm._limit(timeout), self._comm.watching
        self._started = self._comm._begin(lambda: self._run(limit, watching))
        return self._started

    def wait(self) -> Any:
        """The result of the run that was started last, once it has ended, or what it raised.

        Raises ArgumentError where none was started.
        """
        if self._started is None:
            raise ArgumentError("plan.wait(): nothing was started; call start() first, or run()")
        return self._started.wait()

    def _run(self, limit: float, watching: Sequence[Watch]) -> Array | None:
        entered = time.monotonic() if watching else 0.0
        try:
            self._load()
            self._execute(limit)
            for watch in watching:
                watch.note(self._plan.program, self.number, False, entered)
            return self._store()
        except BaseException as error:  # a user's operator may raise anything, on one rank only
            self._comm._abort(error)
            raise
