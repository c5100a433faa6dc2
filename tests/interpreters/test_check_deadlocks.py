"""Deadlocks: found, and told by what each rank waits for."""

from __future__ import annotations

import pytest

from refcoll import Copy, Reduce, Send, algorithms, check, count, from_steps
from refcoll.algorithms.ring import ring_reduce_scatter
from samples import named
from taken_apart import rebuilt, right, steps_of

CYCLIC = [
    "all_reduce-ring", "all_gather-ring", "reduce_scatter-ring", "reduce_scatter-pairwise",
    "all_reduce-recursive_doubling", "all_reduce-rabenseifner", "all_reduce-hierarchical_rails",
    "all_reduce-hierarchical_leaders", "barrier-dissemination",
]  # fmt: skip


def split(steps):
    """First the sends of a step, then, in a step of its own, the receives."""
    return [
        [
            tuple(a for a in step if isinstance(a, Send) == sends)
            for step in mine
            for sends in (True, False)
        ]
        for mine in steps
    ]


@pytest.mark.parametrize("size", [2, 4, 6, 8])
@pytest.mark.parametrize("each", [e for e in algorithms() if named(e) in CYCLIC], ids=named)
def test_sending_before_receiving_deadlocks_unless_channels_hold_a_message(each, size):
    made = right(each, size)
    apart = rebuilt(made, split(steps_of(made)))
    report = check(apart)
    assert [failure.verdict for failure in report.failures] == ["deadlock"]
    assert report.capacity == 1
    message = report.failures[0].message
    assert message.startswith("with room for 0 messages: ")
    assert "rank 0 step" in message
    assert "waits in Send(" in message
    assert not report.aligned
    assert check(apart, capacities=(1,)).ok


def blocking_ring():
    return from_steps(
        "reduce_scatter",
        [
            [(action,) for step in ring_reduce_scatter(rank, 4) for action in step]
            for rank in range(4)
        ],
        4,
    )


def test_a_blocking_ring_reduce_scatter():
    """4 ranks: 3 sends and 3 receives in turn are 6 steps, but only 3 messages in a chain."""
    made = blocking_ring()
    report = check(made)
    assert [failure.verdict for failure in report.failures] == ["deadlock"]
    assert report.capacity == 1
    assert check(made, capacities=(1,)).ok
    assert count(made, 400).steps == 6


def test_the_depth_of_a_blocking_ring_reduce_scatter():
    """Each message waits for the one before it in the chain alone: it is already on its way
    when its receive starts."""
    assert count(blocking_ring(), 400).depth == 3


def test_the_message_of_a_deadlock_says_what_each_rank_waits_for():
    made = from_steps("reduce", [[(Reduce(0, 1),)], [(Copy(0, 0),), (Send(0, 0),)]], 1)
    (failure,) = check(made).failures
    assert failure.verdict == "deadlock"
    assert "rank 0 step 1 waits in Reduce(chunks=0, source=1)" in failure.message
    assert "rank 1 step 1 waits in Copy(chunks=0, source=0)" in failure.message
    assert "Send" not in failure.message


def test_what_has_been_met_is_not_waited_for():
    steps = [[(Send(0, 1), Reduce(0, 1), Reduce(0, 2))], [(Send(0, 0), Reduce(0, 0))], []]
    (failure,) = check(from_steps("all_reduce", steps, 1)).failures
    assert failure.message.endswith(
        "rank 0 step 1 waits in Reduce(chunks=0, source=2), though rank 2 has ended"
    )


def test_step_numbers_count_idle_steps():
    made = from_steps("reduce", [[(), (), (Reduce(0, 1),)], []], 1)
    (failure,) = check(made).failures
    assert "rank 0 step 3 waits" in failure.message


def test_a_message_that_nobody_receives():
    steps = [[(Send(0, 1),)], []]
    report = check(from_steps("broadcast", steps, 1))
    assert report.failed("matching")
    assert "rank 0 step 1: rank 1 never receives Send(chunks=0, to=1) from rank 0" in "".join(
        failure.message for failure in report.failures
    )
