"""Whatever is wrong with a call, every rank hears of it, soon, before anything has moved.

The rows are those of docs/bad-input.md; tests/mpi/test_bad_input.py goes through them under mpirun.
"""

from __future__ import annotations

import threading

import numpy as np
import pytest

import refcoll
from bad_input_different import DIFFERENT
from bad_input_local import ACCEPTED, CLOSED, FUNCTIONS, METHODS, SAID_TO_ALL
from bad_input_making import NAMES, array
from bad_input_rows import (
    ROWS,
    afterwards,
    different,
    hear,
    heard_of,
    named,
    odd,
    require_different,
    require_refused,
)
from on_threads import TIMEOUT
from refcoll import ArgumentError, DisagreementError, PoisonedError, connecting
from samples import noted

SIZE = 4
EVERYWHERE = {name: row for name, row in ROWS.items() if not row.bad.ranks}
OF_ANY_TRANSPORT = [row for row in SAID_TO_ALL if row.argument != "options"]
EVERYONE = [*range(SIZE)]
CALLED = sorted({row.call for row in ROWS.values()})


def heard_by_all(size, call):
    """What every rank hears of a call."""
    return refcoll.spawn(size, lambda c: heard_of(c, lambda: call(c)), timeout=TIMEOUT)


def require_all_refused(call, is_wrong):
    """Of all rows of that call, where ``is_wrong(rank, size)``."""
    for row in ROWS.values():
        if row.call == call:
            size = row.bad.ranks or SIZE
            wrong_on = [rank for rank in range(size) if is_wrong(rank, size)]
            with noted(row.name):
                heard = refcoll.spawn(
                    size,
                    lambda c: hear(c, row, c.rank in wrong_on),  # noqa: B023
                    timeout=TIMEOUT,
                )
                require_refused(row, heard, wrong_on)


@pytest.mark.parametrize("call", CALLED)
def test_a_mistake_that_all_make_is_refused_and_forgotten(call):
    require_all_refused(call, lambda rank, size: True)


@pytest.mark.parametrize("call", CALLED)
def test_a_mistake_of_one_rank_is_told_to_all_and_poisons(call):
    require_all_refused(call, lambda rank, size: rank == odd(size))


def test_in_the_background_wait_tells_the_same():
    for row in EVERYWHERE.values():
        if row.call == "reduce_scatter" and row.bad.argument != "async_op":
            for wrong_on in (EVERYONE, [odd(SIZE)]):
                heard = refcoll.spawn(
                    SIZE,
                    lambda c: hear(c, row, c.rank in wrong_on, background=True),  # noqa: B023
                    timeout=TIMEOUT,
                )
                require_refused(row, heard, wrong_on)


@pytest.mark.parametrize("row", DIFFERENT, ids=[f"{row[0]}: {row[2]}" for row in DIFFERENT])
def test_different_calls_are_told_to_all_and_poison(row):
    require_different(row, refcoll.spawn(SIZE, lambda c: different(c, row), timeout=TIMEOUT))


@pytest.mark.parametrize("of", sorted({row.of for row in FUNCTIONS}))
def test_functions_refuse(of):
    for row in FUNCTIONS:
        if row.of == of:
            with noted(row.name):
                with pytest.raises(row.error) as caught:
                    row.make()
                assert type(caught.value) is row.error
                for word in row.words:
                    assert word in str(caught.value), str(caught.value)


@pytest.mark.parametrize("wrong_on", [EVERYONE, [odd(SIZE)]], ids=["all wrong", "one wrong"])
@pytest.mark.parametrize("row", METHODS, ids=[row.name for row in METHODS])
def test_what_a_rank_does_by_itself_goes_wrong_there_alone(row, wrong_on):
    def body(comm):
        plan = comm.plan("all_reduce", np.array([comm.rank]))
        handle = plan.start() if "handle" in row.call else None
        if comm.rank in wrong_on:
            with pytest.raises(row.error) as caught:
                row.make(comm=comm, plan=plan, handle=handle)
            assert type(caught.value) is row.error
            assert all(word in str(caught.value) for word in row.words), str(caught.value)
        assert handle is None or handle.wait()[0] == sum(EVERYONE)
        return int(plan.run()[0]), afterwards(comm)

    assert refcoll.spawn(SIZE, body, timeout=TIMEOUT) == [(sum(EVERYONE), "works")] * SIZE


@pytest.mark.parametrize("wrong_on", [EVERYONE, [odd(SIZE)]], ids=["all wrong", "one wrong"])
@pytest.mark.parametrize("row", OF_ANY_TRANSPORT, ids=[row.name for row in OF_ANY_TRANSPORT])
def test_what_connect_refuses_is_told_to_all(row, wrong_on, monkeypatch):
    """Over a transport that is this communicator's; what is MPI's own is tested under mpirun."""
    ends = threading.local()
    monkeypatch.setattr(connecting, "transport", lambda name: lambda: ends.mine)

    def body(comm):
        ends.mine = comm.transport.subgroup(EVERYONE, 1 << 20)
        at_fault = comm.rank in wrong_on
        with pytest.raises(ArgumentError if at_fault else DisagreementError) as caught:
            row.make() if at_fault else refcoll.connect("mpi")
        assert all(word in str(caught.value) for word in row.words), str(caught.value)
        assert at_fault or f"{named(wrong_on)}: " in str(caught.value)

    refcoll.spawn(SIZE, body, timeout=TIMEOUT)


@pytest.mark.parametrize("call", CLOSED)
def test_what_was_closed_refuses_everything(call):
    def body(comm):
        plan, x = comm.plan("all_reduce", array()), array()
        comm.close()
        with pytest.raises(PoisonedError, match="was closed and cannot be used again"):
            eval(call, NAMES, {"comm": comm, "plan": plan, "x": x})
        comm.close()

    refcoll.spawn(SIZE, body, timeout=TIMEOUT)


@pytest.mark.parametrize("call", ACCEPTED)
def test_what_looks_odd_and_is_right(call):
    def body(comm):
        plan = comm.plan("all_reduce", array())
        names = {"comm": comm, "plan": plan, "x": array(), "size": comm.size}
        eval(call, NAMES, names)
        return afterwards(comm)

    assert refcoll.spawn(SIZE, body, timeout=TIMEOUT) == ["works"] * SIZE


@pytest.mark.parametrize("size", [2, 3, 5, 8])
@pytest.mark.parametrize("where", [0, -1])
def test_on_any_number_of_ranks_and_wherever_it_happens(size, where):
    heard = heard_by_all(size, lambda c: c.all_reduce(array(12 + (c.rank == where % size))))
    assert all(each.is_a("DisagreementError", "count=12", "count=13") for each in heard)


def test_all_ranks_different():
    heard = heard_by_all(3, lambda c: c.all_reduce(array(c.rank)))
    words = [f"rank {rank}: collective=all_reduce" for rank in range(3)]
    assert all(each.is_a("DisagreementError", *words) for each in heard)


def test_gathers_of_pieces_that_are_not_as_long_as_said():
    """Each rank finds fault with its own piece, in its own words: all refuse, none is lost."""
    heard = heard_by_all(2, lambda c: c.all_gather(array(), counts=[3, 4]))
    for rank, each in enumerate(heard):
        assert each.is_a("ArgumentError", "12 elements", f"counts[{rank}]={3 + rank}")
        assert each.then == "works"


def test_a_plan_outlives_mistakes_that_all_make():
    def body(comm):
        x = np.array([comm.rank + 1])
        plan = comm.plan("all_reduce", x)
        for name, row in EVERYWHERE.items():
            if all(row.finds_fault(rank, SIZE) for rank in EVERYONE):
                assert hear(comm, row, wrong=True).error == "ArgumentError"
                assert plan.run()[0] == SIZE * (SIZE + 1) // 2, name

    refcoll.spawn(SIZE, body, timeout=TIMEOUT)
