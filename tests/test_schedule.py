"""The combinators: schedules from schedules."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refcoll.algorithms.chain import chain_broadcast
from refcoll.algorithms.ring import ring_all_gather, ring_reduce_scatter
from refcoll.algorithms.tree import binomial_broadcast
from refcoll.schedule import (
    IDLE,
    Copy,
    Reduce,
    ScheduleError,
    Send,
    incoming_goes_left,
    indices,
    on_chunks,
    on_ranks,
    padded,
    peer,
    reduced_chunks,
    remote,
    reverse,
    then,
    together,
)


def neighbours(rank, size):
    """A schedule whose peers show how ranks are mapped."""
    yield Send(rank, (rank + 1) % size), Reduce(7, (rank - 1) % size, "right")
    yield IDLE
    yield (Copy(range(2), (rank + 2) % size),)


A, B, C = (Send(0, 1),), (Copy(1, 2),), (Reduce(2, 3),)


# ---- actions ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("chunks", "named"),
    [(3, [3]), (0, [0]), (range(2, 5), [2, 3, 4]), ((4, 1), [4, 1]), ((), []), (range(0), [])],
)
def test_chunks_are_an_index_a_range_or_a_tuple(chunks, named):
    assert list(indices(chunks)) == named


def test_the_peer_is_the_other_end():
    assert [peer(a) for a in (Send(0, 4), Copy(0, 5), Reduce(0, 6))] == [4, 5, 6]
    assert remote(Send(0, 4), 3)
    assert not remote(Send(0, 4), 4)
    assert not remote(Copy(0, 4), 4)


def test_only_chunks_of_a_reduce_are_reduced():
    step = Send(0, 1), Copy(1, 1), Reduce(2, 1), Reduce((3, 4), 2)
    assert reduced_chunks(step) == {2, 3, 4}


@pytest.mark.parametrize("side", [None, "left", "right"])
@pytest.mark.parametrize(("source", "rank"), [(0, 1), (1, 0), (3, 7), (7, 3)])
def test_the_lower_rank_goes_left_unless_a_side_is_given(source, rank, side):
    expected = {None: source < rank, "left": True, "right": False}[side]
    assert incoming_goes_left(Reduce(0, source, side), rank) is expected


# ---- on_ranks --------------------------------------------------------------------------


@pytest.mark.parametrize("group", [(5, 2, 9), [5, 2, 9], range(4, 10, 2)])
def test_on_ranks_maps_peers_and_keeps_the_rest(group):
    assert list(on_ranks(group, neighbours, group[1])) == [
        (Send(1, group[2]), Reduce(7, group[0], "right")),
        IDLE,
        (Copy(range(2), group[0]),),
    ]


def test_on_ranks_is_nothing_outside_the_group():
    assert list(on_ranks((5, 2, 9), neighbours, 3)) == []


# ---- on_chunks -------------------------------------------------------------------------


def test_on_chunks_widens_by_the_cuts():
    steps = [(Send(0, 1), Copy(range(1, 3), 2)), IDLE, (Reduce((2, 0), 3, "left"), Send((), 4))]
    assert list(on_chunks((0, 2, 2, 5), steps)) == [
        (Send(range(2), 1), Copy(range(2, 5), 2)),
        IDLE,
        (Reduce((2, 3, 4, 0, 1), 3, "left"), Send((), 4)),
    ]


@given(
    st.lists(st.integers(0, 4), min_size=1, max_size=6),
    st.data(),
)
@settings(deadline=None)
def test_on_chunks_names_what_lies_between_cuts_in_order(widths, data):
    cuts = [sum(widths[:i]) for i in range(len(widths) + 1)]
    index = st.integers(0, len(widths) - 1)
    chunks = data.draw(
        st.one_of(
            index,
            st.lists(index).map(tuple),
            st.tuples(index, index).map(lambda ends: range(min(ends), max(ends) + 1)),
        )
    )
    ((action,),) = on_chunks(cuts, [(Send(chunks, 0),)])
    assert list(indices(action.chunks)) == [
        wide for i in indices(chunks) for wide in range(cuts[i], cuts[i + 1])
    ]


def test_a_contiguous_range_stays_one():
    """One view of memory, no packing."""
    ((action,),) = on_chunks(range(0, 40, 4), [(Send(range(2, 5), 0),)])
    assert action.chunks == range(8, 20)


# ---- then, together, padded ------------------------------------------------------------


def test_then_is_one_after_another():
    assert list(then([A, B], [], iter([C]))) == [A, B, C]


def test_together_zips_and_the_longest_decides():
    assert list(together([A, B], [C], [])) == [A + C, B]
    assert list(together()) == []


def test_padded_adds_idle_steps_up_to_a_length():
    assert list(padded([A, IDLE], 4)) == [A, IDLE, IDLE, IDLE]
    assert list(padded(iter([A, B]), 2)) == [A, B]
    assert list(padded([], 2)) == [IDLE, IDLE]
    assert list(padded([], 0)) == []


def test_padded_refuses_what_does_not_fit():
    with pytest.raises(ScheduleError, match="3 steps do not fit in 2"):
        list(padded([A, B, C], 2))


# ---- reverse ---------------------------------------------------------------------------


def test_reverse_exchanges_sends_and_receives_backwards_in_time():
    steps = [(Send(0, 1), Copy(1, 2)), IDLE, (Copy((2, 3), 4),)]
    assert list(reverse(steps, into=Reduce)) == [
        (Send((2, 3), 4),),
        IDLE,
        (Send(1, 2), Reduce(0, 1)),
    ]


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8])
@pytest.mark.parametrize(
    "gathering", [ring_all_gather, binomial_broadcast, lambda r, n: chain_broadcast(r, n, 3)]
)
def test_reversing_twice_changes_nothing(gathering, size):
    for rank in range(size):
        steps = list(gathering(rank, size))
        assert list(reverse(reverse(steps, into=Reduce), into=Copy)) == steps


@pytest.mark.parametrize("size", [2, 3, 5, 8])
def test_the_ring_reduce_scatter_is_the_all_gather_of_the_other_ring_backwards(size):
    """Mirror the ranks (r becomes -r): then both rings turn the same way."""

    def mirrored(rank):
        steps = reverse(ring_all_gather(-rank % size, size), into=Reduce)
        for step in steps:
            sends = [Send(-a.chunks % size, -a.to % size) for a in step if isinstance(a, Send)]
            yield (
                *sends,
                *(Reduce(-a.chunks % size, -a.source % size) for a in step
                  if not isinstance(a, Send)),
            )  # fmt: skip

    for rank in range(size):
        assert list(mirrored(rank)) == list(ring_reduce_scatter(rank, size))


@pytest.mark.parametrize(
    ("steps", "into"),
    [
        ([(Copy(0, 1),), (Copy(0, 2),)], Reduce),
        ([(Copy((0, 1), 1),), (Copy(range(1, 3), 2),)], Reduce),
        ([(Copy(3, 1), Copy(3, 2))], Reduce),
        ([(Send(0, 1),), (Send(0, 2),)], Copy),  # would bring two final values of chunk 0
    ],
)
def test_reverse_refuses_a_chunk_that_reaches_a_rank_twice(steps, into):
    with pytest.raises(ScheduleError, match=r"chunk \d reaches a rank twice"):
        list(reverse(steps, into))


def test_reverse_allows_a_chunk_to_be_sent_twice():
    """One to many, backwards: many merged into one."""
    steps = [(Send(0, 1),), (Send(0, 2), Send(0, 3))]
    assert list(reverse(steps, into=Reduce)) == [(Reduce(0, 3), Reduce(0, 2)), (Reduce(0, 1),)]
