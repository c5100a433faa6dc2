"""A rank that fails in a communicator, or in a part of it: which of the others hear of it.

Ranks of a part have other numbers there; what is told names them as the hearer knows them.
"""

from __future__ import annotations

import time

import numpy as np
import pytest

from on_threads import errors
from refcoll import Communicator, DeadlineError, PeerFailedError


def in_parts(body, timeout=30):
    """Ranks 3 and 1, in this order, are one part, 2 and 0 the other."""
    return errors(lambda comm: body(comm, comm.split(comm.rank % 2, key=-comm.rank)), timeout)


ABOVE = "in the communicator that this one was split from, "


@pytest.mark.parametrize("first", ["part", "failure"])
def test_a_failure_of_the_whole_reaches_its_parts(first):
    """Whether they are there before it or not; rank 3 is number 0 in rank 1's part."""

    def body(comm):
        made = comm.transport.subgroup([3, 1], 99) if first == "part" and comm.rank % 2 else None
        comm.barrier()
        time.sleep(0.3)  # until all have left the barrier
        if comm.rank == 3:
            comm.transport.abort("rank 3 failed: an accident", 3)
        if comm.rank == 1:
            time.sleep(0.3 if first == "failure" else 0)
            part = Communicator(made or comm.transport.subgroup([3, 1], 99), 20)
            with pytest.raises(PeerFailedError) as caught:
                part.all_reduce(np.ones(4))
            assert f"{ABOVE}rank 3 failed: an accident; meanwhile rank 1 waited" in str(
                caught.value
            )
            assert caught.value.culprit == 0
        return True

    assert errors(body, 30) == [True] * 4


def test_a_failure_of_a_part_of_a_part_is_told_once():
    def body(comm, part):
        inner = part.split(0)
        if comm.rank == 3:
            comm.transport.abort("rank 3 failed: an accident", 3)
        return inner.all_reduce(np.ones(4)) if comm.rank == 1 else None

    heard = in_parts(body)[1]
    assert str(heard).count(ABOVE) == 1
    assert heard.culprit == 0


def test_a_failure_of_a_part_stays_there():
    def body(comm, part):
        if comm.rank == 3:
            part.transport.abort("rank 0 failed: an accident", 0)
        return comm.all_reduce(np.ones(4))[0]

    assert in_parts(body) == [4] * 4


def test_only_the_first_failure_counts():
    def body(comm):
        if comm.rank == 0:
            comm.transport.abort("the first", 0)
            comm.transport.abort("the second", 1)
            return None
        return comm.barrier()

    assert all("the first" in str(each) and each.culprit == 0 for each in errors(body, 30)[1:])


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_rank_that_has_ended_is_gone_from_its_parts(when):
    def body(comm):
        ranks = [3, 1]
        if comm.rank == 3 and when == "before":
            comm.transport.subgroup(ranks, 99)
        if comm.rank != 1:
            return None
        time.sleep(0.1)
        part = Communicator(comm.transport.subgroup(ranks, 99), 20)
        return part.all_reduce(np.ones(4))

    heard = errors(body, 30)[1]
    assert "rank 0 has ended" in str(heard)
    assert heard.culprit == 0


def test_what_was_given_up_in_a_part_is_not_told_of_later():
    """Rank 1 gives up in its part, and then does something else: it waits for nobody."""

    def body(comm, part):
        if comm.rank == 1:
            with pytest.raises(DeadlineError):
                part.all_reduce(np.ones(4), timeout=0.1)
            time.sleep(0.8)
        elif comm.rank == 0:
            time.sleep(0.2)
            return comm.all_reduce(np.ones(4), timeout=0.3)
        elif comm.rank == 3:
            time.sleep(0.8)
        return comm.all_reduce(np.ones(4), timeout=30) if comm.rank == 2 else None

    heard = in_parts(body)[0]
    assert isinstance(heard, DeadlineError)
    assert "another communicator" not in str(heard)
