"""Random calls over MPI, each compared to the bit with the simulator.

All ranks draw the same calls from one seed, and each rank can compute every rank's input.
"""

import sys

import numpy as np

import refcoll
from refcoll.collectives import COLLECTIVES
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
    runnable = [
        each
        for each in refcoll.algorithms()
        if each.sizes.holds(comm.size) and not each.needs_helpers
    ]
    algorithm = runnable[draw.integers(len(runnable))]
    dtype = dtype_named(DTYPES[draw.integers(len(DTYPES))])
    fitting = [op.name for op in OPERATORS.values() if kind(dtype) in op.kinds]
    op = fitting[draw.integers(len(fitting))]
    count = int(draw.integers(0, 300))
    what = COLLECTIVES[algorithm.collective]
    root = int(draw.integers(comm.size)) if what.rooted else 0
    nodes = shape(comm.size)
    options = {
        "segments": int(draw.integers(1, 5)),
        "radix": int(draw.integers(2, 6)),
        "shards": int(draw.integers(1, 5)),
    }
    if algorithm.collective == "barrier":
        comm.barrier()
        continue
    made = refcoll.program(
        algorithm.collective, algorithm.name, comm.size, root=root, nodes=nodes, **options
    )
    count = made.whole(count)
    inputs = [values(rank, number, count, dtype) for rank in range(comm.size)]
    span = made.layout(count).span(comm.rank, comm.rank + 1)
    pieces = what.scattered and not what.transposes
    gathers = algorithm.collective in ("all_gather", "gather")
    x = inputs[comm.rank][span] if gathers else inputs[comm.rank]
    result = comm.plan(
        algorithm.collective, x, op, root, algorithm=algorithm.name, nodes=nodes,
        counts=made.layout(count).lengths if pieces else None, **options,
    ).run()  # fmt: skip
    wanted = refcoll.simulate(made, inputs, op)[comm.rank]
    if algorithm.collective in ("reduce_scatter", "scatter"):
        wanted = wanted[span]
    away = algorithm.collective in ("reduce", "gather") and comm.rank != root
    if away or (algorithm.collective == "exscan" and comm.rank == 0):
        assert result is None
    else:
        assert same_bits(result, wanted), (number, made.title, count, dtype, op, root, nodes)
print(f"rank {comm.rank}: {calls} calls alike", flush=True)
