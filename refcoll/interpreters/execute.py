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
from refcoll.errors import TransportError
from refcoll.graph import is_chain
from refcoll.interpreters.compiling import Compiler
from refcoll.interpreters.vector import Input
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
        self.program, self.transport = program, transport
        graph = program.graph(transport.rank)
        if not is_chain(graph):
            raise ScheduleError(f"{program.title} has steps side by side; they cannot be run")
        compiler = Compiler(transport, memory, layout, op, source)
        self.stages = [compiler.stage(node) for node in graph]
        self._loads = compiler.vector.rest()
        for stage in self.stages:
            stage.prepare(transport, channel)
        self._where = _Where(program.title, channel, self.stages[-1].number if self.stages else 0)
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

    def _run_all(self, timeout: float) -> None:
        for to, taken in self._loads:
            self.transport.arrays.copy(to, taken)
        where = self.transport.doing = self._where
        where.runs += 1
        try:
            for stage in self.stages:
                where.step = stage.number
                stage.run(timeout)
        except TransportError as error:
            told = error.told(f"{where()}: {error.message}", error.remedy())
            raise told from error.__cause__


class _Where:
    """Where the run of a plan is, in words: apart from the plan, whose memory is not kept."""

    def __init__(self, title: str, channel: int, last: int) -> None:
        self.title, self.channel, self.last = title, channel, last
        self.runs = self.step = 0

    def __call__(self) -> str:
        again = f", run {self.runs}" if self.runs > 1 else ""
        return f"{self.title} (call {self.channel}{again}), step {self.step + 1} of {self.last + 1}"
