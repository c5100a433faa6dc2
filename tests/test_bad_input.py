"""Whatever is wrong with a call, every rank hears of it, soon, before anything has moved."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest

import refcoll
from refcoll import (
    ArgumentError,
    DeadlineError,
    DisagreementError,
    PoisonedError,
    RefcollError,
    TransportError,
)

TIMEOUT = 5
SIZE, ODD = 4, 2
"""Ranks, and which of them differs where one does."""
FIRST = refcoll.user_operator(lambda left, right: left, "first")


def array(dtype="float32", count=12):
    return np.arange(count).astype(dtype)


def read_only():
    out = array()
    out.flags.writeable = False
    return out


def overlapping(c):
    room = array(count=20)
    return c.all_reduce(room[:12], out=room[8:])


def backwards(c):
    x = array()
    return c.all_reduce(x, out=x[::-1])


def self_overlapping():
    return np.lib.stride_tricks.as_strided(np.zeros(20, np.float32), (12,), (0,))


def windows():
    return np.lib.stride_tricks.as_strided(np.zeros(20, np.float32), (3, 4), (4, 4))


def structured():
    return np.zeros(12, [("a", "f4"), ("b", "i4")])


# What is wrong by itself: the call, and words of the message: argument, value, remedy.
WRONG = {
    "list": (lambda c: c.all_reduce([1, 2]), ["x=[1, 2]", "list", "numpy.asarray"]),
    "scalar": (lambda c: c.all_reduce(np.float64(3)), ["x=", "float64", "numpy.asarray"]),
    "nothing": (lambda c: c.plan("all_reduce"), ["x=None", "numpy.asarray"]),
    "objects": (lambda c: c.all_reduce(np.array([{}])), ["dtype=object", "use bool"]),
    "strings": (lambda c: c.all_gather(np.array(["a"])), ["dtype=<U1", "use bool"]),
    "records": (lambda c: c.broadcast(structured()), ["dtype=[('a', ", "use bool"]),
    "dates": (lambda c: c.reduce(np.zeros(3, "M8[s]")), ["dtype=datetime64", "use bool"]),
    "unknown op": (
        lambda c: c.all_reduce(array(), "median"), ["op='median'", "sum, prod", "user_operator"],
    ),
    "no op": (lambda c: c.all_reduce(array(), None), ["op=None", "sum, prod", "user_operator"]),
    "list of ops": (lambda c: c.all_reduce(array(), ["sum"]), ["op=['sum']", "sum, prod"]),
    "ufunc": (lambda c: c.all_reduce(array(), np.add), ["op=<ufunc 'add'>", "user_operator"]),
    "max of complex": (
        lambda c: c.all_reduce(array("complex64"), "max"),
        ["op='max'", "dtype=complex64", "bool, integers, floats"],
    ),
    "sum of bools": (
        lambda c: c.reduce(array("bool")), ["op='sum'", "dtype=bool", "integers, floats"],
    ),
    "avg of integers": (
        lambda c: c.reduce_scatter(array("int32"), "avg"), ["op='avg'", "dtype=int32", "floats"],
    ),
    "bits of floats": (
        lambda c: c.all_reduce(array(), "bitwise_or"),
        ["op='bitwise_or'", "dtype=float32", "bool, integers"],
    ),
    "unknown algorithm": (
        lambda c: c.all_reduce(array(), algorithm="magic"), ["algorithm='magic'", "ring"],
    ),
    "another collective's algorithm": (
        lambda c: c.broadcast(array(), algorithm="ring"), ["algorithm='ring'", "chain"],
    ),
    "algorithm not a string": (
        lambda c: c.all_reduce(array(), algorithm=7), ["algorithm=7", "ring"],
    ),
    "unknown collective": (
        lambda c: c.plan("all_to_none", array()), ["collective='all_to_none'", "all_reduce"],
    ),
    "an algorithm that needs a helper": (
        lambda c: c.all_reduce(array(), algorithm="parameter_server_alone"),
        ["algorithm='parameter_server_alone'", "1 more rank", "simulated, but not run"],
    ),
    "order, asked of a ring": (
        lambda c: c.all_reduce(array(), FIRST, algorithm="ring"),
        ["op='first'", "does not commute", "algorithm='ring'", "refcoll list"],
    ),
    "order, asked of any root": (
        lambda c: c.reduce(array(), FIRST, root=1), ["reduce", "root=1", "use root=0"],
    ),
    "order, asked of one root": (
        lambda c: c.reduce(array(), FIRST, root=3, algorithm="binomial"),
        ["op='first'", "algorithm='binomial'", "root=3", "with root=0"],
    ),
    "order, where nobody keeps it": (
        lambda c: c.reduce(array(), FIRST, root=3), ["reduce with root=3", "use root=0"],
    ),
    "root too large": (lambda c: c.broadcast(array(), 4), ["root=4", "from 0 to 3"]),
    "root negative": (lambda c: c.reduce(array(), root=-1), ["root=-1", "from 0 to 3"]),
    "root a float": (lambda c: c.broadcast(array(), 1.0), ["root=1.0", "integer"]),
    "root a string": (lambda c: c.broadcast(array(), "0"), ["root='0'", "integer"]),
    "root none": (lambda c: c.reduce(array(), root=None), ["root=None", "integer"]),
    "counts without meaning": (
        lambda c: c.plan("all_reduce", array(), counts=[3] * 4),
        ["counts=[3, 3, 3, 3]", "all_reduce"],
    ),
    "too few counts": (
        lambda c: c.reduce_scatter(array(), counts=[6, 6]), ["counts=[6, 6]", "4 lengths"],
    ),
    "negative counts": (
        lambda c: c.all_gather(array(), counts=[13, -1, 0, 0]),
        ["counts=[13, -1, 0, 0]", "none negative"],
    ),
    "counts of floats": (
        lambda c: c.reduce_scatter(array(), counts=[3.0] * 4), ["counts=[3.0", "integers"],
    ),
    "counts not a list": (
        lambda c: c.reduce_scatter(array(), counts=3), ["counts=3", "list of integers"],
    ),
    "counts of another sum": (
        lambda c: c.reduce_scatter(array(), counts=[3, 3, 3, 4]), ["12 elements", "sum(counts)=13"],
    ),
    "out a list": (lambda c: c.all_reduce(array(), out=[0] * 12), ["out=[0, 0", "numpy.asarray"]),
    "out of another length": (
        lambda c: c.all_reduce(array(), out=array(count=13)), ["out has shape (13,)", "(12,)"],
    ),
    "out of another shape": (
        lambda c: c.all_reduce(array(), out=array().reshape(3, 4)),
        ["out has shape (3, 4)", "(12,)"],
    ),
    "out of the input's shape, not the result's": (
        lambda c: c.all_gather(array(), out=array()), ["out has shape (12,)", "(48,)"],
    ),
    "out of another dtype": (
        lambda c: c.all_reduce(array(), out=array("float64")), ["float64", "float32"],
    ),
    "out read-only": (
        lambda c: c.all_reduce(array(), out=read_only()), ["out is read-only", "may be written"],
    ),
    "out overlaps x": (overlapping, ["out overlaps x", "separate memory"]),
    "out is x backwards": (backwards, ["out overlaps x", "separate memory"]),
    "out all in one place": (
        lambda c: c.all_reduce(array(), out=self_overlapping()), ["out", "one place"],
    ),
    "out of overlapping windows": (
        lambda c: c.all_reduce(array().reshape(3, 4), out=windows()), ["out", "one place"],
    ),
    "accumulate narrower": (
        lambda c: c.all_reduce(array("float64"), accumulate="float32"),
        ["accumulate=float32", "float64", "no narrower"],
    ),
    "accumulate of another kind": (
        lambda c: c.all_reduce(array("int32"), accumulate="float64"),
        ["accumulate=float64", "int32", "same kind"],
    ),
    "accumulate no dtype": (
        lambda c: c.all_reduce(array(), accumulate="wide"), ["accumulate='wide'", "dtype"],
    ),
    "nodes that leave ranks out": (
        lambda c: c.plan("all_reduce", array(), nodes=((0, 1), (2,))),
        ["nodes=((0, 1), (2,))", "0 to 3"],
    ),
    "no segments": (
        lambda c: c.plan("broadcast", array(), algorithm="chain", segments=0),
        ["segments=0", "at least 1"],
    ),
}  # fmt: skip


@dataclass
class Heard:
    """What one rank heard of a bad call, after how long, and what its next call came to."""

    error: RefcollError | None
    seconds: float
    then: object

    def is_a(self, kind, *words) -> bool:
        assert type(self.error) is kind, repr(self.error)
        for word in words:
            assert word in str(self.error), str(self.error)
        return True


def hear(size, call, timeout=TIMEOUT):
    """Every rank makes the call, and then an all-reduce of ones."""

    def body(comm):
        error, started = None, time.monotonic()
        try:
            call(comm)
        except RefcollError as raised:
            error = raised
        seconds = time.monotonic() - started
        try:
            then = comm.all_reduce(np.ones(1))[0]
        except RefcollError as raised:
            then = raised
        return Heard(error, seconds, then)

    return refcoll.spawn(size, body, timeout=timeout)


@pytest.mark.parametrize("name", WRONG)
def test_a_mistake_that_all_make_is_refused_and_forgotten(name):
    call, words = WRONG[name]
    for heard in hear(SIZE, call):
        assert heard.is_a(ArgumentError, *words)
        assert heard.then == SIZE


@pytest.mark.parametrize("name", WRONG)
def test_a_mistake_of_one_rank_is_told_to_all_and_poisons(name):
    call, words = WRONG[name]
    heard = hear(SIZE, lambda c: call(c) if c.rank == ODD else c.all_reduce(array()))
    for rank, each in enumerate(heard):
        if rank == ODD:
            assert each.is_a(ArgumentError, *words)
        else:
            assert each.is_a(DisagreementError, *words, f"rank {ODD}: ", "ranks 0-1, 3: ")
        assert isinstance(each.then, PoisonedError)
        assert each.seconds < TIMEOUT


# Calls that are right, each by itself, but not the same: made by all but one rank, and by it;
# and what must be told of each.
DIFFERENT = {
    "length": (
        lambda c: c.all_reduce(array()), lambda c: c.all_reduce(array(count=13)),
        "count=12", "count=13",
    ),
    "length of a gather": (
        lambda c: c.all_gather(array()), lambda c: c.all_gather(array(count=13)),
        "count=12", "count=13",
    ),
    "dtype": (
        lambda c: c.all_reduce(array()), lambda c: c.all_reduce(array("int32")),
        "dtype=float32", "dtype=int32",
    ),
    "operator": (
        lambda c: c.all_reduce(array()), lambda c: c.all_reduce(array(), "max"),
        "op=sum", "op=max",
    ),
    "root": (
        lambda c: c.broadcast(array()), lambda c: c.broadcast(array(), 1), "root=0", "root=1",
    ),
    "algorithm": (
        lambda c: c.all_reduce(array(), algorithm="ring"),
        lambda c: c.all_reduce(array(), algorithm="binomial"),
        "algorithm=ring", "algorithm=binomial",
    ),
    "collective": (
        lambda c: c.all_reduce(array()), lambda c: c.barrier(),
        "collective=all_reduce", "collective=barrier",
    ),
    "counts": (
        lambda c: c.reduce_scatter(array(), counts=[3, 3, 3, 3]),
        lambda c: c.reduce_scatter(array(), counts=[3, 3, 2, 4]),
        "counts=[3, 3, 3, 3]", "counts=[3, 3, 2, 4]",
    ),
    "counts or none": (
        lambda c: c.reduce_scatter(array()),
        lambda c: c.reduce_scatter(array(), counts=[12, 0, 0, 0]),
        "counts=None", "counts=[12, 0, 0, 0]",
    ),
    "accumulate": (
        lambda c: c.all_reduce(array()), lambda c: c.all_reduce(array(), accumulate="float64"),
        "accumulate=None", "accumulate=float64",
    ),
    "nodes": (
        lambda c: c.plan("all_reduce", array(), algorithm="ring"),
        lambda c: c.plan("all_reduce", array(), algorithm="ring", nodes=((0, 1), (2, 3))),
        "nodes=[[0, 1, 2, 3]]", "nodes=[[0, 1], [2, 3]]",
    ),
    "segments": (
        lambda c: c.plan("broadcast", array(), algorithm="chain", segments=2),
        lambda c: c.plan("broadcast", array(), algorithm="chain", segments=3),
        "segments=2", "segments=3",
    ),
    "split": (
        lambda c: c.all_reduce(array()), lambda c: c.split(0),
        "collective=all_reduce", "collective=split",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", DIFFERENT)
def test_different_calls_are_told_to_all_and_poison(name):
    usual, odd, here, there = DIFFERENT[name]
    for heard in hear(SIZE, lambda c: odd(c) if c.rank == ODD else usual(c)):
        assert heard.is_a(DisagreementError, here, there)
        lines = {line.split(":")[0].strip(): line for line in str(heard.error).splitlines()}
        assert here in lines["ranks 0-1, 3"]
        assert there in lines[f"rank {ODD}"]
        assert isinstance(heard.then, PoisonedError)
        assert heard.seconds < TIMEOUT


@pytest.mark.parametrize("size", [2, 3, 5, 8])
@pytest.mark.parametrize("odd", [0, -1])
def test_on_any_number_of_ranks_and_wherever_it_happens(size, odd):
    heard = hear(size, lambda c: c.all_reduce(array(count=12 + (c.rank == odd % size))))
    assert all(each.is_a(DisagreementError, "count=12", "count=13") for each in heard)


def test_all_ranks_different():
    heard = hear(3, lambda c: c.all_reduce(array(count=c.rank)))
    words = [f"rank {rank}: collective=all_reduce" for rank in range(3)]
    assert all(each.is_a(DisagreementError, *words) for each in heard)


def test_gathers_of_pieces_that_are_not_as_long_as_said():
    """Each rank finds fault with its own piece, in its own words: all refuse, none is lost."""
    heard = hear(2, lambda c: c.all_gather(array(), counts=[3, 4]))
    for rank, each in enumerate(heard):
        assert each.is_a(ArgumentError, "12 elements", f"counts[{rank}]={3 + rank}")
        assert each.then == 2


@pytest.mark.parametrize("name", WRONG)
def test_nothing_is_written_on_any_rank(name):
    """Neither x nor out, nor x where it is out."""
    call, _ = WRONG[name]

    def body(comm):
        x, out = array(), np.full(12, -1, np.float32)
        right = partial(comm.all_reduce, x, out=out if comm.rank else x)
        with pytest.raises(RefcollError):
            call(comm) if comm.rank == ODD else right()
        return np.array_equal(x, array()) and np.all(out == -1)

    assert all(refcoll.spawn(SIZE, body, timeout=TIMEOUT))


@pytest.mark.parametrize(("color", "key"), [("red", 0), (1.5, 0), (0, "first"), (0, None)])
def test_a_split_by_what_is_no_integer(color, key):
    words = [f"color={color!r}", f"key={key!r}", "integer"]
    for heard in hear(SIZE, lambda c: c.split(color, key)):
        assert heard.is_a(ArgumentError, *words)
        assert heard.then == SIZE
    for heard in hear(SIZE, lambda c: c.split(color, key) if c.rank == ODD else c.split(0)):
        assert isinstance(heard.error, ArgumentError | DisagreementError)
        assert all(word in str(heard.error) for word in words)
        assert isinstance(heard.then, PoisonedError)


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
        assert f"from rank {size - 1}" in str(error) or f"ranks [{size - 1}]" in str(error)
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
    first = "16 bytes from rank 2", "ranks [2] to receive"  # whoever's time is up first
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
        for name, (call, _) in WRONG.items():
            with pytest.raises(ArgumentError):
                call(comm)
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


def test_unknown_transports():
    with pytest.raises(ArgumentError, match=r"transport='pigeon' does not exist; there are .*mpi"):
        refcoll.connect("pigeon")
