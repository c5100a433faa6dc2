"""Steps whose messages do not fit are refused by what counts, costs, draws and simulates them.

What fits is the rule of ``refcoll.schedule``: as many chunks of the same lengths at both ends,
and ranks and chunks that exist.
"""

from __future__ import annotations

import numpy as np
import pytest

from refcoll import Copy, Reduce, Send, cost, count, draw, from_steps, program, simulate
from refcoll.chunks import Layout
from refcoll.interpreters import fitting
from refcoll.schedule import ScheduleError

READERS = {
    "count": lambda made, n: count(made, n),
    "cost": lambda made, n: cost(made, n, latency=1, bandwidth=1),
    "draw": lambda made, n: draw(made),
    "simulate": lambda made, n: simulate(made, [np.ones(n)] * made.size),
}
GIVES, TAKES = Send(0, 1), Copy(0, 0)
DEFECTS = [
    (Send(2, 1), TAKES, r"rank 0 step 2: Send\(chunks=2, to=1\) names chunk 2 of 2"),
    (Send(-1, 1), TAKES, r"rank 0 step 2: Send\(chunks=-1, to=1\) names chunk -1 of 2"),
    (GIVES, Copy(range(3), 0), r"rank 1 step 2: .* names chunk 2 of 2"),
    (Send(0, 2), TAKES, r"rank 0 step 2: .* names a rank outside 0..1"),
    (GIVES, Copy(0, -1), r"rank 1 step 2: .* names a rank outside 0..1"),
    (Send((0, 1), 1), TAKES, r"rank 1 step 2: Copy\(.* meets Send\(.* of rank 0 step 2, whose"),
    (Send((), 1), TAKES, r"other lengths: \[\], not \[\d\]"),
]


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
@pytest.mark.parametrize("idle", [0, 1], ids=["aligned", "ragged"])
def test_what_does_not_fit_is_named(read, idle):
    for gives, takes, words in DEFECTS:
        steps = [[(), (gives,)], [()] * (1 + idle) + [(takes,)]]
        if idle:
            words = words.replace("rank 1 step 2", "rank 1 step 3")
        with pytest.raises(ScheduleError, match=words):
            read(from_steps("broadcast", steps, 2), 4)


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
def test_chunks_of_other_names_fit_where_they_are_as_long(read):
    """Chunk 0 into chunk 1: four elements are halved evenly, three are not."""
    made = from_steps("broadcast", [[(Send(0, 1),)], [(Copy(1, 0),)]], 2)
    read(made, 4)
    if read is not READERS["draw"]:
        with pytest.raises(ScheduleError, match=r"other lengths: \[2\], not \[1\]"):
            read(made, 3)


def test_lengths_are_those_of_the_layout_that_is_given():
    made = from_steps("broadcast", [[(Send(0, 1),)], [(Copy(1, 0),)]], 2)
    assert count(made, Layout((3, 3))).sent == 3
    with pytest.raises(ScheduleError, match=r"other lengths: \[4\], not \[2\]"):
        count(made, Layout((4, 2)))
    with pytest.raises(ScheduleError, match=r"other lengths: \[4\], not \[2\]"):
        simulate(made, [np.ones(6)] * 2, layout=Layout((4, 2)))


def test_scratch_areas_have_the_vector_s_lengths():
    """Rank 1's chunk 1 comes into chunk 1 of area 1, which is as long: index 2 + 1."""
    steps = [[(Copy(3, 1),), (Send(3, 0), Reduce(1, 0))], [(Send(1, 0),)]]
    made = from_steps("reduce", steps, 2, areas=2)
    assert simulate(made, [np.array([1.0, 2, 3]), np.array([10.0, 20, 30])])[0].tolist() == [
        1,
        2,
        33,
    ]


def test_a_message_that_nobody_sends_is_told_with_who_has_ended():
    made = from_steps("broadcast", [[(Send(0, 1),)], [(Copy(0, 0),), (Copy(0, 0),)]], 1)
    for read in READERS.values():
        with pytest.raises(
            ScheduleError, match=r"rank 1 step 2 waits in .*, though rank 0 has ended$"
        ):
            read(made, 4)


def test_algorithms_of_the_library_pass_unread(monkeypatch):
    """They are held to it by the checker, for every N; reading them would take as long again."""
    monkeypatch.setattr(fitting, "out_of_bounds", None)
    for read in READERS.values():
        read(program("all_reduce", "ring", 4), 8)
