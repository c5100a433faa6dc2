"""Run one rank of a program over a transport.

A plan is compiled once (``compiling``): every step becomes a stage of prepared messages and
merges on fixed views of the rank's memory.  Running it is a loop over the stages:

    pack the chunks that are scattered
    start the exchange
    for each receive, in the order written: wait for it, merge or unpack it
    release the exchange: now the sent chunks may change

What a step both sends and merges into, the transport keeps as it was (``changes``).
"""

from __future__ import annotations

from contextvars import copy_context

import numpy as np

from refcoll.chunks import Layout
from refcoll.errors import DeadlineError, TransportError
from refcoll.graph import is_chain
from refcoll.interpreters.compiling import Compiler, Input, Stage
from refcoll.operators import Array, Operator
from refcoll.programs import Program
from refcoll.schedule import ScheduleError
from refcoll.transport import Transport

__all__ = ["Input", "Plan"]


class Plan:
    """One rank's part in ``program``, on ``memory``, to be run any number of times.

    ``memory`` is the rank's vector, 1-D and contiguous, and any scratch areas behind it.  It
    holds the rank's input, unless that is given as ``source``: then it is read from there.
    """

    def __init__(
        self,
        program: Program,
        transport: Transport,
        memory: Array,
        layout: Layout,
        op: Operator,
        channel: int,
        source: Input | None = None,
    ) -> None:
        self.program, self.transport, self._channel = program, transport, channel
        graph = program.graph(transport.rank)
        if not is_chain(graph):
            raise ScheduleError(f"{program.title} has steps side by side; they cannot be run")
        compiler = Compiler(transport, memory, layout, op, source)
        self.stages = [compiler.stage(node) for node in graph]
        self._loads = compiler.vector.rest()
        for stage in self.stages:
            stage.prepare(transport, channel)
        self._runs = 0
        self._stage: Stage | None = None
        """The one under way."""
        self._doing = self.doing
        # numpy keeps its error state in the context: entering one is cheaper than errstate.
        self._quiet = copy_context() if op.ufunc is not None else None
        if self._quiet is not None:
            self._quiet.run(np.seterr, all="ignore")

    def run(self, timeout: float) -> None:
        """Do it once.  No wait lasts longer than ``timeout`` seconds.

        Raises TransportError, or a kind of it, that says at which step it went wrong.
        """
        if self._quiet is not None:
            self._quiet.run(self._run_all, timeout)
        else:
            self._run_all(timeout)

    def doing(self) -> str:
        """Where the run is, in words."""
        at = "before its first step"
        if self._stage is not None:
            at = f"step {self._stage.number + 1} of {self.stages[-1].number + 1}"
        again = f", run {self._runs}" if self._runs > 1 else ""
        return f"{self.program.title} (call {self._channel}{again}), {at}"

    def _run_all(self, timeout: float) -> None:
        for to, taken in self._loads:
            np.copyto(to, taken)
        self.transport.doing = self._doing
        self._runs += 1
        try:
            for stage in self.stages:
                self._stage = stage
                stage.run(timeout)
        except TransportError as error:
            raise error.told(f"{self.doing()}: {error.message}", remedy(error)) from None


def remedy(error: TransportError) -> str:
    """What to do, for a wait that was in vain."""
    if not isinstance(error, DeadlineError):
        return ""
    see = "" if error.culprit is None else f"see the output of rank {error.culprit}, or "
    return f"{see}allow more time by timeout="
