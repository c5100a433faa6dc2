"""From a caller's arrays to the rank's vector, and back.

A plan works on one contiguous vector.  Where the result is such a vector already, in the
dtype that travels, the plan works in it directly; else in scratch memory.  It reads the
caller's input where that lies, if it is contiguous and of that dtype.
"""

from __future__ import annotations

from math import prod

from refcoll.interpreters.execute import Input
from refcoll.operators import Array
from refcoll.outputs import result_shape
from refcoll.requests import GATHERING, SCATTERING, Call
from refcoll.transport import Transport


def made_result(call: Call, transport: Transport) -> Array | None:
    """Room for the result of a call on this rank; None where it returns nothing."""
    shape = result_shape(call.program, call.layout, call.x, transport.rank)
    if shape is None:
        return None
    # Ordinary memory: what a caller keeps must not be shared with a forked child.
    made: Array = transport.arrays.empty(prod(shape), call.x.dtype).reshape(shape)
    return made


class Buffers:
    """The arrays of one call: ``load`` before a run, ``store`` after it.

    The plan works in ``memory`` if that is given, else in the result or in memory made here.
    """

    def __init__(self, call: Call, transport: Transport, memory: Array | None = None) -> None:
        self._call, self._own = call, memory is not None
        self._arrays = transport.arrays
        count, rank = call.layout.count, transport.rank
        self.result = call.out if call.out is not None else made_result(call, transport)
        mine = call.layout.span(rank, rank + 1) if call.program.collective.scattered else slice(0)
        start = call.program.result_area * count
        whole, result = slice(0, count), slice(start, start + count)
        name = call.program.collective.name
        self._comes_in = mine if name in GATHERING else whole
        self._goes_out = mine if name in SCATTERING else result
        self._contributions = call.program.merged(rank)
        self._direct = not self._own and self._works_in_result()
        if memory is not None:
            self.memory = memory
        elif self._direct and self.result is not None:
            self.memory = self.result.reshape(-1)
        else:
            nbytes = call.program.areas * count * call.dtype.itemsize
            self.memory = transport.empty(nbytes).view(call.dtype)
        from_root = name in ("broadcast", "scatter")
        self._place = self._input_place(not from_root or rank == call.program.root)
        self.source = self._source(rank)
        self._values = self.memory[self._goes_out]
        self._finishes = call.program.collective.reduces and call.op.last is not None

    def _works_in_result(self) -> bool:
        call, result = self._call, self.result
        return (
            result is not None
            and result.flags.c_contiguous
            and result.dtype == call.dtype
            and result.size == call.layout.count
            and call.program.areas == 1
            and call.program.collective.name not in SCATTERING
        )

    def _input_place(self, has_input: bool) -> Array | None:
        """Where the caller's input must be put, unless it is there already, or there is none."""
        if not has_input or self._call.program.collective.name == "barrier":
            return None
        place: Array = self.memory[self._comes_in].reshape(self._call.x.shape)
        return place if self._own or not self._arrays.same(place, self._call.x) else None

    def _source(self, rank: int) -> Input | None:
        """The caller's input where a plan can read it; then nothing needs to be loaded."""
        call, place, x = self._call, self._place, self._call.x
        if place is None or self._own or not x.flags.c_contiguous or x.dtype != call.dtype:
            return None
        chunks = range(rank, rank + 1)
        name, every = call.program.collective.name, range(len(call.layout.lengths))
        needed = chunks if name in SCATTERING else every
        if call.program.result_area or self.result is None:
            needed = range(0)
        self._place = None
        return Input(x.reshape(-1), chunks if name in GATHERING else every, needed)

    def load(self) -> None:
        """Put the caller's input where the plan expects it."""
        if self._place is not None:
            self._arrays.copy(self._place, self._call.x)

    def store(self) -> Array | None:
        """Finish the merged values, and give them to the caller."""
        if self.result is None:
            return None
        if self._finishes:
            self._arrays.finish(self._call.op, self._values, self._contributions)
        if not self._direct:
            self._arrays.copy(self.result, self._values.reshape(self.result.shape))
        return self.result
