"""What is called of CuPy is there, as it is called: with CuPy installed, and no GPU.

CuPy's arrays are made here over the host's memory, which it knows nothing of.  So this shows
attributes, names and types, and nothing of what a device would do.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from refcoll import ArgumentError
from refcoll.testing.values import DTYPES, dtype_named
from refcoll_cupy.accepting import accepted
from refcoll_cupy.arrays import DeviceArrays
from refcoll_cupy.compiled import _compiled
from refcoll_cupy.devices import CupyRuntime
from refcoll_cupy.kernels import OPTIONS

cupy = pytest.importorskip("cupy", reason="cupy is not installed: pip install 'refcoll[cupy]'")


@pytest.fixture
def runtime():
    return CupyRuntime()


def array(count, dtype=np.uint8):
    octets = np.zeros(max(1, count * np.dtype(dtype).itemsize), np.uint8)
    memory = cupy.cuda.UnownedMemory(octets.ctypes.data, octets.nbytes, octets, device_id=0)
    return cupy.ndarray((count,), dtype, cupy.cuda.MemoryPointer(memory, 0)), octets


@pytest.mark.parametrize("name", DTYPES)
def test_arrays_have_what_a_communicator_asks_for(name, runtime):
    dtype = dtype_named(name)
    mine, octets = array(12, dtype)
    assert runtime.owns(mine)
    assert not runtime.owns(octets)
    assert (mine.dtype, mine.nbytes, mine.size) == (dtype, 12 * dtype.itemsize, 12)
    assert runtime.address(mine) == octets.ctypes.data
    assert runtime.device_of(mine) == 0
    part = mine[3:7].view(np.uint8)
    assert (part.nbytes, part.dtype) == (4 * dtype.itemsize, np.uint8)
    assert runtime.address(part) == octets.ctypes.data + 3 * dtype.itemsize
    assert part.view(dtype).reshape(2, 2).strides == (2 * dtype.itemsize, dtype.itemsize)
    assert accepted(runtime, mine, "x", 0, True) is mine


def test_arrays_of_nothing_too(runtime):
    mine, _ = array(0, np.float32)
    assert mine.view(np.uint8).nbytes == 0
    assert mine[0:0].reshape(0).view(np.float64).size == 0
    assert accepted(runtime, mine, "x", 0, True) is mine


def test_what_is_not_contiguous_is_refused(runtime):
    mine, _ = array(12)
    with pytest.raises(ArgumentError, match=r"pass cupy\.ascontiguousarray"):
        accepted(runtime, mine.reshape(3, 4)[:, ::2], "x", 0, True)


def test_host_arrays_are_refused_whatever_they_offer(runtime):
    with pytest.raises(ArgumentError, match="in host memory"):
        accepted(runtime, np.zeros(3), "x", 0, True)  # has __dlpack_device__


def test_what_is_called_of_cupy_is_there():
    cuda = cupy.cuda
    assert issubclass(cuda.MemoryAsync, cuda.BaseMemory)
    for owner, names in (
        (cuda.Device, ["use", "__enter__", "__exit__", "pci_bus_id"]),
        (cuda, ["Device", "Stream", "get_current_stream", "alloc_pinned_memory"]),
        (cuda.Stream, ["synchronize", "record", "wait_event", "is_capturing", "__enter__",
                       "__exit__"]),
        (cuda.Event, ["synchronize"]),
        (cuda.MemoryPointer, ["copy_from_device_async", "copy_to_host_async",
                              "copy_from_host_async"]),
        (cuda.runtime, ["getDevice", "getDeviceCount", "getDeviceProperties", "eventQuery",
                        "pointerGetAttributes", "CUDARuntimeError"]),
        (cupy, ["RawKernel", "empty", "from_dlpack", "asarray"]),
        (cuda.compiler, ["compile_using_nvrtc"]),
        (cuda.nvrtc, ["getVersion"]),
        (cuda.Module, ["load", "get_function"]),
        (cupy.ndarray, ["set", "get"]),
    ):  # fmt: skip
        assert [name for name in names if not hasattr(owner, name)] == []


def test_the_compiler_is_given_the_kernels_options_and_none_that_undoes_them(monkeypatch):
    """CuPy's RawKernel puts -ftz=true behind whatever it is given: then subnormals are zeros."""
    given = []

    class Program:
        def __init__(self, *_, **__):
            pass

        def compile(self, options, *_):
            given.extend(options)
            return b"a cubin", {}

    compiler = cupy.cuda.compiler
    monkeypatch.setattr(compiler, "_NVRTCProgram", Program)
    monkeypatch.setattr(compiler, "_get_arch_for_options_for_nvrtc", lambda _: ("-arch=sm_90", ""))
    monkeypatch.setattr(compiler, "_get_nvrtc_version", lambda: (12, 9))
    monkeypatch.setattr(cupy.cuda, "Module", lambda: SimpleNamespace(
        load=given.append, get_function=lambda name: name))  # fmt: skip
    try:
        assert _compiled(cupy.cuda, "a kernel", "its name", 0) == "its name"
    finally:
        _compiled.cache_clear()
    assert given[-1] == b"a cubin"
    assert [each for each in given if "ftz" in str(each)] == ["--ftz=false"]
    assert set(OPTIONS) <= set(given)


def test_without_its_compiler_it_says_what_to_install(runtime, monkeypatch):
    """Not when the first kernel is made: its wheels do not bring NVRTC."""

    def missing():
        raise RuntimeError("CuPy failed to load libnvrtc.so.12\nand more")

    monkeypatch.setattr(cupy.cuda.runtime, "getDeviceCount", lambda: 1)
    monkeypatch.setattr(cupy.cuda.nvrtc, "getVersion", missing)
    with pytest.raises(ArgumentError, match=r"load libnvrtc.*; pip install nvidia"):
        runtime.devices()
    monkeypatch.setattr(cupy.cuda.nvrtc, "getVersion", lambda: (12, 9))
    assert runtime.devices() == 1


def test_streams_take_whatever_has_an_events_handle():
    """So a moment of ours can be waited for.  Of no event, that is an error of CUDA's."""
    stream, moment = cupy.cuda.Stream.null, SimpleNamespace(ptr=0)
    for call in (stream.wait_event, stream.record):
        with pytest.raises(cupy.cuda.runtime.CUDARuntimeError):
            call(moment)
    assert cupy.cuda.runtime.eventQuery(0) not in (0, 600)  # a status, and no exception


def test_without_a_device_it_says_so(runtime):
    try:
        found = runtime.devices()
    except ArgumentError as error:
        assert "there is no CUDA device" in str(error)  # noqa: PT017
    else:
        assert found > 0
        DeviceArrays(runtime, 0)


def test_an_array_of_another_device_stays_there(runtime, monkeypatch):
    """CuPy's asarray would copy it to the current one, and what is written to it be lost."""
    entered = []

    class Device:
        def __init__(self, number):
            self.number = number

        def __enter__(self):
            entered.append(self.number)

        def __exit__(self, *_):
            entered.append(None)

    def asarray(value):
        assert entered == [1]
        return "where it lies"

    attributes = SimpleNamespace(pointerGetAttributes=lambda pointer: SimpleNamespace(device=1))
    cuda = SimpleNamespace(Device=Device, runtime=attributes)
    monkeypatch.setattr(runtime, "_cupy", SimpleNamespace(cuda=cuda, asarray=asarray))
    value = SimpleNamespace(__cuda_array_interface__={"data": (4096, False)})
    assert runtime.shared(value) == "where it lies"


def test_a_device_is_known_by_what_cannot_differ_between_processes(runtime, monkeypatch):
    """CuPy's uuid runs on into a field that CUDA leaves undefined where it has no zero byte."""
    for behind in (b"", b"left over"):
        given = {"uuid": b"sixteen bytes of" + behind}
        found = SimpleNamespace(runtime=SimpleNamespace(getDeviceProperties=lambda _, g=given: g))
        monkeypatch.setattr(runtime, "_cupy", SimpleNamespace(cuda=found))
        assert runtime.identity(0) == b"sixteen bytes of".hex()
