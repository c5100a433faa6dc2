"""Ranks that are out of step, by a wrong call or one that never came: all later ones refuse."""

from __future__ import annotations

import time

import numpy as np
import pytest

import refcoll
from bad_input_making import array
from on_threads import TIMEOUT
from refcoll import DeadlineError, DisagreementError, PoisonedError, TransportError


@pytest.mark.parametrize("size", [2, 3, 4, 5])
def test_a_missing_rank_is_named_to_all_others(size):
    def body(comm):
        started = time.monotonic()
        if comm.rank == size - 1:
            time.sleep(0.6)
            return None
        with pytest.raises(TransportError) as caught:
            comm.all_reduce(array())
        with pytest.raises(PoisonedError):
            comm.barrier()
        return caught.value, time.monotonic() - started

    *heard, _ = refcoll.spawn(size, body, timeout=0.3)
    assert any(isinstance(error, DeadlineError) for error, _ in heard)
    for error, seconds in heard:
        assert f"from rank {size - 1}" in str(error) or f"rank {size - 1} to receive" in str(error)
        assert "not all ranks made this call in time" in str(error)
        assert seconds < 0.6


def test_a_rank_that_misses_the_run_of_a_plan():
    def body(comm):
        plan = comm.plan("all_reduce", array(), algorithm="ring")
        if comm.rank == 2:
            time.sleep(0.6)
            return ""
        with pytest.raises(TransportError) as caught:
            plan.run()
        return str(caught.value)

    heard = refcoll.spawn(3, body, timeout=0.3)
    first = "16 bytes from rank 2", "rank 2 to receive"  # whoever's time is up first
    assert all(any(said in each for said in first) for each in heard[:2]), heard
    assert all("all_reduce by ring on 3 ranks" in each for each in heard[:2])


def test_everything_is_refused_at_once_after_a_disagreement():
    def body(comm):
        plan = comm.plan("all_reduce", array())
        with pytest.raises(DisagreementError):
            comm.all_reduce(array(count=comm.rank))
        started = time.monotonic()
        calls = [
            plan.run,
            lambda: plan.start().wait(),
            lambda: comm.all_reduce(array()),
            lambda: comm.all_reduce(array(), async_op=True).wait(),
            lambda: comm.barrier(),
            lambda: comm.plan("broadcast", array()),
            lambda: comm.split(0),
        ]
        for call in calls:
            with pytest.raises(PoisonedError, match="the ranks did not make the same call"):
                call()
        return time.monotonic() - started

    assert max(refcoll.spawn(3, body, timeout=30)) < 1


def test_work_in_the_background_is_poisoned_too():
    def body(comm):
        first = comm.all_reduce(array(count=comm.rank + 1), async_op=True)
        second = comm.all_reduce(array(), async_op=True)
        with pytest.raises(DisagreementError):
            first.wait()
        with pytest.raises(PoisonedError):
            second.wait()

    refcoll.spawn(2, body, timeout=TIMEOUT)


def test_parts_are_poisoned_by_themselves():
    def body(comm):
        part = comm.split(comm.rank % 2)
        if comm.rank % 2:
            with pytest.raises(DisagreementError):
                part.all_reduce(array(count=comm.rank))
            with pytest.raises(PoisonedError):
                part.barrier()
        else:
            part.barrier()
        return comm.all_reduce(np.ones(1))[0]

    assert refcoll.spawn(4, body, timeout=TIMEOUT) == [4] * 4
