"""What is counted, on schedules small enough to count by hand."""

from __future__ import annotations

from refcoll import Copy, Reduce, Send, count, from_steps
from refcoll.chunks import Layout

LENGTHS = Layout((5, 7, 11))


def counted(*steps, layout=LENGTHS, collective="all_reduce", areas=1):
    chunks = len(layout.lengths)
    return count(from_steps(collective, steps, chunks, areas=areas), layout)


def test_steps_messages_and_elements():
    counts = counted(
        [(Send(0, 1), Copy(1, 1)), (), (Send((0, 1), 1),)],
        [(Send(1, 0), Copy(0, 0)), (), (Copy((0, 1), 0),)],
    )
    zero, one = counts.ranks
    assert (zero.steps, zero.messages_sent, zero.messages_received) == (2, 2, 1)
    assert (zero.sent, zero.received) == (5 + 5 + 7, 7)
    assert (one.steps, one.messages_sent, one.messages_received) == (2, 1, 2)
    assert (one.sent, one.received) == (7, 5 + 5 + 7)
    assert (counts.steps, counts.sent, counts.received) == (2, 17, 17)
    assert counts.links == {(0, 1): 17, (1, 0): 7}


def test_moves_within_a_rank_are_no_messages():
    counts = counted([(Send(0, 0), Copy(3, 0)), (Send(3, 0), Reduce(0, 0))], areas=2)
    (only,) = counts.ranks
    assert (only.steps, only.messages_sent, only.messages_received) == (0, 0, 0)
    assert (only.sent, only.received, counts.depth, counts.rounds) == (0, 0, 0, 0)
    assert not counts.links


def test_a_step_that_also_moves_within_is_one_step():
    counts = counted([(Send(0, 0), Copy(3, 0), Send(1, 1))], [(Copy(1, 0),)], areas=2)
    assert [rank.steps for rank in counts.ranks] == [1, 1]
    assert counts.ranks[0].sent == 7


def test_empty_messages_are_messages():
    counts = counted([(Send((), 1),)], [(Copy((), 0),)])
    assert (counts.ranks[0].messages_sent, counts.ranks[0].sent) == (1, 0)
    assert (counts.steps, counts.depth, counts.rounds) == (1, 1, 1)


def test_what_a_step_sends_and_reduces_into_is_staged():
    exchange = [[(Send(c, 1 - r), Reduce(2, 1 - r))] for r, c in ((0, 2), (1, 2))]
    assert [rank.staged for rank in counted(*exchange).ranks] == [11, 11]
    # Of two messages in the step only one is of a chunk that it reduces into.
    aside = [
        [(Send(2 * r, 1 - r), Copy(2 - 2 * r, 1 - r), Send(1, 1 - r), Reduce(1, 1 - r))]
        for r in (0, 1)
    ]
    assert [rank.staged for rank in counted(*aside).ranks] == [7, 7]


def test_chunks_that_are_not_neighbours_in_memory_are_packed():
    counts = counted(
        [(Send((0, 2), 1),), (Send((0, 1), 1),), (Send(range(3), 1),), (Send((1, 0), 1),)],
        [(Copy((0, 2), 0),), (Copy((0, 1), 0),), (Copy(range(3), 0),), (Copy((1, 0), 0),)],
    )
    assert [rank.packed for rank in counts.ranks] == [(5 + 11) + (7 + 5)] * 2


def test_depth_is_the_longest_chain_and_rounds_are_of_one_message_each():
    """Rank 0 tells three others at once; the last tells a fourth."""
    counts = counted(
        [(Send(0, 1), Send(0, 2), Send(0, 3))],
        [(Copy(0, 0),)],
        [(Copy(0, 0),)],
        [(Copy(0, 0),), (Send(0, 4),)],
        [(), (Copy(0, 3),)],
        collective="broadcast",
    )
    assert counts.depth == 2
    assert counts.rounds == 4


def test_independent_messages_do_not_add_up():
    counts = counted([(Send(0, 1),)], [(Copy(0, 0),)], [(Send(0, 3),)], [(Copy(0, 2),)])
    assert (counts.depth, counts.rounds) == (1, 1)


def test_an_empty_schedule_costs_nothing():
    counts = counted([], [])
    assert (counts.steps, counts.depth, counts.rounds, counts.sent) == (0, 0, 0, 0)


def test_optimal_is_judged_in_whole_elements():
    """23 elements on 2 ranks: 23 each way is least; a rank that sends 24 is not optimal."""
    exchange = [[(Send(range(3), 1 - r), Reduce(range(3), 1 - r))] for r in (0, 1)]
    assert counted(*exchange).bandwidth_optimal
    assert counted(*exchange).least == 23
    assert not counted(*[[*each, (Send(0, 1 - r), Copy(0, 1 - r))] for r, each in
                         enumerate(exchange)]).bandwidth_optimal  # fmt: skip
