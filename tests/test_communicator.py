"""The collectives, each by each of its algorithms that run on any number of ranks."""

from __future__ import annotations

import time

import numpy as np
import pytest

import refcoll
from on_threads import SIZES, for_any_size, inputs, spawn
from refcoll import ArgumentError, node_shape


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("algorithm", for_any_size("all_reduce"))
def test_all_reduce(algorithm, size):
    x = inputs(size)
    for result in spawn(size, lambda c: c.all_reduce(x[c.rank], algorithm=algorithm)):
        assert np.array_equal(result, x.sum(0))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("algorithm", for_any_size("reduce"))
def test_reduce(algorithm, size):
    x = inputs(size)
    for root in range(size):
        results = spawn(size, lambda c, r=root: c.reduce(x[c.rank], "max", r, algorithm=algorithm))
        for rank, result in enumerate(results):
            assert np.array_equal(result, x.max(0)) if rank == root else result is None


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("algorithm", for_any_size("broadcast"))
def test_broadcast(algorithm, size):
    x = inputs(size)
    for root in range(size):
        for result in spawn(size, lambda c, r=root: c.broadcast(x[c.rank], r, algorithm=algorithm)):
            assert np.array_equal(result, x[root])


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("algorithm", for_any_size("reduce_scatter"))
def test_reduce_scatter(algorithm, size):
    """numpy's array_split cuts as promised: evenly, the first pieces one longer."""
    x = inputs(size)
    results = spawn(size, lambda c: c.reduce_scatter(x[c.rank], algorithm=algorithm))
    for result, piece in zip(results, np.array_split(x.sum(0), size), strict=True):
        assert np.array_equal(result, piece)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("algorithm", for_any_size("all_gather"))
def test_all_gather(algorithm, size):
    x = inputs(size)
    for result in spawn(size, lambda c: c.all_gather(x[c.rank], algorithm=algorithm)):
        assert np.array_equal(result, x.reshape(-1))


@pytest.mark.parametrize("counts", [(3, 0, 5), (0, 0, 0), (0, 7, 0), (1, 2, 3), [4, 4, 4]])
@pytest.mark.parametrize("algorithm", for_any_size("reduce_scatter"))
def test_pieces_of_given_lengths(counts, algorithm):
    x = inputs(3, sum(counts))
    total, cuts = x.sum(0), np.cumsum(counts)[:-1]

    def body(comm):
        piece = comm.reduce_scatter(x[comm.rank], counts=counts, algorithm=algorithm)
        return piece, comm.all_gather(piece, counts=counts)

    for (piece, whole), wanted in zip(spawn(3, body), np.split(total, cuts), strict=True):
        assert np.array_equal(piece, wanted)
        assert np.array_equal(whole, total)


def test_counts_may_be_a_numpy_array():
    counts = np.array([2, 0, 3])

    def body(comm):
        piece = comm.reduce_scatter(np.arange(5), counts=counts)
        return comm.all_gather(piece, counts=counts)

    for result in spawn(3, body):
        assert np.array_equal(result, np.arange(5) * 3)


@pytest.mark.parametrize("size", SIZES)
def test_a_barrier_is_left_by_nobody_before_the_last_has_come(size):
    def body(comm):
        for late in range(comm.size):
            time.sleep(0.02 * (comm.rank == late))
            entered = time.monotonic()
            assert comm.barrier() is None
            left = time.monotonic()
            times.append((late, entered, left))

    times = []
    spawn(size, body)
    for late in range(size):
        mine = [(entered, left) for which, entered, left in times if which == late]
        assert min(left for _, left in mine) >= max(entered for entered, _ in mine)


def test_nodes_do_not_change_values():
    x = inputs(6)
    for shape in ((6,), (3, 3), (4, 1, 1), (1,) * 6):
        for name in for_any_size("all_reduce"):
            results = spawn(
                6, lambda c, name=name: c.all_reduce(x[c.rank], algorithm=name),
                nodes=node_shape(shape),
            )  # fmt: skip
            assert all(np.array_equal(result, x.sum(0)) for result in results)


def test_timeouts_of_single_calls():
    def body(comm):
        if comm.rank == 1:
            time.sleep(0.5)
            return None
        started = time.monotonic()
        with pytest.raises(refcoll.DeadlineError, match="rank 1"):
            comm.barrier(timeout=0.1)
        return time.monotonic() - started

    assert spawn(2, body, timeout=30)[0] < 0.5


def test_a_communicator_says_who_it_is():
    assert spawn(2, repr) == [f"<Communicator rank {r} of 2 over in-process>" for r in range(2)]


def test_a_root_has_no_meaning_where_the_collective_has_none():
    def body(comm):
        with pytest.raises(ArgumentError, match="root=1 has no meaning for reduce_scatter"):
            comm.plan("reduce_scatter", np.arange(8.0), root=1, algorithm="ring")
        return comm.all_reduce(np.ones(1))[0]

    assert spawn(4, body, timeout=5) == [4.0] * 4


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), "5", [1]])
def test_time_limits_are_numbers_above_0(timeout):
    def body(comm):
        with pytest.raises(ArgumentError, match="timeout="):
            comm.all_reduce(np.ones(1), timeout=timeout)
        return comm.all_reduce(np.ones(1))[0]

    assert spawn(2, body, timeout=5) == [2.0, 2.0]
    with pytest.raises(ArgumentError, match="timeout="):
        spawn(1, body, timeout=timeout)
