"""Reported faults: other bits on another rank or the next time; calls that never end."""

import numpy as np
import pytest

import refcoll
from corpus_judged import MAKERS, findings, found, refusals, results
from refcoll.oracle.calls import Call
from refcoll.oracle.mutants.bits import OrderOfArrival, OwnFirst
from refcoll.oracle.mutants.sound import Sound
from refcoll.oracle.revealing.asking import asked_in_process
from refcoll.oracle.revealing.reveal import reveal
from refcoll.schedule import Copy, Send


def test_det_01():
    call = Call("all_reduce", 1)
    inputs = [[1e8], [1], [-1e8], [1]]
    assert results(OwnFirst, call, inputs) == [[1.0], [1.0], [2.0], [0.0]]
    said = "the ranks have not the same bits"
    assert found(OwnFirst, 4, "agreement", said, Call("all_reduce", 131))


class Bucketed(Sound):
    cap = 4

    def all_reduce(self, x, out, op):
        for first in range(0, max(x.size, 1), self.cap):
            part = slice(first, first + self.cap)
            super().all_reduce(x[part], out[part], op)


class BiggerBuckets(Bucketed):
    cap = 12


def test_det_02():
    """Bits that differ between bucket sizes are right, each time."""
    inputs = np.roll(np.array([1e8, 1, -1e8, 1], np.float32), 1)
    given = [[float(inputs[(rank + place) % 4]) for place in range(12)] for rank in range(4)]
    call = Call("all_reduce", 12)
    assert results(Bucketed, call, given) != results(BiggerBuckets, call, given)
    orders = []
    for each in (Bucketed, BiggerBuckets):
        assert not findings(each, 4, call)
        revealed = asked_in_process(each, 4, lambda ask, name: reveal(ask, name, 4, call, [12]))
        assert revealed.holds  # the order explains every bit
        orders.append(revealed.at[0].orders[0])
    assert [len(each) for each in orders] == [12, 4]  # stretches that are added alike


def test_det_03():
    said = "other bits the next time but one"
    assert found(OrderOfArrival, 4, "repeatability", said, Call("all_reduce", 131))


def test_hang_01():
    said = refusals(4, lambda comm: comm.all_reduce(np.ones(12 if comm.rank else 10)))
    assert all("10" in each and "12" in each for each in said)
    said = "bytes"
    assert found(MAKERS["OtherCount"], 4, "finished", said, Call("reduce", 7), timeout=0.3)


def test_hang_02():
    def call(comm):
        (comm.all_gather if comm.rank == 2 else comm.all_reduce)(np.ones(8))

    assert all("all_gather" in each and "rank 2" in each for each in refusals(4, call))


def sends_first(rank, size):
    """A ring in which every step sends, and the next one receives."""
    for step in range(size - 1):
        yield (Send((rank - step) % size, (rank + 1) % size),)
        yield (Copy((rank - step - 1) % size, (rank - 1) % size),)


def test_hang_03():
    steps = [list(sends_first(rank, 4)) for rank in range(4)]
    program = refcoll.from_steps("all_gather", steps, chunks=4)
    assert refcoll.check(program, capacities=[0]).failed("deadlock")
    assert refcoll.check(program, capacities=[1]).ok
    faulty = MAKERS["SendsFirst"]
    long = Call("all_gather", 20_000, "int32", None)
    assert not findings(faulty, 4, Call("all_gather", 256, "int32", None))
    assert found(faulty, 4, "finished", "ranks 0-3: did not return", long, timeout=0.3)


def test_hang_04():
    said = "the input of rank 0 is that of the previous call"
    assert found(MAKERS["MixedCalls"], 2, "value", said, Call("scan", 4))


def test_hang_06():
    def on_rank(comm):
        if comm.rank == 1:
            raise RuntimeError("out of data")
        comm.all_reduce(np.ones(1))

    with pytest.raises(RuntimeError, match="out of data") as caught:
        refcoll.spawn(2, on_rank, timeout=20)
    assert "raised on rank 1" in caught.value.__notes__[0]
    faulty = MAKERS["RaisesOnOneRank"]
    said = "rank 1: raised TypeError: cannot cast the tensor; rank"
    assert found(faulty, 2, "finished", said, Call("all_reduce", 4), timeout=0.3)
