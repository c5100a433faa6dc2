"""Random calls over MPI, each compared to the bit with the simulator.

All ranks draw the same calls from one seed, and each rank can compute every rank's input.
"""

import sys

import numpy as np

import refcoll
from refcoll.operators import OPERATORS, kind
from refcoll.testing.assertions import same_bits
from refcoll.testing.values import DTYPES, dtype_named

seed, calls = int(sys.argv[1]), int(sys.argv[2])
comm = refcoll.connect("mpi", timeout=30)
draw = np.random.default_rng(seed)


def values(rank: int, number: int, count: int, dtype: np.dtype) -> np.ndarray:
    """Numbers whose sum depends on the order, where the dtype rounds."""
    own = np.random.default_rng((seed, number, rank))
    if kind(dtype) == "b":
        return own.integers(0, 2, count).astype(dtype)
    if kind(dtype) == "i":
        return own.integers(0, 100, count).astype(dtype)
    spread = own.standard_normal(count) * 10.0 ** own.integers(-3, 3, count)
    return spread.astype(dtype) * dtype.type(1 + 1j if kind(dtype) == "c" else 1)


def shape(size: int) -> tuple[tuple[int, ...], ...]:
    """Ranks dealt to nodes at random: unequal, interleaved."""
    of = draw.integers(0, max(1, size // 2), size)
    return tuple(tuple(map(int, np.flatnonzero(of == node))) for node in np.unique(of))


for number in range(calls):
    runnable = [each for each in refcoll.algorithms() if not each.helpers]
    algorithm = runnable[draw.integers(len(runnable))]
    dtype = dtype_named(DTYPES[draw.integers(len(DTYPES))])
    fitting = [op.name for op in OPERATORS.values() if kind(dtype) in op.kinds]
    op = fitting[draw.integers(len(fitting))]
    count = int(draw.integers(0, 300))
    root = int(draw.integers(comm.size)) if algorithm.collective in ("broadcast", "reduce") else 0
    nodes, segments = shape(comm.size), int(draw.integers(1, 5))
    if algorithm.collective == "barrier":
        comm.barrier()
        continue
    made = refcoll.program(
        algorithm.collective, algorithm.name, comm.size, root=root, nodes=nodes, segments=segments
    )
    inputs = [values(rank, number, count, dtype) for rank in range(comm.size)]
    span = made.layout(count).span(comm.rank, comm.rank + 1)
    scattered = made.collective.scattered
    x = inputs[comm.rank][span] if algorithm.collective == "all_gather" else inputs[comm.rank]
    result = comm.plan(
        algorithm.collective, x, op, root, algorithm=algorithm.name, nodes=nodes,
        segments=segments, counts=made.layout(count).lengths if scattered else None,
    ).run()  # fmt: skip
    wanted = refcoll.simulate(made, inputs, op)[comm.rank]
    if algorithm.collective == "reduce_scatter":
        wanted = wanted[span]
    if algorithm.collective == "reduce" and comm.rank != root:
        assert result is None
    else:
        assert same_bits(result, wanted), (number, made.title, count, dtype, op, root, nodes)
print(f"rank {comm.rank}: {calls} calls alike", flush=True)
