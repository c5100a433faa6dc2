"""What is asked of CuPy, with something in its place that takes note."""

from __future__ import annotations

import gc
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from refcoll.operators import OPERATORS
from refcoll_cupy import kernels
from refcoll_cupy.arrays import DeviceArrays
from refcoll_cupy.compiled import _compiled
from refcoll_cupy.devices import CupyRuntime
from refcoll_cupy.moments import Moments

READY, NOT_READY, FAILED = 0, 600, 700
"""cudaSuccess, cudaErrorNotReady, cudaErrorIllegalAddress."""


class CUDARuntimeError(RuntimeError):
    pass


class Cuda:
    """``cupy.cuda``, as far as it is asked."""

    def __init__(self):
        self.made, self.status, self.device = [], READY, 0
        self.runtime = SimpleNamespace(
            getDevice=lambda: self.device,
            eventQuery=lambda ptr: self.status,
            CUDARuntimeError=CUDARuntimeError,
        )

    def Event(self, disable_timing=False):  # noqa: N802 - CuPy's name
        assert disable_timing, "an event that orders needs no time"
        self.made.append(SimpleNamespace(ptr=len(self.made), device=self.device))
        return self.made[-1]


class Stream:
    def record(self, event):
        self.last = event


@pytest.fixture
def cuda():
    return Cuda()


@pytest.fixture
def compilations():
    return []


@pytest.fixture
def runtime(monkeypatch, cuda, compilations):
    """CuPy's, where CuPy notes what is compiled and launched."""

    class Module:
        def load(self, binary):
            assert binary == "a cubin"

        def get_function(self, name):
            compilations.append(name)
            return lambda blocks, threads, arguments: compilations.append(
                (f"{name} is launched", blocks, threads, arguments[-1])
            )

    def compiled(code, options):
        assert options == kernels.OPTIONS
        return "a cubin", None

    cuda.Module, cuda.compiler = Module, SimpleNamespace(compile_using_nvrtc=compiled)
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(cuda=cuda))
    yield CupyRuntime()
    _compiled.cache_clear()


# ---- moments -----------------------------------------------------------------------------


def test_an_event_serves_again_when_nobody_holds_its_moment(cuda):
    """So a plan that runs a second time makes none."""
    moments, stream = Moments(cuda), Stream()
    for _ in range(3):
        held = [moments.of(stream) for _ in range(4)]
        assert len({moment.ptr for moment in held}) == 4
        assert stream.last.ptr == held[-1].ptr
        del held
    assert len(cuda.made) == 4


def test_an_event_outlives_a_moment_that_is_garbage_together_with_what_held_it(cuda):
    """In a cycle: there Python ends all of it at once, and CuPy's events destroy themselves."""
    destroyed = []

    class Event:
        ptr = 1

        def __init__(self, disable_timing):
            pass

        def __del__(self):
            destroyed.append(self)

    cuda.Event = Event
    moments = Moments(cuda)
    cycle = [moments.of(Stream())]
    cycle.append(cycle)
    del cycle
    gc.collect()
    assert moments.of(Stream())._event not in destroyed


def test_events_are_of_the_device_that_is_current(runtime, cuda):
    """One of another cannot be recorded on its streams."""
    for cuda.device in (0, 1, 0, 1):
        moment = runtime.record(Stream())
        assert cuda.made[moment.ptr].device == cuda.device
        del moment
    assert len(cuda.made) == 2


def test_a_moment_has_come_has_not_or_never_will(cuda):
    moment = Moments(cuda).of(Stream())
    assert moment.done
    cuda.status = NOT_READY
    assert not moment.done
    cuda.status = FAILED
    with pytest.raises(CUDARuntimeError):
        _ = moment.done


# ---- kernels -----------------------------------------------------------------------------


def test_kernels_are_compiled_once_when_a_plan_is_made(runtime, compilations):
    """For all ranks that are threads; and what is done last with them, on each device."""
    arrays = [DeviceArrays.__new__(DeviceArrays) for _ in range(2)]
    for each in arrays:
        each.runtime = CupyRuntime()
    merges = [each.merge(OPERATORS["avg"], np.dtype("f4")) for each in arrays]
    assert sorted(compilations) == ["finish", "merge"]
    compilations.clear()
    nothing, some = np.empty(0, "f4"), np.empty(257, "f4")
    merges[0](nothing, nothing, nothing)
    merges[1](some, some, some)
    arrays[0].finish(OPERATORS["avg"], some, 2)
    assert compilations == [
        ("merge is launched", (2,), (256,), 257), ("finish is launched", (2,), (256,), 257)
    ]  # fmt: skip


def test_another_device_has_kernels_of_its_own(runtime, cuda, compilations):
    for cuda.device in (0, 1, 0):
        runtime.merging("sum", np.dtype("f4"))
    assert compilations == ["merge", "merge"]
