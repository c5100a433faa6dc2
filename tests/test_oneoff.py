"""One-off calls are remembered: results, refusals and order are as if they were not."""

from __future__ import annotations

import random

import numpy as np
import pytest

from refcoll import ArgumentError, DisagreementError, oneoff, spawn, user_operator
from refcoll.testing.counting import Counting
from refcoll.testing.values import merged, rank_input


def test_random_calls_again_and_again_are_right(monkeypatch):
    """More kinds of calls than are kept, on arrays of any shape, in place or not."""
    monkeypatch.setattr(oneoff, "_PLANS", 4)
    monkeypatch.setattr(oneoff, "_CALLS", 7)
    monkeypatch.setattr(oneoff, "LONGEST", 400)
    kinds = [(dtype, op, shape) for dtype in ("int64", "float32") for op in ("sum", "max", "avg")
             for shape in ((7,), (3, 5), (0,), (60,))
             if (dtype, op) != ("int64", "avg")]  # fmt: skip

    def body(comm):
        draw, mine = random.Random(3), random.Random(comm.rank)
        for _ in range(300):
            dtype, op, shape = draw.choice(kinds)
            count = int(np.prod(shape))
            x = rank_input(comm.rank, count, np.dtype(dtype), op).reshape(shape)
            x = np.asfortranarray(x) if mine.random() < 0.3 else x
            before = x.copy()
            out = mine.choice([None, x, np.empty_like(x)])
            result = comm.all_reduce(x, op, out=out, check=draw.random() < 0.8)
            assert (result is out) if out is not None else not np.shares_memory(result, x)
            if out is not x:
                assert np.array_equal(x, before)
            wanted = merged(comm.size, count, np.dtype(dtype), op).reshape(shape)
            assert np.array_equal(result, wanted)

    spawn(3, body)


def test_the_second_call_finds_the_plan_of_the_first():
    """No exchange is prepared for it."""
    prepared = []

    class Watching(Counting):
        def prepare(self, sends, receives, channel):
            prepared.append(channel)
            return super().prepare(sends, receives, channel)

    def body(comm):
        comm = type(comm)(Watching(comm.transport), 5)
        comm.all_reduce(np.ones(5))
        comm.barrier()
        first = len(prepared)
        for _ in range(5):
            comm.all_reduce(np.zeros(5))
        comm.barrier()
        return first, len(prepared)

    for first, last in spawn(2, body):
        assert first == last


def test_a_rank_that_remembers_and_one_that_does_not_meet():
    """Rank 1 brings arrays of a new shape each time, of the same count."""
    shapes = [(12,), (3, 4), (4, 3), (2, 6), (12, 1)]

    def body(comm):
        for number, shape in enumerate(shapes):
            x = np.full(shape if comm.rank == 1 else (12,), number)
            assert np.all(comm.all_reduce(x) == 3 * number)

    spawn(3, body)


def test_a_remembered_call_is_still_compared():
    def body(comm):
        comm.all_reduce(np.ones(4))
        comm.all_reduce(np.ones(5))
        with pytest.raises(DisagreementError, match=r"count=4[\s\S]*count=5|count=5[\s\S]*count=4"):
            comm.all_reduce(np.ones(4 if comm.rank else 5))

    spawn(3, body)


def test_a_remembered_call_still_refuses_a_wrong_out():
    def body(comm):
        x = np.ones(4)
        comm.all_reduce(x, out=x)
        with pytest.raises(ArgumentError, match="shape"):
            comm.all_reduce(x, out=np.ones(5))
        with pytest.raises(ArgumentError, match=r"root=1\.5"):
            comm.reduce(x, root=1.5)
        assert np.all(comm.all_reduce(x) == comm.size**2)

    spawn(2, body)


def test_users_operators_of_one_name_are_not_taken_for_each_other():
    def body(comm):
        both = [user_operator(f, "mine", commutative=True) for f in (np.add, np.multiply)]
        return [comm.all_reduce(np.full(3, 3), op).tolist() for op in both * 2]

    assert spawn(2, body) == [[[6] * 3, [9] * 3] * 2] * 2


def test_without_check_nothing_is_compared():
    def body(comm):
        counting = Counting(comm.transport)
        comm = type(comm)(counting, 5)
        comm.all_reduce(np.ones(4), algorithm="ring", check=False)
        one_off = counting.take().steps
        plan = comm.plan("all_reduce", np.ones(4), algorithm="ring", check=False)
        made = counting.take().steps
        plan.run()
        with pytest.raises(ArgumentError):
            comm.all_reduce(np.ones(4), "nonsense", check=False)
        return one_off, made, counting.take().steps

    assert spawn(4, body) == [(6, 0, 6)] * 4


def test_every_collective_may_come_again():
    def body(comm):
        size, rank = comm.size, comm.rank
        x = np.arange(6) + rank
        for _ in range(3):
            assert comm.reduce_scatter(x).tolist() == (
                np.arange(6) * size + sum(range(size))
            ).reshape(size, -1)[rank].tolist()  # fmt: skip
            assert comm.all_gather(x[:1]).tolist() == list(range(size))
            assert comm.broadcast(x, root=1).tolist() == (np.arange(6) + 1).tolist()
            reduced = comm.reduce(x, root=2)
            assert (reduced is None) == (rank != 2)
            assert comm.all_to_all(x).tolist() == [
                2 * rank + i + source for source in range(size) for i in (0, 1)
            ]
            scanned = comm.exscan(x)
            assert (scanned is None) == (rank == 0)
            gathered = comm.gather(x[:2], root=0)
            assert (gathered is None) == (rank != 0)
            assert comm.scatter(x, root=0).tolist() == [2 * rank, 2 * rank + 1]
            comm.barrier()

    spawn(3, body)


def test_a_users_operator_is_not_taken_for_one_of_ours_of_the_same_name():
    """Else one rank would keep its plan, and the other not."""
    mine = user_operator(np.add, "sum", commutative=True)

    def body(comm):
        with pytest.raises(DisagreementError, match=r"op=sum \(a user's\)"):
            comm.all_reduce(np.ones(4), "sum" if comm.rank else mine)

    spawn(2, body)
