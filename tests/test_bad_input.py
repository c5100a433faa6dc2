"""Whatever is wrong with a call, every rank hears of it, soon, before anything has moved.

The rows are those of docs/bad-input.md; tests/mpi/test_bad_input.py goes through them under mpirun.
"""

from __future__ import annotations

import inspect
import threading
import time

import numpy as np
import pytest

import refcoll
from bad_input_different import DIFFERENT
from bad_input_local import ACCEPTED, CLOSED, FUNCTIONS, METHODS, SAID_TO_ALL, SAID_TO_NONE
from bad_input_making import NAMES, array
from bad_input_matrix import DOCUMENT, matrix
from bad_input_rows import (
    CALLS,
    ROWS,
    afterwards,
    different,
    hear,
    heard_of,
    named,
    odd,
    parameters,
    require_different,
    require_refused,
)
from refcoll import (
    ArgumentError,
    DeadlineError,
    DisagreementError,
    PoisonedError,
    TransportError,
    connecting,
)
from samples import noted

TIMEOUT = 5
SIZE = 4
EVERYWHERE = {name: row for name, row in ROWS.items() if not row.bad.ranks}
OF_ANY_TRANSPORT = [row for row in SAID_TO_ALL if row.argument != "options"]
EVERYONE = [*range(SIZE)]
CALLED = sorted({row.call for row in ROWS.values()})


def heard_by_all(size, call):
    """What every rank hears of a call."""
    return refcoll.spawn(size, lambda c: heard_of(c, lambda: call(c)), timeout=TIMEOUT)


# ---- rows --------------------------------------------------------------------------------


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


# ---- the rows are all there are ----------------------------------------------------------


def test_every_argument_of_every_call_has_its_rows():
    classes = refcoll.Communicator.__mro__[:-1]
    public = {name for each in classes for name in vars(each) if not name.startswith("_")}
    assert public == {*CALLS, "empty", "close", "watch", "submit", "fail"}
    rows = {(row.call, row.bad.argument, row.bad.kind) for row in ROWS.values()}
    assert len(rows) == len(ROWS)
    for call in CALLS:
        for argument in [*parameters(call), "any other"]:
            if argument == "op" and call in ("broadcast", "gather"):
                continue
            kinds = {kind for called, named, kind in rows if (called, named) == (call, argument)}
            wanted = {"wrong type"} if argument != "any other" else {"unknown option"}
            allowed = ("out", "counts", "accumulate", "timeout", "nodes", "color")
            wanted |= {"None"} if argument not in (*allowed, "any other") else set()
            assert wanted <= kinds, (call, argument, kinds)


NOT_CALLED = {"Copy", "Reduce", "Send", "Operator", "Program", "CollectivePlan", "Handle"}
"""Steps, which ``from_steps`` looks at, and what functions make."""
NONE_IS_ALL = {
    ("program", "nodes"), ("explain", "nodes"), ("spawn", "nodes"), ("cost", "reduce_bandwidth"),
    ("cost", "links"), ("cost", "rails"), ("simulate", "layout"), ("algorithms", "collective"),
    ("algorithms", "name"), ("Communicator", "tuning"), ("connect", "tuning"),
    ("connect", "options"), ("spawn", "args"), ("spawn", "arrays"),
}  # fmt: skip
"""Where None has a meaning, or anything may be passed."""


def test_every_argument_of_every_function_has_its_rows():
    rows = FUNCTIONS + SAID_TO_ALL + SAID_TO_NONE
    for name in refcoll.__all__:
        of = getattr(refcoll, name)
        if name in NOT_CALLED or (inspect.isclass(of) and issubclass(of, Exception)):
            continue
        for argument in inspect.signature(of).parameters:
            kinds = {row.kind for row in rows if (row.of, row.argument) == (name, argument)}
            wanted = {"None"} if (name, argument) not in NONE_IS_ALL else set()
            numeric = {"no integer", "no arrays"}
            assert kinds & ({"wrong type"} | numeric) or argument == "args", (name, argument)
            assert wanted <= kinds, (name, argument, kinds)


def test_no_two_rows_have_one_name():
    rows = FUNCTIONS + METHODS + SAID_TO_ALL + SAID_TO_NONE
    names = [row.name for row in rows]
    assert sorted(names) == sorted(set(names))


def test_the_written_matrix_is_that_of_the_rows():
    assert DOCUMENT.read_text() == matrix(), "python tests/bad_input_matrix.py > docs/bad-input.md"


# ---- other numbers of ranks, other ways to be wrong --------------------------------------


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


# ---- a rank that does not come -----------------------------------------------------------


@pytest.mark.parametrize("size", [2, 3, 4, 5])
def test_a_missing_rank_is_named_to_all_others(size):
    def body(comm):
        started = time.monotonic()
        if comm.rank == size - 1:
            time.sleep(0.6)
            return None
        with pytest.raises(TransportError) as caught:
            comm.all_reduce(array())
        with pytest.raises(PoisonedError):
            comm.barrier()
        return caught.value, time.monotonic() - started

    *heard, _ = refcoll.spawn(size, body, timeout=0.3)
    assert any(isinstance(error, DeadlineError) for error, _ in heard)
    for error, seconds in heard:
        assert f"from rank {size - 1}" in str(error) or f"rank {size - 1} to receive" in str(error)
        assert "not all ranks made this call in time" in str(error)
        assert seconds < 0.6


def test_a_rank_that_misses_the_run_of_a_plan():
    def body(comm):
        plan = comm.plan("all_reduce", array(), algorithm="ring")
        if comm.rank == 2:
            time.sleep(0.6)
            return ""
        with pytest.raises(TransportError) as caught:
            plan.run()
        return str(caught.value)

    heard = refcoll.spawn(3, body, timeout=0.3)
    first = "16 bytes from rank 2", "rank 2 to receive"  # whoever's time is up first
    assert all(any(said in each for said in first) for each in heard[:2]), heard
    assert all("all_reduce by ring on 3 ranks" in each for each in heard[:2])


# ---- afterwards --------------------------------------------------------------------------


def test_everything_is_refused_at_once_after_a_disagreement():
    def body(comm):
        plan = comm.plan("all_reduce", array())
        with pytest.raises(DisagreementError):
            comm.all_reduce(array(count=comm.rank))
        started = time.monotonic()
        calls = [
            plan.run,
            lambda: plan.start().wait(),
            lambda: comm.all_reduce(array()),
            lambda: comm.all_reduce(array(), async_op=True).wait(),
            lambda: comm.barrier(),
            lambda: comm.plan("broadcast", array()),
            lambda: comm.split(0),
        ]
        for call in calls:
            with pytest.raises(PoisonedError, match="the ranks did not make the same call"):
                call()
        return time.monotonic() - started

    assert max(refcoll.spawn(3, body, timeout=30)) < 1


def test_work_in_the_background_is_poisoned_too():
    def body(comm):
        first = comm.all_reduce(array(count=comm.rank + 1), async_op=True)
        second = comm.all_reduce(array(), async_op=True)
        with pytest.raises(DisagreementError):
            first.wait()
        with pytest.raises(PoisonedError):
            second.wait()

    refcoll.spawn(2, body, timeout=TIMEOUT)


def test_a_plan_outlives_mistakes_that_all_make():
    def body(comm):
        x = np.array([comm.rank + 1])
        plan = comm.plan("all_reduce", x)
        for name, row in EVERYWHERE.items():
            if all(row.finds_fault(rank, SIZE) for rank in EVERYONE):
                assert hear(comm, row, wrong=True).error == "ArgumentError"
                assert plan.run()[0] == SIZE * (SIZE + 1) // 2, name

    refcoll.spawn(SIZE, body, timeout=TIMEOUT)


def test_parts_are_poisoned_by_themselves():
    def body(comm):
        part = comm.split(comm.rank % 2)
        if comm.rank % 2:
            with pytest.raises(DisagreementError):
                part.all_reduce(array(count=comm.rank))
            with pytest.raises(PoisonedError):
                part.barrier()
        else:
            part.barrier()
        return comm.all_reduce(np.ones(1))[0]

    assert refcoll.spawn(4, body, timeout=TIMEOUT) == [4] * 4
