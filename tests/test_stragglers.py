"""Who was late, and who waited: told from given times.

These are round numbers, so that what is waited follows from the schedule by hand.
"""

from __future__ import annotations

import pytest

from refcoll import program
from refcoll.chunks import Layout
from refcoll.interpreters.clock import finish_times
from refcoll.rates import Rates
from refcoll.stragglers import Stragglers, call_times


def times(collective, algorithm, entered, left, compared=False):
    made = program(collective, algorithm, len(entered))
    return call_times(made, 7, compared, entered, left)


def test_in_an_all_reduce_everybody_waits_for_the_last():
    call = times("all_reduce", "ring", [0, 0, 1, 0.25], [1.5] * 4)
    assert call.waited == (1, 1, 0, 0.75)
    assert call.transferred == (0.5, 0.5, 0.5, 0.5)
    assert call.late_rank == 2
    assert call.late_by == 1 - 0.125
    assert str(call) == "rank 2 entered 875 ms after the median; the rest waited 2.75 rank-seconds"


def test_in_a_chain_only_those_behind_the_late_rank_wait():
    """Rank 0 has got rid of its message when it leaves; it waited for no longer than that."""
    call = times("broadcast", "chain", [0, 0, 1, 0], [0.25, 0.5, 1.25, 1.5])
    assert call.waited[0] <= 0.25
    assert call.waited[1:] == (0.5, 0, 1)


def test_what_a_rank_does_not_depend_on_it_does_not_wait_for():
    call = times("scan", "linear", [0, 0, 0, 1], [0.25, 0.25, 0.25, 1.25])
    assert call.waited[0] == 0


def test_times_may_start_anywhere():
    early = times("all_reduce", "ring", [0, 0.5, 0], [1, 1, 1])
    later = times("all_reduce", "ring", [1000, 1000.5, 1000], [1001, 1001, 1001])
    assert early.waited == later.waited


def test_a_call_that_compares_first_lets_all_wait_for_all():
    call = times("scan", "linear", [0, 0, 1], [1.25, 1.25, 1.25], compared=True)
    assert call.waited == (1, 1, 0)


def test_sums_over_calls():
    calls = (
        times("all_reduce", "ring", [0, 0, 1], [1.5] * 3),
        times("all_reduce", "ring", [2, 2.5, 2], [3, 3, 3]),
        times("all_reduce", "ring", [4, 4, 4.25], [5, 5, 5]),
    )
    found = Stragglers(calls, 0)
    assert found.worst is calls[0]
    assert [each.last for each in found.ranks] == [0, 1, 2]
    assert [each.late for each in found.ranks] == [0, 0.5, 1.25]
    assert [each.waited for each in found.ranks] == [1.75, 1.25, 0.5]
    assert [each.transferred for each in found.ranks] == [1.75, 1.75, 1.75]
    first, *rest = str(found).splitlines()
    assert first == (
        "rank 2 entered 1 s after the median; the rest waited 2 rank-seconds "
        "(in number 1 of 3 calls, all_reduce by ring on 3 ranks)"
    )
    assert rest[-1].split() == ["2", "2", "1.25", "s", "500", "ms", "1.75", "s"]


def test_a_rank_that_is_late_again_and_again_is_told_of_too():
    often = [times("all_reduce", "ring", [at, at + 0.5, at], [at + 1] * 3) for at in range(4)]
    once = times("all_reduce", "ring", [4, 4, 4.75], [5, 5, 5])
    said = str(Stragglers((*often, once), 0)).splitlines()
    assert said[0].startswith("rank 2 entered 750 ms after the median")
    assert said[1] == "rank 1 entered last in 4 of 5 calls, 2 s late in all"


def test_the_clock_error_is_told():
    call = times("all_reduce", "ring", [0, 1], [2, 2])
    assert "compared to within 3 ms" in str(Stragglers((call,), 0.003))


@pytest.mark.parametrize("algorithm", ["ring", "binomial", "recursive_doubling"])
def test_the_logical_clock_starts_where_ranks_enter(algorithm):
    """With free messages an all-reduce ends everywhere when the last has entered."""
    made = program("all_reduce", algorithm, 8)
    entered = [0.0, 3.0, 1.0, 0.0, 0.5, 0.0, 2.0, 0.0]
    assert finish_times(made, Layout((1,) * made.chunks), Rates(), entered) == [3.0] * 8
    shifted = finish_times(made, Layout((1,) * made.chunks), Rates(alpha=1), [5.0] * 8)
    assert shifted == [
        5 + t for t in finish_times(made, Layout((1,) * made.chunks), Rates(alpha=1))
    ]
