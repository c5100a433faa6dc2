"""A native schedule is a chain of its steps that are not idle."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from refcoll.graph import Node, chained
from refcoll.schedule import IDLE, Copy, Send

STEP = (Send(0, 1), Copy(1, 1))


def test_idle_steps_count_but_are_not_there():
    assert chained([IDLE, STEP, IDLE, IDLE, STEP[:1]]) == (
        Node(STEP, (), 1),
        Node(STEP[:1], (0,), 4),
    )


def test_nothing_is_nothing():
    assert chained([]) == ()
    assert chained([IDLE, IDLE]) == ()


@given(st.lists(st.sampled_from([IDLE, STEP, STEP[:1]])))
@settings(deadline=None)
def test_each_step_waits_for_the_one_before_alone(steps):
    graph = chained(iter(steps))
    assert [node.actions for node in graph] == [step for step in steps if step]
    assert [node.number for node in graph] == [t for t, step in enumerate(steps) if step]
    assert [node.after for node in graph] == [(i - 1,) if i else () for i in range(len(graph))]
    assert {node.channel for node in graph} <= {0}
