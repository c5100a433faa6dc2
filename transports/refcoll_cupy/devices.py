"""The device, by CuPy, which is imported here and nowhere else."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np

from refcoll.transport import ArgumentError, Bytes, Merge
from refcoll_cupy import driver, kernels
from refcoll_cupy.compiled import Kernel
from refcoll_cupy.moments import Moments
from refcoll_cupy.runtime import Device, Divide, Event, Stream

_ON_DEVICES = (2, 13)
"""DLPack's numbers of CUDA memory and of CUDA's managed memory."""


class CupyRuntime:
    """``runtime.Runtime`` over CuPy."""

    name = "cupy"

    def __init__(self) -> None:
        """Raises ArgumentError where there is no CuPy."""
        try:
            import cupy
        except Exception as error:  # a wrong CUDA fails in ways of its own
            raise ArgumentError(
                f"cupy cannot be imported: {error}; pip install 'refcoll[cupy]' brings it"
            ) from error
        self._cupy: Any = cupy
        self._moments: dict[int, Moments] = defaultdict(lambda: Moments(cupy.cuda))

    def devices(self) -> int:
        cuda = self._cupy.cuda.runtime
        try:
            found = int(cuda.getDeviceCount())
        except cuda.CUDARuntimeError as error:
            raise ArgumentError(f"there is no CUDA device that CuPy can use: {error}") from error
        if not found:
            raise ArgumentError("there is no CUDA device: the driver sees none")
        self._require_compiler()
        return found

    def _require_compiler(self) -> None:
        """CuPy's wheels bring everything but this, and ask for it when the first kernel is made."""
        try:
            self._cupy.cuda.nvrtc.getVersion()
        except Exception as error:  # each CuPy says it in its own way
            raise ArgumentError(
                f"CuPy finds no NVRTC, which compiles kernels: {str(error).splitlines()[0]:.200}; "
                "pip install nvidia-cuda-nvrtc-cu12 brings it for cupy-cuda12x from 14, CUDA's "
                "toolkit for any"
            ) from error

    def use(self, device: int) -> None:
        self._cupy.cuda.Device(device).use()

    def on(self, device: int) -> Any:
        return self._cupy.cuda.Device(device)

    def identity(self, device: int) -> str:
        known = self._cupy.cuda.runtime.getDeviceProperties(device)
        unique: Any = known.get("uuid") or self._cupy.cuda.Device(device).pci_bus_id
        # CuPy's bytes may run on into a field behind, which has no meaning.
        return unique[:16].hex() if isinstance(unique, bytes) else str(unique)

    def stream(self) -> Stream:
        made: Stream = self._cupy.cuda.Stream(non_blocking=True)
        return made

    def current(self) -> Stream:
        found: Stream = self._cupy.cuda.get_current_stream()
        return found

    def record(self, stream: Stream) -> Event:
        return self._moments[self._cupy.cuda.runtime.getDevice()].of(stream)

    # ---- arrays -------------------------------------------------------------------------

    def owns(self, value: object) -> bool:
        return isinstance(value, self._cupy.ndarray)

    def shared(self, value: Any) -> Device | None:
        try:
            if hasattr(value, "__dlpack_device__"):
                if int(value.__dlpack_device__()[0]) not in _ON_DEVICES:
                    return None
                return self._cupy.from_dlpack(value)
            if hasattr(value, "__cuda_array_interface__"):
                return self._interfaced(value)
        except Exception as error:  # each library refuses in its own words
            raise ArgumentError(f"a {type(value).__name__} cannot be taken: {error}") from error
        return None

    def _interfaced(self, value: Any) -> Device:
        """The array where it lies: made on another device it would become a copy on this one."""
        cuda, pointer = self._cupy.cuda, value.__cuda_array_interface__["data"][0]
        if not pointer:  # of no bytes, which lie nowhere
            return self._cupy.asarray(value)
        with cuda.Device(cuda.runtime.pointerGetAttributes(pointer).device):
            return self._cupy.asarray(value)

    def address(self, array: Device) -> int:
        return int(array.data.ptr)

    def device_of(self, array: Device) -> int:
        return int(array.data.device_id)

    def reachable(self, array: Device) -> bool:
        if isinstance(array.data.mem, self._cupy.cuda.MemoryAsync):
            return False
        return not array.nbytes or driver.interprocess(self.address(array)) is not False

    def empty(self, nbytes: int) -> Device:
        return self._cupy.empty(nbytes, np.uint8)

    def pinned(self, nbytes: int) -> Bytes:
        memory = self._cupy.cuda.alloc_pinned_memory(nbytes)
        return np.frombuffer(memory, np.uint8, nbytes)

    # ---- work, queued on the current stream ----------------------------------------------

    def copy(self, to: Device, source: Device) -> None:
        if to.dtype != source.dtype:
            code = kernels.convert(source.dtype.name, to.dtype.name)
            Kernel(self._cupy, code, "convert")(to.size, source, to)
        elif to.nbytes:
            to.data.copy_from_device_async(source.data, to.nbytes)

    def download(self, to: Bytes, source: Device) -> None:
        if to.nbytes:
            source.data.copy_to_host_async(to.ctypes.data, to.nbytes)

    def upload(self, to: Device, source: Bytes) -> None:
        if source.nbytes:
            to.data.copy_from_host_async(source.ctypes.data, source.nbytes)

    def require(self, dtype: np.dtype[Any]) -> None:
        kernels.require(dtype)

    def merging(self, name: str, dtype: np.dtype[Any]) -> Merge:
        kernel = Kernel(self._cupy, kernels.merge(name, dtype.name), "merge")

        def merge(left: Device, right: Device, out: Device) -> None:
            kernel(out.size, left, right, out)

        return merge

    def finishing(self, name: str, dtype: np.dtype[Any]) -> Divide | None:
        code = kernels.finish(name, dtype.name)
        if code is None:
            return None
        kernel = Kernel(self._cupy, code, "finish")

        def finish(values: Device, size: int) -> None:
            kernel(values.size, values, np.int32(size))

        return finish

    # ---- at once --------------------------------------------------------------------------

    def from_host(self, values: np.ndarray[Any, Any]) -> Device:
        octets = np.ascontiguousarray(values).reshape(-1).view(np.uint8)
        made = self.empty(octets.nbytes)
        made.set(octets)
        return made.view(values.dtype).reshape(values.shape)

    def to_host(self, array: Device) -> np.ndarray[Any, Any]:
        octets: np.ndarray[Any, Any] = array.reshape(-1).view(np.uint8).get()
        values: np.ndarray[Any, Any] = octets.view(array.dtype).reshape(array.shape)
        return values
