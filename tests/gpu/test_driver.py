"""What is asked of the driver itself, and which memory other processes can open."""

from __future__ import annotations

import ctypes
import sys
from types import SimpleNamespace

import pytest

from refcoll_cupy import driver
from refcoll_cupy.devices import CupyRuntime


class FromPool:
    """CuPy's memory of a stream-ordered pool."""


@pytest.fixture
def runtime(monkeypatch):
    cuda = SimpleNamespace(MemoryAsync=FromPool)
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(cuda=cuda))
    return CupyRuntime()


def answering(status, capable):
    def query(data, attribute, address):
        assert (attribute, address) == (10, 4096)
        ctypes.cast(data, ctypes.POINTER(ctypes.c_uint))[0] = capable
        return status

    return lambda: query


@pytest.mark.parametrize(
    ("query", "said"),
    [
        (answering(0, 1), True),
        (answering(0, 0), False),
        (answering(1, 0), None),  # CUDA_ERROR_INVALID_VALUE: it knows nothing of such memory
        (lambda: None, None),
    ],
)
def test_the_driver_is_asked_whether_other_processes_can_open_memory(query, said, monkeypatch):
    monkeypatch.setattr(driver, "_query", query)
    assert driver.interprocess(4096) is said


@pytest.mark.parametrize(
    ("memory", "said", "nbytes", "reachable"),
    [
        (None, None, 8, True),
        (None, True, 8, True),
        (None, False, 8, False),  # torch's cudaMallocAsync, RMM's, expandable segments: by DLPack
        (None, False, 0, True),  # no bytes, which lie nowhere
        (FromPool(), None, 8, False),
        (FromPool(), True, 8, False),
    ],
)
def test_memory_that_others_cannot_open_is_known(
    memory, said, nbytes, reachable, runtime, monkeypatch
):
    monkeypatch.setattr(driver, "interprocess", lambda address: said)
    array = SimpleNamespace(data=SimpleNamespace(mem=memory, ptr=4096), nbytes=nbytes)
    assert runtime.reachable(array) == reachable


def test_the_drivers_own_call_is_found_where_there_is_one():
    """And where there is none, as on most machines that run this, nothing goes wrong."""
    driver._query.cache_clear()
    query = driver._query()
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        assert query is None
        assert driver.interprocess(4096) is None
    else:
        assert query.argtypes == (ctypes.c_void_p, ctypes.c_int, ctypes.c_uint64)
