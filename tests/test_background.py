"""Calls in the background, and what is submitted to run between them."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

import refcoll
from on_threads import TIMEOUT, spawn
from refcoll import DisagreementError


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 2, 1, 0), (2, 0, 3, 1)])
def test_handles_may_be_waited_for_in_any_order(order):
    def body(comm):
        handles = [
            comm.all_reduce(np.arange(1000), async_op=True),
            comm.broadcast(np.array([comm.rank]), 2, async_op=True),
            comm.barrier(async_op=True),
            comm.all_gather(np.array([comm.rank]), async_op=True),
        ]
        between = comm.all_reduce(np.array([1]))  # in the foreground, after those
        assert all(handle.done() for handle in handles)
        results = {k: handles[k].wait() for k in order}
        assert results[0] is handles[0].wait()
        return between, results

    for between, results in spawn(3, body):
        assert between.tolist() == [3]
        assert np.array_equal(results[0], 3 * np.arange(1000))
        assert (results[1].tolist(), results[2], results[3].tolist()) == ([2], None, [0, 1, 2])


def test_the_background_does_not_block():
    """The handle is there before the other rank has come."""
    come = threading.Event()

    def body(comm):
        if comm.rank == 1:
            assert come.wait(TIMEOUT)
        handle = comm.all_reduce(np.array([1.0]), async_op=True)
        if comm.rank == 0:
            assert not handle.done()
            come.set()
        return handle.wait()

    assert [result.tolist() for result in spawn(2, body)] == [[2.0], [2.0]]


def test_errors_in_the_background_are_raised_by_wait():
    def body(comm):
        handle = comm.all_reduce(np.zeros(3), "nonsense", async_op=True)
        with pytest.raises(refcoll.ArgumentError, match="nonsense"):
            handle.wait()
        return comm.all_reduce(np.ones(1))[0]

    assert spawn(2, body) == [2, 2]


def test_closing_waits_for_the_background():
    def body(comm):
        handle = comm.all_reduce(np.ones(10), async_op=True)
        comm.close()
        assert handle.done()
        return handle.wait()[0]

    assert spawn(3, body) == [3.0] * 3


def test_a_failure_in_the_background_that_nobody_waits_for_is_told(capsys):
    def body(comm):
        comm.all_reduce(np.ones(1 + comm.rank), async_op=True)

    with pytest.raises(DisagreementError, match="the ranks did not make the same call"):
        spawn(2, body, timeout=5)
    assert "nobody waited for it: the ranks did not make the same call" in capsys.readouterr().err


def test_what_is_submitted_runs_in_order_with_the_calls():
    def body(comm):
        seen = []

        def work():
            seen.append("first")
            return float(comm.all_reduce(np.ones(1))[0])

        first = comm.submit(work)
        second = comm.submit(lambda: seen.append("second"))
        total = float(comm.all_reduce(np.full(1, 2.0))[0])  # waits for both
        assert seen == ["first", "second"]
        assert second.wait() is None
        return first.wait(), total

    assert refcoll.spawn(3, body, timeout=10) == [(3.0, 6.0)] * 3


def test_a_call_within_what_was_submitted_may_be_made_before_or_after_the_next():
    def body(comm):
        def work():
            time.sleep(0.05 * (comm.rank == 2))  # rank 2's next call is made before this one
            return float(comm.all_reduce(np.ones(1))[0])

        first = comm.submit(work)
        time.sleep(0.05 * (comm.rank == 0))  # rank 0's after it
        return float(comm.all_reduce(np.full(1, 2.0))[0]), first.wait()

    assert refcoll.spawn(3, body, timeout=10) == [(6.0, 3.0)] * 3


def test_what_it_raises_is_told_to_the_other_ranks():
    heard = []

    def body(comm):
        def work():
            if comm.rank == 1:
                raise ValueError("no such luck")
            return comm.all_reduce(np.ones(1))

        try:
            comm.submit(work).wait()
        except Exception as error:
            heard.append((comm.rank, str(error)))
            raise

    with pytest.raises(ValueError, match="no such luck"):
        refcoll.spawn(3, body, timeout=60)
    assert [rank for rank, _ in sorted(heard)] == [0, 1, 2]
    assert all("no such luck" in said for _, said in heard)
