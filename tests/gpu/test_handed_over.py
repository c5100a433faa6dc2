"""What is done of a call in its caller's thread, on a device: once; its errors have their turn."""

from __future__ import annotations

import numpy as np
import pytest

from late_stream import LateRuntime, LateStream
from refcoll import ArgumentError, DisagreementError, PeerFailedError, calls, spawn
from refcoll.transport import TransportError
from refcoll_cupy.arrays import DeviceArrays


@pytest.mark.parametrize("background", [False, True])
def test_a_call_is_checked_once_and_when_it_comes_again_not_at_all(background, monkeypatch):
    """Also where it passes no ``out``, and its result is made before its turn."""
    checks, real, runtime = [], calls.checked, LateRuntime()

    def noted(request, *rest):
        checks.append(request.collective)
        return real(request, *rest)

    def run(comm):
        x = comm.transport.arrays.from_host(np.ones(4))
        for call in (comm.all_reduce, comm.all_reduce, comm.all_gather):
            found = call(x, async_op=background)
            runtime.peek(found.wait() if background else found)
        comm.plan("all_reduce", x)

    monkeypatch.setattr(calls, "checked", noted)
    spawn(1, run, arrays=lambda rank: DeviceArrays(runtime, 0))
    assert checks == ["all_reduce", "all_gather", "all_reduce"]


def test_an_argument_that_can_be_read_once_is_read_once():
    runtime = LateRuntime()

    def run(comm):
        x = comm.transport.arrays.from_host(np.arange(4.0))
        return runtime.peek(comm.reduce_scatter(x, counts=iter([1, 3])))

    first, second = spawn(2, run, arrays=lambda rank: DeviceArrays(runtime, 0))
    assert (list(first), list(second)) == ([0], [2, 4, 6])


class Full(LateRuntime):
    full = False

    def empty(self, nbytes):
        if self.full:
            raise MemoryError("of the device")
        return super().empty(nbytes)


def test_a_result_that_has_no_room_is_told_to_all():
    """Before anything has moved."""
    runtimes = [LateRuntime(), Full()]

    def run(comm):
        x = comm.transport.arrays.from_host(np.ones(4))
        runtimes[comm.rank].full = True
        with pytest.raises((ArgumentError, DisagreementError)) as caught:
            comm.all_reduce(x)
        return type(caught.value), str(caught.value)

    (other, told), (own, said) = spawn(2, run, arrays=lambda r: DeviceArrays(runtimes[r], 0))
    assert (own, other) == (ArgumentError, DisagreementError)
    assert "no room for the result of all_reduce: MemoryError('of the device'); free memory" in said
    assert said in told


class Captured(LateStream):
    def is_capturing(self):
        return True


class Fails(LateRuntime):
    """Its driver says no when a call is to follow what its caller has queued."""

    broken = captures = False

    def current(self):
        return Captured() if self.captures else super().current()

    def record(self, stream):
        if self.broken:
            raise RuntimeError("cudaErrorUnknown")
        return super().record(stream)


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("broken", "failed: RuntimeError: cudaErrorUnknown"),
        ("captures", "gave up: the caller's stream is being captured into a CUDA graph"),
    ],
)
@pytest.mark.parametrize("planned", [False, True])
def test_where_a_device_fails_before_the_call_the_others_hear_of_it(what, said, planned):
    """They would wait for this rank."""
    runtimes = [LateRuntime(), Fails()]

    def run(comm):
        x = comm.transport.arrays.from_host(np.ones(4))
        plan = comm.plan("all_reduce", x)
        setattr(runtimes[comm.rank], what, True)
        with pytest.raises((RuntimeError, TransportError)) as caught:
            plan.run() if planned else comm.all_reduce(x)
        return caught.value

    found = spawn(2, run, arrays=lambda rank: DeviceArrays(runtimes[rank], 0), timeout=60)
    assert isinstance(found[0], PeerFailedError)
    assert f"rank 1 {said}" in str(found[0])
    assert str(found[1]).split(" into")[0] in said
