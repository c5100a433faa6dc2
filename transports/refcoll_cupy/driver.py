"""What is asked of NVIDIA's driver itself, since CuPy has no call for it."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import lru_cache

_LEGACY_IPC_CAPABLE = 10
"""CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE (CUDA driver API, CUpointer_attribute)."""
_SUCCESS = 0


def interprocess(address: int) -> bool | None:
    """Whether other processes can open the device memory at ``address``, as CUDA's interprocess
    handles do; None where there is no driver, or it does not know."""
    query = _query()
    capable = ctypes.c_uint(0)
    if query is None or query(ctypes.byref(capable), _LEGACY_IPC_CAPABLE, address) != _SUCCESS:
        return None
    return bool(capable.value)


@lru_cache(maxsize=1)
def _query() -> Callable[..., int] | None:
    """cuPointerGetAttribute(void* data, CUpointer_attribute attribute, CUdeviceptr ptr)."""
    try:
        found = ctypes.CDLL("libcuda.so.1").cuPointerGetAttribute
    except (OSError, AttributeError):
        return None
    found.argtypes = (ctypes.c_void_p, ctypes.c_int, ctypes.c_uint64)
    found.restype = ctypes.c_int
    return found
