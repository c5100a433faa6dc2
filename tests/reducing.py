"""Reductions of one bucket on N ranks, step after step, for the tests of all of them."""

from __future__ import annotations

import numpy as np

from refcoll import Communicator, spawn
from refcoll.dataparallel.tensors import Bucket, Tensor
from refcoll.testing.counting import Counting


def bucket_of(*shapes, dtype="float32", index=0):
    tensors = (Tensor(f"t{i}", shape, np.dtype(dtype)) for i, shape in enumerate(shapes))
    return Bucket(index, tuple(tensors))


def steps_of(steps, size, count, seed=0):
    """Normally distributed local sums: [step, rank, element]."""
    return np.random.default_rng(seed).standard_normal((steps, size, count))


def reduced(reduction, bucket, steps, divisor=None):
    """What came of each step, [step, element], where all ranks have the same bits; the bounds."""

    def body(comm):
        bound, means = reduction.bind(comm, bucket), []
        for step in steps:
            bound.memory()[...] = step[comm.rank]
            means.append(bound.run(comm.size if divisor is None else divisor).copy())
        return np.array(means), bound

    ranks = spawn(len(steps[0]), body, timeout=20)
    for means, _ in ranks[1:]:
        assert bits(means) == bits(ranks[0][0])
    assert ranks[0][0].dtype == bucket.dtype
    return ranks[0][0], [bound for _, bound in ranks]


def bits(array):
    """The bytes of the values; of long doubles, which have idle ones, the values in words."""
    return array.tobytes() if array.dtype != np.longdouble else repr(array.tolist())


def traffic(reduction, bucket, size):
    """What each rank sent and received in one step."""

    def body(comm):
        counting = Counting(comm.transport)
        bound = reduction.bind(Communicator(counting, 20), bucket)
        bound.memory()[...] = 1
        counting.take()
        bound.run(size)
        return counting.take()

    return spawn(size, body, timeout=20)


def ring_bytes(count, itemsize, size):
    """What each rank receives in a ring all-reduce: twice all chunks but one (Patarasuk and
    Yuan 2009), where the first count % size chunks are one element longer."""
    chunks = [itemsize * (count // size + (rank < count % size)) for rank in range(size)]
    return [2 * sum(chunks) - chunks[rank - 1] - chunks[rank] for rank in range(size)]
