"""Run a program on arrays, all ranks in one process: no threads, no transport, no chance.

The values are those of a real run to the bit, rounding of every hop included.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from refcoll.chunks import Layout
from refcoll.errors import ArgumentError
from refcoll.interpreters.delivery import Place
from refcoll.interpreters.fitting import require_fit
from refcoll.interpreters.free import played
from refcoll.interpreters.replay import replay
from refcoll.interpreters.turning import simulated
from refcoll.interpreters.uniform import MANY, uniform
from refcoll.operators import Array, Operator, kind, operator
from refcoll.programs import Program, require_program


def simulate(
    program: Program,
    inputs: Sequence[Array],
    op: str | Operator = "sum",
    layout: Layout | None = None,
) -> list[Array]:
    """What every rank's vector holds at the end.

    ``inputs[rank]`` is the rank's whole vector, 1-D and alike in length and dtype, of which
    only what the collective starts from counts; none is changed.  Raises ArgumentError for
    inputs that do not fit, and ScheduleError where sends and receives do not match, or name what
    does not exist.
    """
    require_program(program)
    _require_inputs(program, inputs)
    count, merging = inputs[0].size, operator(op)
    if program.collective.reduces:
        merging.require(inputs[0].dtype)
    cut = program.cut(count, layout)
    require_fit(program, cut)
    if program.size >= MANY and (steps := uniform(program)) is not None:
        return _finished(program, simulated(steps, inputs, merging, cut), merging)
    memory = _Memory(program, cut, merging, inputs)
    if played(program, memory.vectors, cut, merging):
        return memory.results(count)
    memory = _Memory(program, cut, merging, inputs)  # anew, to find out what is wrong
    for _ in replay(program, memory):
        pass
    return memory.results(count)


def _require_inputs(program: Program, inputs: Sequence[Array]) -> None:
    if not isinstance(inputs, Sequence | np.ndarray):
        raise ArgumentError(f"inputs={inputs!r:.80} must be a list of {program.size} arrays")
    if not all(isinstance(each, np.ndarray) for each in inputs):
        kinds = [type(each).__name__ for each in inputs]
        raise ArgumentError(f"inputs must be numpy arrays, got {kinds}; use numpy.asarray")
    described = [(each.shape, each.dtype.name) for each in inputs]
    if len(inputs) != program.size or len({(each.shape, each.dtype) for each in inputs}) > 1:
        raise ArgumentError(
            f"inputs must be {program.size} arrays of one shape and dtype, got {described}"
        )
    if inputs[0].ndim != 1:
        raise ArgumentError(
            f"inputs must have one dimension, got shape {inputs[0].shape}; use reshape(-1)"
        )
    kind(inputs[0].dtype)


def _finished(program: Program, vectors: list[Array], op: Operator) -> list[Array]:
    if program.collective.reduces:
        for rank, vector in enumerate(vectors):
            op.finish(vector, program.merged(rank))
    return vectors


class _Memory:
    """All ranks' vectors."""

    def __init__(
        self, program: Program, layout: Layout, op: Operator, inputs: Sequence[Array]
    ) -> None:
        self.program, self.layout, self.op = program, layout, op
        count, dtype = inputs[0].size, inputs[0].dtype
        self.vectors = [np.zeros(program.areas * count, dtype) for _ in range(program.ranks)]
        for vector, given in zip(self.vectors, inputs, strict=False):
            vector[:count] = given

    def read(self, place: Place, chunk: int) -> Array:
        return self._chunk(place[0], chunk).copy()

    def write(self, place: Place, chunk: int, value: Array) -> None:
        self._chunk(place[0], chunk)[:] = value

    def merge(self, place: Place, chunk: int, value: Array, on_left: bool) -> None:
        mine = self._chunk(place[0], chunk)
        left, right = (value, mine) if on_left else (mine, value)
        self.op.merge(left, right, mine)

    def results(self, count: int) -> list[Array]:
        start = self.program.result_area * count
        vectors = [v[start : start + count] for v in self.vectors[: self.program.size]]
        return _finished(self.program, vectors, self.op)

    def _chunk(self, rank: int, index: int) -> Array:
        return self.vectors[rank][self.layout.span(index, index + 1)]
