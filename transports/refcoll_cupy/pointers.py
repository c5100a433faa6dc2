"""Device bytes, as a CUDA-aware MPI is given them."""

from __future__ import annotations

from typing import Any

from refcoll_cupy.runtime import Device, Runtime


class DeviceBytes:
    """A device array's bytes, for mpi4py, which takes their address and nothing else.

    It offers ``__cuda_array_interface__`` alone, as unsigned bytes: by DLPack, which mpi4py
    would prefer, memory has been freed twice (mpi4py issue 609), and dtypes such as bfloat16
    have no name in either.  It holds its array, so what MPI reads or writes cannot be freed
    while a message holds it.  mpi4py synchronises nothing: whoever sends it must.
    """

    def __init__(self, runtime: Runtime, array: Device) -> None:
        self._held = array
        self.nbytes: int = array.nbytes
        self.__cuda_array_interface__: dict[str, Any] = {
            "shape": (self.nbytes,),
            "typestr": "|u1",
            "data": (runtime.address(array), False),
            "strides": None,
            "version": 3,
        }
