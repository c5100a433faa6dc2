"""Run a program on arrays, all ranks in one process: no threads, no transport, no chance.

The values are those of a real run to the bit, rounding of every hop included.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from refcoll.chunks import Layout
from refcoll.errors import ArgumentError
from refcoll.interpreters.delivery import Place, Started, deliver
from refcoll.operators import Array, Operator, operator
from refcoll.program import Program
from refcoll.schedule import Copy, Send, incoming_goes_left, indices

_AREAS = 3


def simulate(
    program: Program,
    inputs: Sequence[Array],
    op: str | Operator = "sum",
    layout: Layout | None = None,
) -> list[Array]:
    """What every rank's vector holds at the end.

    ``inputs[rank]`` is the rank's whole vector, 1-D and alike in length and dtype, of which
    only what the collective starts from counts; none is changed.  Raises ArgumentError for
    inputs that do not fit, and ScheduleError where sends and receives do not match.
    """
    if len(inputs) != program.size or len({(x.shape, x.dtype) for x in inputs}) > 1:
        raise ArgumentError(
            f"inputs must be {program.size} arrays of one shape and dtype, got "
            f"{[(x.shape, x.dtype.name) for x in inputs]}"
        )
    count = inputs[0].size
    simulation = _Simulation(program, layout or program.layout(count), operator(op), inputs)
    for event in deliver(program.graphs):
        if isinstance(event, Started):
            simulation.start(event.rank, event.node)
        else:
            simulation.finish(event.rank, event.node, event.partners)
    return simulation.results(count)


class _Simulation:
    def __init__(
        self, program: Program, layout: Layout, op: Operator, inputs: Sequence[Array]
    ) -> None:
        self.program, self.layout, self.op = program, layout, op
        count, dtype = inputs[0].size, inputs[0].dtype
        self.memory = [np.zeros(_AREAS * count, dtype) for _ in range(program.ranks)]
        for vector, given in zip(self.memory, inputs, strict=False):
            vector[:count] = given
        self.flying: dict[Place, list[Array]] = {}

    def start(self, rank: int, index: int) -> None:
        for position, action in enumerate(self.program.graphs[rank][index].actions):
            if isinstance(action, Send):
                chunks = [self._chunk(rank, i).copy() for i in indices(action.chunks)]
                self.flying[rank, index, position] = chunks

    def finish(self, rank: int, index: int, partners: Sequence[Place | None]) -> None:
        actions = self.program.graphs[rank][index].actions
        for action, origin in zip(actions, partners, strict=True):
            if isinstance(action, Send) or origin is None:
                continue
            for i, incoming in zip(indices(action.chunks), self.flying.pop(origin), strict=True):
                mine = self._chunk(rank, i)
                if isinstance(action, Copy):
                    mine[:] = incoming
                elif incoming_goes_left(action, rank):
                    self.op.merge(incoming, mine, mine)
                else:
                    self.op.merge(mine, incoming, mine)

    def results(self, count: int) -> list[Array]:
        vectors = [vector[:count] for vector in self.memory[: self.program.size]]
        if self.program.collective.reduces:
            for vector in vectors:
                self.op.finish(vector, self.program.size)
        return vectors

    def _chunk(self, rank: int, index: int) -> Array:
        return self.memory[rank][self.layout.span(index, index + 1)]
