"""Whose streams a call follows, of whose stream its results are, and what it does not wait for.

The stand-in for the device works as late as it may; ranks' streams are their own.
"""

from __future__ import annotations

import threading

import numpy as np
import pytest

from late_stream import LateArray, LateEvent, LateRuntime, LateStream
from refcoll import spawn
from refcoll_cupy.arrays import DeviceArrays


def on(runtime):
    """What makes each rank's arrays; several ranks may share a device."""
    return lambda rank: DeviceArrays(runtime, rank % runtime.devices())


@pytest.mark.parametrize("call", ["all_reduce", "reduce_scatter", "all_gather", "plan"])
def test_what_the_caller_queues_later_is_not_waited_for(call):
    """Though he passes no ``out``, and the call comes to its turn when that is queued."""
    runtime, later = LateRuntime(), []

    def run(comm):
        queued = threading.Event()
        with runtime.stream() as mine:
            x = comm.transport.arrays.from_host(np.full(4, 1.0 + comm.rank))
            plan = comm.plan("all_reduce", x) if call == "plan" else None
            comm.submit(queued.wait)
            handle = plan.start() if plan else getattr(comm, call)(x, async_op=True)
            mine.queue(lambda: later.append("ran"))
            queued.set()
            return runtime.peek(handle.wait())

    found = spawn(2, run, arrays=on(runtime))
    assert later == []
    gathered = [[1, 1, 1, 1, 2, 2, 2, 2]] * 2
    wanted = {"reduce_scatter": [[3, 3]] * 2, "all_gather": gathered}.get(call, [[3] * 4] * 2)
    assert [list(each) for each in found] == wanted


def test_a_stream_that_is_named_takes_the_place_of_the_current_one():
    """Of each call: what it holds is followed, and what the current one holds is not."""
    runtime, queued = LateRuntime(), []

    def arrays(rank):
        return DeviceArrays(runtime, 0, streams[rank])

    def run(comm):
        mine = streams[comm.rank]
        with mine:
            x = comm.transport.arrays.from_host(np.full(5, 1.0 + comm.rank))
        with runtime.stream() as other:
            other.queue(lambda: queued.append("ran"))
            return runtime.peek(comm.all_reduce(x, async_op=True).wait())

    streams = [runtime.stream() for _ in range(2)]
    for found in spawn(2, run, arrays=arrays):
        assert (found == 3).all()
    assert queued == []


def test_within_a_process_the_host_waits_once_for_a_call(monkeypatch):
    """At its end, for the communicator's own stream: between, streams wait for each other."""
    runtime, waited, kept = LateRuntime(devices=2), [], LateStream.synchronize

    def note(stream):
        waited.append(stream)
        kept(stream)

    def run(comm):
        x = comm.transport.arrays.from_host(np.full(60, 1.0 + comm.rank))
        plan = comm.plan("all_reduce", x, algorithm="ring")
        comm.agreement.require({}, None, 30)
        if comm.rank == 0:
            monkeypatch.setattr(LateEvent, "synchronize", lambda event: waited.append("an event"))
            monkeypatch.setattr(LateEvent, "done", property(lambda event: waited.append("asked")))
            monkeypatch.setattr(LateStream, "synchronize", note)
        comm.agreement.require({}, None, 30)
        return runtime.peek(plan.run()), comm.transport.arrays.stream

    found = spawn(3, run, arrays=on(runtime))
    assert all((values == 6).all() for values, _ in found)
    assert {id(each) for each in waited} == {id(stream) for _, stream in found}
    assert len(waited) == 3


@pytest.mark.parametrize("background", [False, True])
def test_another_librarys_array_is_taken_in_the_thread_that_hands_it_over(background):
    """That library orders it behind the thread's own stream: DLPack asks it to."""
    runtime = LateRuntime()
    threads = []

    class Foreign:
        def __init__(self, values):
            self.values = values

        @property
        def __cuda_array_interface__(self):
            threads.append(threading.current_thread().name)
            runtime.copy(LateArray(self.values), LateArray(np.ones(4)))
            return {"shape": (4,), "typestr": "<f8", "version": 3,
                    "data": (self.values.ctypes.data, False)}  # fmt: skip

    def run(comm):
        comm.submit(comm.barrier).wait()  # from now on there is another thread
        with runtime.stream():
            x = Foreign(np.zeros(4))
            total = comm.all_reduce(x, async_op=background)
        return runtime.peek(total.wait() if background else total)

    for found in spawn(2, run, arrays=on(runtime)):
        assert (found == 2).all()
    assert threads
    assert "refcoll" not in threads


def test_results_are_of_the_callers_stream_also_within_what_was_submitted():
    """Whoever keeps them goes on with them there; a pool may give their memory again to it."""
    runtime = LateRuntime()
    streams, empty = [], runtime.empty

    def noted(nbytes):
        streams.append(runtime.current())
        return empty(nbytes)

    def run(comm):
        x = comm.transport.arrays.from_host(np.ones(7))
        with runtime.stream() as mine:
            runtime.empty = noted
            comm.submit(lambda: comm.all_reduce(x)).wait()
        return mine in streams

    assert spawn(1, run, arrays=on(runtime)) == [True]
