"""Ranks on threads: what they are given, what comes of them, how they end."""

from __future__ import annotations

import time

import numpy as np
import pytest

import refcoll
from on_threads import spawn
from refcoll import PeerFailedError


def test_nodes_may_be_lists():
    for result in spawn(4, lambda c: c.all_reduce(np.ones(3)), nodes=[[0, 1], [2, 3]]):
        assert np.array_equal(result, [4, 4, 4])


def test_results_come_by_rank():
    assert spawn(4, lambda c, a, b: (c.rank, c.size, a, b), 10, 20) == [
        (rank, 4, 10, 20) for rank in range(4)
    ]


def test_the_first_cause_is_raised_with_the_rank_noted():
    def body(comm):
        if comm.rank == 2:
            raise ValueError("an accident")
        comm.barrier()

    with pytest.raises(ValueError, match="an accident") as caught:
        spawn(4, body)
    assert caught.value.__notes__ == ["raised on rank 2; ranks that failed: [0, 1, 2, 3]"]


@pytest.mark.parametrize("size", [0, -1])
def test_no_ranks_are_refused(size):
    with pytest.raises(refcoll.ArgumentError, match=f"size={size}"):
        spawn(size, lambda c: None)


def ends(how):
    """What the other ranks see of rank 1, which ends like that, and after how long."""

    def body(comm):
        if comm.rank == 1:
            how(comm)
            return None
        started = time.monotonic()
        with pytest.raises(PeerFailedError) as caught:
            [comm.all_reduce(np.ones(10)) for _ in range(3)]
        return str(caught.value), time.monotonic() - started

    return body


@pytest.mark.parametrize("calls", [0, 1, 2])
def test_a_rank_that_returns_early_leaves_nobody_hanging(calls):
    def how(comm):
        for _ in range(calls):
            comm.all_reduce(np.ones(10))

    for told in spawn(4, ends(how), timeout=30)[::3]:
        assert told is not None
        assert "rank 1 has ended" in told[0] or "failed" in told[0]
        assert told[1] < 5


@pytest.mark.parametrize("error", [ValueError("oops"), KeyboardInterrupt(), SystemExit(3)])
def test_a_rank_that_raises_leaves_nobody_hanging(error):
    seen = []

    def how(comm):
        time.sleep(0.05)
        raise error

    started = time.monotonic()
    exits = isinstance(error, SystemExit)  # which would end the process without a word
    with pytest.raises(PeerFailedError if exits else type(error)):
        spawn(4, lambda comm: seen.append(ends(how)(comm)), timeout=30)
    assert time.monotonic() - started < 5
    assert len(seen) == 3
    assert all("rank 1 raised" in said for said, _ in seen)


def test_a_rank_that_raises_with_work_in_the_background_leaves_nobody_hanging():
    def body(comm):
        if comm.rank == 0:
            comm.all_reduce(np.ones(4), async_op=True)
            raise ValueError("oops")
        time.sleep(0.2)
        comm.barrier()

    started = time.monotonic()
    with pytest.raises((ValueError, refcoll.RefcollError)):
        spawn(2, body, timeout=3)
    assert time.monotonic() - started < 6


def test_a_failed_part_does_not_keep_the_whole_waiting():
    """Rank 3 dies while others wait for it in a part that it belongs to."""

    def body(comm):
        part = comm.split(comm.rank // 2)
        if comm.rank == 3:
            raise ValueError("oops")
        part.barrier()

    started = time.monotonic()
    with pytest.raises(ValueError, match="oops"):
        spawn(4, body, timeout=30)
    assert time.monotonic() - started < 5
