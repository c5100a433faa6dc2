"""Delivery: who meets whom, in which order, over channels that hold so many messages."""

from __future__ import annotations

from math import inf

import pytest

from refcoll import Copy, Send
from refcoll.graph import Node, chained
from refcoll.interpreters.delivery import DeadlockError, Finished, Started, UnmatchedError, deliver
from samples import looped, through
from taken_apart import right


@looped(capacity=[0, 1, 2, inf])
@through([1, 2, 5, 8])
def test_delivery_respects_cause_and_effect(each, size, capacity):
    graphs = right(each, size).graphs
    started, finished = set(), set()
    for event in deliver(graphs, capacity):
        here = event.rank, event.node
        node = graphs[event.rank][event.node]
        if isinstance(event, Started):
            assert here not in started
            assert all((event.rank, earlier) in finished for earlier in node.after)
            started.add(here)
            continue
        assert isinstance(event, Finished)
        assert here in started - finished
        for action, partner in zip(node.actions, event.partners, strict=True):
            if partner is None:
                assert isinstance(action, Send)
                assert capacity > 0
                continue
            assert partner[:2] in started
            other = graphs[partner[0]][partner[1]].actions[partner[2]]
            assert isinstance(other, Send) != isinstance(action, Send)
        finished.add(here)
    assert finished == {(r, i) for r, graph in enumerate(graphs) for i in range(len(graph))}


@pytest.mark.parametrize("room", range(5))
@pytest.mark.parametrize("messages", range(1, 5))
def test_a_channel_holds_as_many_messages_as_it_is_said_to(room, messages):
    """Both ranks send all, then receive all: that needs room for as many."""
    graphs = [
        chained([(Send(0, 1 - r),)] * messages + [(Copy(0, 1 - r),)] * messages) for r in (0, 1)
    ]
    if room < messages:
        with pytest.raises(DeadlockError, match=r"rank 0 step .* waits in Send.*; rank 1 step"):
            list(deliver(graphs, room))
    else:
        assert sum(isinstance(event, Finished) for event in deliver(graphs, room)) == 4 * messages


def test_a_surplus_message_is_reported_where_it_was_sent():
    graphs = [chained([(), (Send(3, 1),)]), ()]
    with pytest.raises(UnmatchedError, match=r"rank 0 step 2: rank 1 never receives Send"):
        list(deliver(graphs))
    with pytest.raises(DeadlockError):
        list(deliver(graphs, 0))


def test_messages_of_different_channels_do_not_meet():
    """Two threads of a rank, as foreign programs have them."""
    sender = (Node((Send(0, 1),), (), 0, channel=0), Node((Send(1, 1),), (), 0, channel=1))
    receiver = (Node((Copy(1, 0),), (), 0, channel=1), Node((Copy(0, 0),), (0,), 1, channel=0))
    meetings = {
        (event.node, event.partners)
        for event in deliver([sender, receiver], 0)
        if isinstance(event, Finished) and event.rank == 1
    }
    assert meetings == {(0, ((0, 1, 0),)), (1, ((0, 0, 0),))}


def test_a_graph_that_waits_for_itself_never_ends():
    loop = (Node((Send(0, 0), Copy(0, 0)), (1,), 0), Node((), (0,), 1))
    with pytest.raises(DeadlockError):
        list(deliver([loop]))
