"""Which work waits for which, within a process: each synchronisation, and what is wrong without.

The stand-in for the device works as late as it may; ranks' streams are their own.
"""

from __future__ import annotations

import numpy as np
import pytest

from late_stream import LateRuntime, LateStream
from refcoll import spawn
from refcoll_cupy.arrays import DeviceArrays


def on(runtime, kind=DeviceArrays):
    """What makes each rank's arrays; several ranks may share a device."""
    return lambda rank: kind(runtime, rank % runtime.devices())


def test_a_call_follows_what_its_caller_has_queued_and_is_over_when_it_returns():
    runtime = LateRuntime()

    def run(comm):
        x = comm.transport.arrays.from_host(np.full(5, 1.0 + comm.rank))
        total = comm.all_reduce(x)
        return runtime.peek(total)

    for found in spawn(2, run, arrays=on(runtime)):
        assert (found == 3).all()


class DoesNotFollow(DeviceArrays):
    """Its stream waits for no other before a call."""

    def ordered(self, function):
        def run():
            with self.stream:
                result = function()
                self.stream.synchronize()
                return result

        return run


class DoesNotEnd(DeviceArrays):
    """A call returns though what it has queued is not done."""

    def ordered(self, function):
        inner = super().ordered(function)

        def run():
            self.stream.synchronize, kept = (lambda: None), self.stream.synchronize
            try:
                return inner()
            finally:
                self.stream.synchronize = kept

        return run


@pytest.mark.parametrize("broken", [DoesNotFollow, DoesNotEnd])
def test_without_that_it_is_wrong(broken):
    runtime = LateRuntime()

    def run(comm):
        x = comm.transport.arrays.from_host(np.full(5, 1.0 + comm.rank))
        return runtime.peek(comm.all_reduce(x))

    assert any((found != 3).any() for found in spawn(2, run, arrays=on(runtime, broken)))


@pytest.mark.parametrize("background", [False, True])
def test_a_result_waits_for_what_its_memory_was_used_for_before(background):
    """A pool gives memory again whose last use is still queued on the caller's stream."""
    runtime = LateRuntime()
    old, empty = runtime.from_host(np.zeros(8)), runtime.empty
    runtime.current().synchronize()
    again = [old.view(np.uint8)]

    def run(comm):
        x = comm.transport.arrays.from_host(np.full(8, 2.0))
        runtime.copy(old, runtime.from_host(np.ones(8)))  # queued, and then he frees it
        runtime.empty = lambda nbytes: again.pop() if again else empty(nbytes)
        total = comm.all_reduce(x, async_op=background)
        total = total.wait() if background else total
        runtime.current().synchronize()
        return runtime.address(total) == runtime.address(old), runtime.peek(total)

    ((the_same, found),) = spawn(1, run, arrays=on(runtime))
    assert the_same
    assert (found == 2).all()


def test_what_runs_in_the_background_follows_what_was_queued_where_it_was_asked_for():
    """On the rank's device, which is not the one that a new thread begins with."""
    runtime = LateRuntime(devices=2)

    def run(comm):
        with runtime.stream():
            x = comm.transport.arrays.from_host(np.full(5, 1.0 + comm.rank))
            handle = comm.all_reduce(x, async_op=True)
        total = handle.wait()
        plan = comm.plan("all_reduce", x, out=x)
        with runtime.stream() as other:
            runtime.copy(x, comm.transport.arrays.from_host(np.full(5, 10.0)))
            started = plan.start()
            assert isinstance(other, LateStream)
        return runtime.peek(total), runtime.peek(started.wait())

    for first, second in spawn(2, run, arrays=on(runtime)):
        assert (first == 3).all()
        assert (second == 20).all()


def test_where_a_call_fails_what_it_has_queued_is_done_all_the_same():
    """On all of its streams, or it would write memory that is somebody else's by then."""
    runtime, done = LateRuntime(), []
    arrays = DeviceArrays(runtime, 0)
    side = arrays.side_stream()

    def fails():
        runtime.current().queue(lambda: done.append("merged"))
        side.queue(lambda: done.append("copied"))
        raise ValueError("the first error")

    with pytest.raises(ValueError, match="the first error"):
        arrays.ordered(fails)()
    assert sorted(done) == ["copied", "merged"]


def test_a_call_within_what_was_submitted_follows_the_stream_that_is_current_there():
    runtime = LateRuntime()

    def run(comm):
        x = comm.transport.arrays.from_host(np.zeros(5))

        def inner():
            with runtime.stream():
                runtime.copy(x, comm.transport.arrays.from_host(np.ones(5)))
                return comm.all_reduce(x)

        return runtime.peek(comm.submit(inner).wait())

    for found in spawn(2, run, arrays=on(runtime)):
        assert (found == 2).all()
