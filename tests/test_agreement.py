"""The handshake: all ranks learn whether all say the same, and if not, who said what."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refcoll import ArgumentError, DeadlineError, DisagreementError, RefcollError, spawn
from refcoll.agreement import Agreement
from refcoll.testing.counting import Counting
from refcoll.words import ranked

TIMEOUT = 5
CALL = {"collective": "all_reduce", "algorithm": "ring"}


def requires(size, records, errors=None):
    """What each rank's ``require`` raises, or None."""

    def body(comm):
        try:
            error = (errors or {}).get(comm.rank)
            Agreement(comm.transport).require(records[comm.rank], error, TIMEOUT)
        except RefcollError as raised:
            return raised
        return None

    return spawn(size, body, timeout=TIMEOUT)


def table(error):
    """Which ranks are told to have said what: {said: {ranks}}."""
    first, *lines = str(error).splitlines()
    assert first == "the ranks did not make the same call:"
    said = {}
    for line in lines:
        who, what = re.fullmatch(r"  ranks? ([0-9, -]+): (.*)", line).groups()
        spans = [tuple(map(int, span.split("-"))) for span in who.split(", ")]
        said[what] = {rank for span in spans for rank in range(span[0], span[-1] + 1)}
    return said


@pytest.mark.parametrize("size", range(1, 10))
def test_agreement_takes_log2_messages_of_64_bytes(size):
    def body(comm):
        counting = Counting(comm.transport)
        agreement = Agreement(counting)
        for number in range(3):
            agreement.require({**CALL, "call": number}, None, TIMEOUT)
        return counting.traffic

    rounds = (size - 1).bit_length()
    for traffic in spawn(size, body, timeout=TIMEOUT):
        assert traffic.steps == traffic.messages_sent == 3 * rounds
        assert traffic.sent_bytes == traffic.received_bytes == 3 * 64 * rounds


@given(st.lists(st.integers(0, 2), min_size=1, max_size=9))
@settings(max_examples=150, deadline=None)
def test_every_rank_sees_who_said_what(said):
    heard = requires(len(said), [{**CALL, "count": count} for count in said])
    if len(set(said)) == 1:
        assert heard == [None] * len(said)
        return
    wanted = {
        f"collective=all_reduce, algorithm=ring, count={count}": {
            rank for rank, each in enumerate(said) if each == count
        }
        for count in set(said)
    }
    for error in heard:
        assert type(error) is DisagreementError
        assert error.poisons
        assert table(error) == wanted


@given(st.lists(st.sampled_from(["", "", "no such op", "no such root"]), min_size=1, max_size=7))
@settings(max_examples=100, deadline=None)
def test_own_errors_are_raised_and_told_to_the_others(said):
    errors = {rank: ArgumentError(each) for rank, each in enumerate(said) if each}
    heard = requires(len(said), [CALL] * len(said), errors)
    if not errors:
        assert heard == [None] * len(said)
        return
    for rank, error in enumerate(heard):
        if rank in errors:
            assert error is errors[rank]
            assert error.poisons == ("" in said)
        else:
            assert type(error) is DisagreementError
            told = table(error)
            assert {rank for ranks in told.values() for rank in ranks} == set(range(len(said)))
            for each in set(said) - {""}:
                assert told[each] == {r for r, other in enumerate(said) if other == each}


def test_the_call_itself_and_what_differs_is_shown():
    records = [
        {**CALL, "count": 7, "dtype": "f4", "radix": 2, "root": rank // 2} for rank in range(3)
    ]
    said = table(requires(3, records)[0])
    assert said == {
        "collective=all_reduce, algorithm=ring, dtype=f4, count=7, root=0": {0, 1},
        "collective=all_reduce, algorithm=ring, dtype=f4, count=7, root=1": {2},
    }


def test_a_key_that_one_rank_lacks_is_a_difference():
    said = table(requires(2, [CALL, {**CALL, "extra": 1}])[0])
    assert said == {
        "collective=all_reduce, algorithm=ring, extra=None": {0},
        "collective=all_reduce, algorithm=ring, extra=1": {1},
    }


def test_records_of_any_length():
    records = [{**CALL, "text": "é" * (10_000 * rank)} for rank in range(3)]
    assert all(type(error) is DisagreementError for error in requires(3, records))


def test_agreement_again_after_a_disagreement():
    """The handshake itself stays in step."""

    def body(comm):
        agreement = Agreement(comm.transport)
        for turn in range(4):
            try:
                agreement.require({**CALL, "count": turn % 2 * comm.rank}, None, TIMEOUT)
            except DisagreementError:
                assert turn % 2
            else:
                assert not turn % 2

    spawn(5, body, timeout=TIMEOUT)


# ---- collecting --------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 2, 3, 6])
def test_collecting_gives_everybodys_record_by_rank(size):
    def body(comm):
        record = {"call": 4, "key": comm.rank**2, "name": "x" * comm.rank}
        return Agreement(comm.transport).collect(record, ["call"], TIMEOUT)

    wanted = [{"call": 4, "key": rank**2, "name": "x" * rank} for rank in range(size)]
    assert spawn(size, body, timeout=TIMEOUT) == [wanted] * size


def test_collecting_insists_on_what_must_be_the_same():
    def body(comm):
        with pytest.raises(DisagreementError) as caught:
            Agreement(comm.transport).collect({"call": comm.rank, "key": 0}, ["call"], TIMEOUT)
        return table(caught.value)

    said = {f"call={rank}": {rank} for rank in range(3)}
    assert spawn(3, body, timeout=TIMEOUT) == [said] * 3


def test_one_collects_where_others_require():
    def body(comm):
        agreement = Agreement(comm.transport)
        split = {"collective": "split"}
        calls = [
            lambda: agreement.require(CALL, None, TIMEOUT),
            lambda: agreement.collect(split, ["collective"], TIMEOUT),
        ]
        with pytest.raises(DisagreementError) as caught:
            calls[comm.rank == 1]()
        return table(caught.value)

    said = {
        "collective=all_reduce, algorithm=ring": {0, 2},
        "collective=split": {1},
    }
    assert spawn(3, body, timeout=TIMEOUT) == [said] * 3


# ---- who does not come -------------------------------------------------------------------


def test_a_missing_rank_is_a_deadline():
    def body(comm):
        if comm.rank == 1:
            time.sleep(0.4)
            return ""
        with pytest.raises(DeadlineError) as caught:
            Agreement(comm.transport).require(CALL, None, 0.2)
        return str(caught.value)

    said = spawn(3, body)
    assert "not all ranks made this call in time" in said[2]
    assert "64 bytes from rank 1" in said[2]
    assert "rank 1 to receive 64 bytes that were sent" in said[0]


@pytest.mark.parametrize(
    ("ranks", "said"),
    [
        ([0], "rank 0"),
        ([0, 1], "ranks 0-1"),
        ([3, 5], "ranks 3, 5"),
        ([0, 1, 2, 5, 7, 8], "ranks 0-2, 5, 7-8"),
    ],
)
def test_ranks_in_words(ranks, said):
    assert ranked(ranks) == said
