"""Which arrays of a caller's are taken, and what is said of the others.

All this is found out before anything is handed to MPI, for which a wrong pointer is a crash.
"""

from __future__ import annotations

from typing import Any

from refcoll.transport import ArgumentError, TransportError
from refcoll_cupy.runtime import Device, Runtime, Stream


def accepted(
    runtime: Runtime, value: Any, name: str, device: int, across_processes: bool
) -> Device:
    """The caller's argument ``name`` as an array of the runtime's.

    Raises ArgumentError for what is not on ``device``, not contiguous, not aligned, of a dtype
    without kernels, read-only though it is "out", or, if it is to go ``across_processes``, in
    memory that other processes cannot open.
    """
    array = value if runtime.owns(value) else runtime.shared(value)
    if array is None:
        raise ArgumentError(
            f"{name} is a {_title(value)} in host memory, or nothing that a device can read; "
            f"make it a {runtime.name} array, or use a communicator over host memory"
        )
    if name == "out" and _read_only(value):
        raise ArgumentError("out is read-only; pass an array that may be written")
    _require_usable(runtime, array, name, device)
    if across_processes:
        require_reachable(runtime, array, name)
    return array


def _require_usable(runtime: Runtime, array: Device, name: str, device: int) -> None:
    lies = runtime.device_of(array)
    if lies != device:
        raise ArgumentError(
            f"{name} lies on device {lies}, but this rank's communicator is on device {device}: "
            "copy it there"
        )
    if not array.flags.c_contiguous:
        raise ArgumentError(
            f"{name} with strides {array.strides} is not contiguous, and messages between "
            f"devices are: pass {runtime.name}.ascontiguousarray({name})"
        )
    runtime.require(array.dtype)
    if array.size and runtime.address(array) % array.dtype.alignment:
        raise ArgumentError(
            f"{name} begins at an address that is no multiple of {array.dtype.alignment}, as "
            f"{array.dtype.name} must on a device: pass a copy"
        )


def require_reachable(runtime: Runtime, array: Device, name: str) -> None:
    """Raise ArgumentError for memory that MPI cannot open in another process."""
    if not runtime.reachable(array):
        raise ArgumentError(
            f"{name} lies in memory that other processes cannot open, such as a stream-ordered "
            "pool's (malloc_async): use cupy.cuda.MemoryPool, or mode='staged'"
        )


def require_stream(stream: Any, device: int) -> None:
    """Raise ArgumentError for what is no stream of ``device`` that can be queued on."""
    if stream is None:
        return
    needs = ("record", "wait_event", "synchronize", "is_capturing", "__enter__")
    if not all(hasattr(stream, each) for each in needs):
        raise ArgumentError(
            f"stream is a {_title(stream)}, not a CuPy stream; cupy.cuda.Stream.from_external "
            "(in CuPy 13, cupy.cuda.ExternalStream) makes one of another library's"
        )
    lies = getattr(stream, "device_id", -1)
    if lies not in (-1, device):  # -1: the default stream, of any device
        raise ArgumentError(f"stream is of device {lies}, but this rank is on device {device}")


def require_uncaptured(stream: Stream) -> None:
    """Raise TransportError, which all ranks hear of, where a graph is made of what is queued."""
    if stream.is_capturing():
        raise TransportError(
            "the caller's stream is being captured into a CUDA graph, in which other ranks have "
            "no part: make this call before or after"
        )


def _title(value: object) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"


def _read_only(value: Any) -> bool:
    try:
        return bool(value.__cuda_array_interface__["data"][1])
    except Exception:  # what does not offer it, or not for this dtype, says nothing
        return False
