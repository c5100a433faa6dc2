"""Watches on real ranks: who was late is seen, on all ranks alike, whatever their clocks say."""

from __future__ import annotations

import time

import numpy as np
import pytest

import refcoll
from refcoll import ArgumentError, DisagreementError
from refcoll.clocks import offsets

LATE = 0.2


def late_once(comm, call, rank=2):
    call()  # the first takes long, and not on all ranks alike
    with comm.watch() as seen:
        for _ in range(3):
            call()
        if comm.rank == rank:
            time.sleep(LATE)
        call()
    return seen.report()


def plans(comm):
    return comm.plan("all_reduce", np.ones(1000), algorithm="ring").run


def one_off(comm):
    return lambda: comm.all_reduce(np.ones(1000))


def background(comm):
    return lambda: comm.all_reduce(np.ones(1000), async_op=True).wait()


@pytest.mark.parametrize("make", [plans, one_off, background])
def test_a_late_rank_is_named_on_all_ranks(make):
    for found in refcoll.spawn(4, lambda comm: late_once(comm, make(comm))):
        assert len(found.calls) == 4
        assert found.worst is found.calls[3]
        assert found.worst.late_rank == 2
        assert found.worst.late_by >= 0.9 * LATE  # the others may be a little late too
        waited = [found.worst.waited[rank] for rank in (0, 1, 3)]
        assert min(waited) >= 0.9 * LATE
        assert found.worst.waited[2] < LATE / 2
        assert found.clock_error == 0


def test_what_is_not_watched_is_not_noted():
    def body(comm):
        comm.all_reduce(np.ones(3))
        with comm.watch() as seen:
            comm.barrier()
        comm.all_reduce(np.ones(3))
        return [call.title for call in seen.report().calls]

    titles = refcoll.spawn(2, body)
    assert titles == [["barrier by dissemination on 2 ranks"]] * 2


def test_nothing_noted_is_an_error():
    with pytest.raises(ArgumentError, match="no calls were made while watched"):
        refcoll.spawn(2, lambda comm: comm.watch().report())


def test_one_rank_that_noted_nothing_keeps_nobody_waiting():
    def body(comm):
        with comm.watch() as seen:
            comm.barrier()
        with pytest.raises(DisagreementError):
            (seen if comm.rank else comm.watch()).report()

    refcoll.spawn(3, body, timeout=5)


def test_different_numbers_of_calls_are_told():
    def body(comm):
        plan = comm.plan("broadcast", np.ones(1))
        with comm.watch() as seen:
            plan.run()
            if comm.rank == 0:
                plan.run()
        if comm.rank == 1:
            plan.run()
        with pytest.raises(DisagreementError) as caught:
            seen.report()
        assert "rank 0: collective=report, watched calls=2" in str(caught.value)
        assert "rank 1: collective=report, watched calls=1" in str(caught.value)

    refcoll.spawn(2, body, timeout=5)


def test_calls_in_the_background_are_counted_where_they_were_asked_for():
    def body(comm):
        with comm.watch() as seen:
            handles = [comm.all_reduce(np.ones(1000), async_op=True) for _ in range(5)]
            if comm.rank == 1:
                time.sleep(0.1)
        comm.all_reduce(np.ones(3), async_op=True)
        found = seen.report()  # waits for them
        for handle in handles:
            handle.wait()
        return len(found.calls)

    assert refcoll.spawn(3, body) == [5] * 3


def test_watches_within_watches():
    def body(comm):
        plan = comm.plan("all_reduce", np.ones(3))
        with comm.watch() as outer:
            plan.run()
            with comm.watch() as inner:
                plan.run()
                plan.run()
                assert len(inner.report().calls) == 2  # itself unwatched
            plan.run()
        return len(outer.report().calls), len(inner.report().calls)

    assert refcoll.spawn(2, body) == [(4, 2)] * 2


@pytest.mark.parametrize("nodes", [((0, 1), (2, 3)), ((0, 3), (1,), (2,))])
def test_clocks_of_nodes_are_compared(nodes):
    """Here they are all one and the same clock."""
    for ahead, error in refcoll.spawn(4, offsets, nodes=nodes):
        assert 0 < error < 1
        assert all(abs(each) <= error for each in ahead)
        assert ahead[0] == 0


def test_a_clock_that_is_ahead_is_found(monkeypatch):
    import threading

    from refcoll import clocks

    real = time.monotonic

    def monotonic():
        return real() + (100 if threading.current_thread().name == "ahead" else 0)

    monkeypatch.setattr(clocks.time, "monotonic", monotonic)

    def body(comm):
        if comm.rank >= 2:
            threading.current_thread().name = "ahead"
        return offsets(comm)

    for ahead, error in refcoll.spawn(4, body, nodes=((0, 1), (2, 3))):
        assert ahead[:2] == [0, 0]
        assert all(abs(each - 100) <= error for each in ahead[2:])
        assert error < 1


def test_a_report_across_nodes_sees_one_clock(monkeypatch):
    """Ranks 2 and 3 have clocks that are 100 s ahead; rank 3 comes 0.2 s late."""
    import threading

    from refcoll import clocks

    real = time.monotonic

    def monotonic():
        return real() + (100 if threading.current_thread().name == "ahead" else 0)

    monkeypatch.setattr(clocks.time, "monotonic", monotonic)  # the time module's, for all

    def body(comm):
        if comm.rank >= 2:
            threading.current_thread().name = "ahead"
        return late_once(comm, comm.plan("all_reduce", np.ones(10)).run, rank=3)

    for found in refcoll.spawn(4, body, nodes=((0, 1), (2, 3)), timeout=20):
        assert found.worst.late_rank == 3
        assert found.worst.late_by < 10
        assert max(found.worst.left) - min(found.worst.entered) < 10
        assert 0 < found.clock_error < 1


@pytest.mark.parametrize(("checked", "waits"), [(True, True), (False, False)])
def test_a_call_that_compares_lets_even_the_first_of_a_scan_wait(checked, waits):
    """Rank 0 of a linear scan needs nothing of the others, but for the comparison."""

    def body(comm):
        comm.scan(np.ones(4), algorithm="linear", check=checked)
        comm.barrier()
        with comm.watch() as seen:
            if comm.rank == 2:
                time.sleep(LATE)
            comm.scan(np.ones(4), algorithm="linear", check=checked)
        return seen.report()

    found = refcoll.spawn(3, body)[0]
    assert (found.worst.waited[0] >= 0.9 * LATE) == waits
