"""Ranks that wait for one another in a circle, as told to those that have not given up."""

from __future__ import annotations

import numpy as np
import pytest

import refcoll
from on_threads import errors
from refcoll import DeadlineError
from refcoll.chunks import Layout
from refcoll.interpreters.execute import Plan
from refcoll.operators import OPERATORS
from refcoll.testing.inprocess import InProcess, World
from refcoll.transport import Incoming, Outgoing, Standing


def test_a_circle_is_told_as_one():
    """Every rank waits for another one's message that was never sent."""

    def body(comm):
        other = refcoll.program("broadcast", "linear", 2, root=1 - comm.rank)
        plan = Plan(other, comm.transport, np.ones(4), Layout((4,)), OPERATORS["sum"], 9)
        plan.run(1.5)

    heard = errors(body, size=2)
    late = [each for each in heard if isinstance(each, DeadlineError)]
    assert late
    assert all(each.culprit is None for each in late)
    assert any("wait for one another" in str(each) for each in late)


def wait_for_rank_1_in_vain(world):
    """Rank 0 does, and gives up."""
    exchange = InProcess(world, 0).prepare([], [Incoming(8, 1)], 9)
    exchange.start()
    with pytest.raises(DeadlineError):
        exchange.wait(0, 0.01)


def test_a_rank_that_gave_up_and_has_ended_is_still_of_the_circle():
    """One of two that wait for each other is first; the other may look when it has ended."""
    world = World(2)
    wait_for_rank_1_in_vain(world)
    world.leave(0)
    told = world.known(1)[0]
    assert isinstance(told, Standing)
    assert told.awaits == (1,)


@pytest.mark.parametrize("ended", [False, True])
def test_a_rank_that_gave_up_in_another_part_is_still_of_the_circle(ended):
    """Rank 0 waited for rank 1 in one part, gave up, and perhaps ended, before rank 1 looks in
    the other part, where it waits for rank 0."""
    world = World(2)
    one, other = (world.subworld((0, 1), channel) for channel in range(2))
    wait_for_rank_1_in_vain(one)
    if ended:
        world.leave(0)
    told = other.known(1)[0]
    assert isinstance(told, Standing)
    assert told.awaits == (1,)
    assert told.elsewhere


def test_a_rank_that_gave_up_in_another_part_and_has_gone_on_is_not():
    """What it waits for next comes, so that it waits for nobody."""
    world = World(2)
    one, other = (world.subworld((0, 1), channel) for channel in range(2))
    wait_for_rank_1_in_vain(one)
    sends = InProcess(other, 1).prepare([Outgoing(np.zeros(8, np.uint8), 0)], [], 9)
    takes = InProcess(other, 0).prepare([], [Incoming(8, 1)], 9)
    sends.start()
    takes.start()
    takes.wait(0, 30)
    assert "waits for nobody" in str(other.known(1)[0])
