"""Streams of several ranks in a process, which wait for one another: and what is wrong where not.

The stand-in for the device works as late as it may.
"""

from __future__ import annotations

import threading

import numpy as np
import pytest

from late_stream import LateRuntime
from refcoll import spawn
from refcoll.transport import Incoming, Outgoing
from refcoll_cupy.arrays import DeviceArrays


def on(runtime):
    """What makes each rank's arrays, on one device."""
    return lambda rank: DeviceArrays(runtime, 0)


class IsNotSentInOrder(DeviceArrays):
    """What arrives is read before what was queued to write it is done, or written while read."""

    def after(self, moment):
        pass


def one_way(comm, runtime, writes_again):
    """Rank 0 sends, and may then write what it has sent; rank 1 receives.  What rank 1 finds,
    at once, or after rank 0 has written as soon as it could."""
    end, arrays, found = comm.transport, comm.transport.arrays, None
    with runtime.stream() as stream:
        if comm.rank == 0:
            view = arrays.from_host(np.full(100, 7, np.uint8))
            exchange = end.prepare([Outgoing(view, 1)], [], 1)
        else:
            saved = arrays.scratch(100)
            exchange = end.prepare([], [Incoming(100, 0)], 1)
        exchange.start()
        if comm.rank == 1:
            arrays.copy(saved, exchange.wait(0, 30))
        exchange.release(30)
        if comm.rank == 0 and writes_again:
            arrays.copy(view, arrays.from_host(np.full(100, 9, np.uint8)))
            stream.synchronize()
        if writes_again:
            comm.agreement.require({}, None, 30)
        if comm.rank == 1:
            found = arrays.to_host(saved)
        comm.agreement.require({}, None, 30)
    return found


@pytest.mark.parametrize(("broken", "writes_again"), [(0, True), (1, False)])
def test_streams_of_two_ranks_wait_for_each_other(broken, writes_again):
    """Rank 1's for what is sent, and rank 0's, before it writes again, for what is read."""
    runtime = LateRuntime()

    def arrays(rank):
        return (IsNotSentInOrder if rank == broken else DeviceArrays)(runtime, 0)

    run = [lambda comm: one_way(comm, runtime, writes_again)]
    assert (spawn(2, *run, arrays=on(runtime))[1] == 7).all()
    assert (spawn(2, *run, arrays=arrays)[1] != 7).all()


def test_what_is_taken_before_it_is_waited_for_is_there():
    """Rank 1 waits for rank 2, which sends when rank 0 has got rid of what it has queued."""
    runtime, rid = LateRuntime(), threading.Event()

    def run(comm):
        end, arrays = comm.transport, comm.transport.arrays
        with runtime.stream():
            view = arrays.from_host(np.full(100, 7 + comm.rank, np.uint8))
            receives = [Incoming(100, 2), Incoming(100, 0)] if comm.rank == 1 else []
            exchange = end.prepare([] if receives else [Outgoing(view, 1)], receives, 1)
            if comm.rank == 2:
                rid.wait(30)
            exchange.start()
            came = [exchange.wait(i, 30).copy() for i in range(len(receives))]
            exchange.release(30)
            if comm.rank == 0:
                rid.set()
            comm.agreement.require({}, None, 30)
            return [arrays.to_host(each) for each in came]

    ((), (second, first), ()) = spawn(3, run, arrays=on(runtime))
    assert (second == 9).all()
    assert (first == 7).all()
