"""Programs, executed on threads of this process."""

from __future__ import annotations

import numpy as np

from refcoll import Program, spawn
from refcoll.interpreters.execute import Input, Plan
from refcoll.operators import operator

TIMEOUT = 5
CHANNEL = 3


def run(made: Program, inputs, op="sum", *, layout=None, runs=1, wrap=lambda end: end, apart=False):
    """What every rank's vector holds after ``runs`` runs, the last of them on the inputs.

    ``apart`` leaves the inputs where they are, and fills the vector with ones.
    """
    op, count = operator(op), inputs[0].size
    layout = layout or made.layout(count)

    def body(comm):
        memory = np.zeros(made.areas * count, inputs[0].dtype)
        mine = np.zeros(count, memory.dtype)
        every = range(made.chunks)
        source = Input(mine, every, every) if apart else None
        plan = Plan(made, wrap(comm.transport), memory, layout, op, CHANNEL, source)
        for turn in range(runs):
            memory[:] = 0
            memory[:count] = 1 if apart else 0
            if apart and turn == runs - 1 and comm.rank < made.size:
                mine[:] = inputs[comm.rank]
            elif turn == runs - 1 and comm.rank < made.size:
                memory[:count] = inputs[comm.rank]
            plan.run(TIMEOUT)
        start = made.result_area * count
        vector = memory[start : start + count].copy()
        if made.collective.reduces and comm.rank < made.size:
            op.finish(vector, made.merged(comm.rank))
        return vector

    return spawn(made.ranks, body, timeout=TIMEOUT)[: made.size]


class Short:
    """A transport that wants messages cut after ``segment_bytes``."""

    def __init__(self, inner, segment_bytes):
        self.inner, self.segment_bytes = inner, lambda peer: segment_bytes

    def __getattr__(self, name):
        return getattr(self.inner, name)
