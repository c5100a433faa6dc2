"""Plans: prepared once, run again and again."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

from on_threads import spawn
from refcoll import ArgumentError


def test_plans():
    def body(comm):
        x, out = np.zeros(10, np.int64), np.zeros(10, np.int64)
        plan = comm.plan("all_reduce", x, out=out, algorithm="rabenseifner")
        assert plan.algorithm == "rabenseifner"
        totals = []
        for turn in range(50):
            x[:] = np.arange(10) * turn + comm.rank
            if turn % 3 == 2:
                handle, result = plan.start(), plan.wait()
                assert handle.done()
            else:
                result = plan.start().wait() if turn % 3 else plan.run()
            assert result is out
            totals.append(out.copy())
        return totals

    for totals in spawn(3, body):
        for turn, total in enumerate(totals):
            assert np.array_equal(total, 3 * turn * np.arange(10) + 3)


def test_a_plan_that_was_not_started_cannot_be_waited_for():
    def body(comm):
        plan = comm.plan("all_reduce", np.ones(3))
        with pytest.raises(ArgumentError, match=r"call start\(\) first"):
            plan.wait()
        return plan.run()[0]  # and nothing is lost

    assert spawn(2, body) == [2] * 2


def test_a_plan_in_place_goes_on_from_its_result():
    def body(comm):
        x = np.array([1])
        plan = comm.plan("all_reduce", x, out=x)
        for _ in range(10):
            plan.run()
        return x[0]

    assert spawn(3, body) == [3**10] * 3


def test_plans_of_different_calls_do_not_mix():
    def body(comm):
        x = np.array([comm.rank + 1])
        plans = [comm.plan("all_reduce", x, op) for op in ("sum", "prod", "max")]
        plans.append(comm.plan("broadcast", x, root=1))
        handles = [plan.start() for plan in plans for _ in range(3)]
        return [int(handle.wait()[0]) for handle in reversed(handles)][::-1]

    assert spawn(4, body) == [[10] * 3 + [24] * 3 + [4] * 3 + [2] * 3] * 4


@pytest.mark.parametrize("segments", [1, 3, 100])
def test_plans_take_nodes_and_segments(segments):
    def body(comm):
        x = np.arange(50) + comm.rank
        nodes = ((3, 0), (1, 2))
        deep = comm.plan("all_reduce", x, algorithm="hierarchical_rails", nodes=nodes).run()
        piped = comm.plan("broadcast", x, root=3, algorithm="chain", segments=segments).run()
        return deep, piped

    for deep, piped in spawn(4, body):
        assert np.array_equal(deep, 4 * np.arange(50) + 6)
        assert np.array_equal(piped, np.arange(50) + 3)


def test_a_plan_that_is_dropped_is_gone_at_once():
    """Not when Python next looks for cycles: plans may hold much memory."""

    def body(comm):
        plan = comm.plan("all_reduce", np.ones(100), algorithm="ring")
        plan.run()
        held = weakref.ref(plan._plan)
        del plan
        return held() is None

    gc.disable()
    try:
        assert spawn(2, body) == [True, True]
    finally:
        gc.enable()
