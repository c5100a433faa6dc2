"""Which arrays a communicator on a device takes, and what it says of the others."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from late_stream import LateArray, LateRuntime, LateStream
from refcoll import ArgumentError, spawn
from refcoll_cupy.accepting import accepted, require_stream
from refcoll_cupy.arrays import DeviceArrays
from refcoll_cupy.pointers import DeviceBytes


class Foreign:
    """Another library's array in device memory."""

    def __init__(self, values, read_only=False):
        self.values = values
        self.__cuda_array_interface__ = {
            "shape": values.shape, "typestr": values.dtype.str, "version": 3,
            "data": (values.ctypes.data, read_only),
        }  # fmt: skip


@pytest.fixture
def runtime():
    return LateRuntime(devices=2)


def test_its_own_arrays_are_taken_as_they_are(runtime):
    mine = runtime.empty(8)
    assert accepted(runtime, mine, "x", 0, True) is mine


def test_other_libraries_arrays_are_taken_where_they_lie(runtime):
    theirs = Foreign(np.arange(6.0).reshape(2, 3))
    found = accepted(runtime, theirs, "x", 0, True)
    assert runtime.address(found) == theirs.values.ctypes.data
    assert (found.shape, found.dtype) == ((2, 3), np.float64)


def test_a_result_is_written_where_another_librarys_array_lies(runtime):
    def run(comm):
        x, out = Foreign(np.full(4, 1.0 + comm.rank)), Foreign(np.zeros(4))
        comm.all_reduce(x, out=out)
        return out.values

    for found in spawn(2, run, arrays=lambda rank: DeviceArrays(runtime, 0)):
        assert (found == 3).all()


def misaligned():
    return np.zeros(25, np.uint8)[1:].view(np.float64)


REFUSED = [
    ("x", lambda: np.zeros(3), True, "x is a numpy.ndarray in host memory"),
    ("x", lambda: [1, 2], True, "x is a builtins.list in host memory, or nothing"),
    ("x", lambda: LateArray(np.zeros(3), device=1), True, "x lies on device 1, but .* device 0"),
    ("x", lambda: LateArray(np.zeros((4, 6))[:, ::2]), True, "not contiguous.*ascontiguousarray"),
    ("out", lambda: Foreign(np.zeros(3), read_only=True), True, "out is read-only"),
    ("x", lambda: LateArray(np.zeros(3, np.longdouble)), True, "has no kernels on the device"),
    ("x", lambda: LateArray(np.zeros(3), from_pool=True), True, "stream-ordered pool.*staged"),
    ("x", lambda: LateArray(misaligned()), True, "x begins at an address that is no multiple of 8"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "make", "across", "said"), REFUSED, ids=[r[3] for r in REFUSED])
def test_others_are_refused(name, make, across, said, runtime):
    with pytest.raises(ArgumentError, match=said):
        accepted(runtime, make(), name, 0, across)


def test_what_is_only_read_may_be_read_only_and_pools_may_stay_within_a_process(runtime):
    accepted(runtime, Foreign(np.zeros(3), read_only=True), "x", 0, True)
    accepted(runtime, LateArray(np.zeros(3), from_pool=True), "x", 0, False)


@pytest.mark.parametrize(
    ("x", "keywords", "said"),
    [
        (np.zeros(3), {}, "x is a numpy.ndarray in host memory"),
        (LateArray(np.zeros(3)), {"out": np.zeros(3)}, "out is a numpy.ndarray in host memory"),
        (LateArray(np.zeros(3)), {"out": LateArray(np.zeros(4))}, "out has shape"),
        (LateArray(np.zeros(3)), {"accumulate": "longdouble"}, "has no kernels on the device"),
    ],
)
def test_all_ranks_hear_of_it_and_go_on(x, keywords, said, runtime):
    def run(comm):
        with pytest.raises(ArgumentError, match=said):
            comm.all_reduce(x, **keywords)
        return runtime.peek(comm.all_reduce(LateArray(np.ones(2))))

    for found in spawn(2, run, arrays=lambda rank: DeviceArrays(runtime, 0)):
        assert (found == 2).all()


class OrderedPool(LateRuntime):
    """Its allocator gives memory of a stream-ordered pool."""

    def empty(self, nbytes):
        made = super().empty(nbytes)
        made.from_pool = True
        return made


def test_memory_of_its_own_is_refused_too_if_other_processes_cannot_reach_it():
    across = DeviceArrays(OrderedPool(), 0, across_processes=True)
    for made in (lambda: across.scratch(8), lambda: across.empty(1, np.dtype(float))):
        with pytest.raises(ArgumentError, match="the current allocator gives lies in memory that"):
            made()
    assert DeviceArrays(OrderedPool(), 0).scratch(8).nbytes == 8


class OfDevice(LateStream):
    device_id = 1


def test_what_is_no_stream_of_the_device_is_refused():
    for right in (None, LateStream(), OfDevice()):
        require_stream(right, 1)
    with pytest.raises(ArgumentError, match=r"stream is a builtins\.object, not .*from_external"):
        require_stream(object(), 0)
    with pytest.raises(ArgumentError, match="stream is of device 1, but this rank is on device 0"):
        require_stream(OfDevice(), 0)


def test_a_rank_with_another_array_is_named_to_the_others(runtime):
    from refcoll import DisagreementError

    def run(comm):
        mine = [LateArray(np.zeros(3)), np.zeros(3)][comm.rank]
        with pytest.raises((ArgumentError, DisagreementError)) as caught:
            comm.all_reduce(mine)
        return str(caught.value)

    for said in spawn(2, run, arrays=lambda rank: DeviceArrays(runtime, 0)):
        assert "x is a numpy.ndarray in host memory" in said


def test_partly_the_same_memory_is_refused(runtime):
    whole = LateArray(np.zeros(10))

    def run(comm):
        with pytest.raises(ArgumentError, match="out overlaps x without being x"):
            comm.all_reduce(whole[0:6], out=whole[3:9])
        comm.all_reduce(whole[0:5], out=whole[5:10])
        comm.all_reduce(whole[0:5], out=whole[0:5])

    spawn(1, run, arrays=lambda rank: DeviceArrays(runtime, 0))


def test_what_mpi_is_given_holds_its_array_and_offers_one_protocol(runtime):
    array = runtime.empty(24).view(np.float64)
    given = DeviceBytes(runtime, array)
    assert given.__cuda_array_interface__ == {
        "shape": (24,), "typestr": "|u1", "data": (runtime.address(array), False),
        "strides": None, "version": 3,
    }  # fmt: skip
    assert not {"__dlpack__", "__array_interface__", "__array__"} & set(dir(given))
    assert given._held is array


def test_importing_it_needs_nothing():
    without = "import sys; sys.modules['cupy'] = sys.modules['mpi4py'] = None; "
    program = f"{without} import refcoll_cupy; refcoll_cupy.connect"
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_without_cupy_it_says_what_to_install(monkeypatch):
    from refcoll_cupy.devices import CupyRuntime

    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(ArgumentError, match=r"cupy cannot be imported: .*refcoll\[cupy\]"):
        CupyRuntime()
    with pytest.raises(ArgumentError, match="cupy cannot be imported"):
        spawn(2, lambda comm: None, arrays="cupy")
