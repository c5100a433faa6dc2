"""Device memory over MPI, by CuPy and mpi4py: direct, or staged through pinned host memory.

    comm = refcoll.connect("cupy")                 # mode="auto", "direct" or "staged"
    comm.all_reduce(x)                             # x: an array on this rank's device

Importing this needs neither CuPy nor a GPU nor MPI; ``connect`` and ``arrays_of`` do.

**Nothing of this package has run on a GPU yet.**  Its tests run it with a stand-in for the
device, which shows in which order it copies, synchronises and sends, and no more than that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from refcoll_cupy.arrays import DeviceArrays
    from refcoll_cupy.runtime import Runtime, Stream
    from refcoll_cupy.transport import CupyTransport

__all__ = ["arrays_of", "connect"]


def connect(
    comm: Any = None,
    mode: str = "auto",
    *,
    cuda_aware: bool = False,
    stream: Stream | None = None,
    runtime: Runtime | None = None,
    **unknown: object,
) -> CupyTransport:
    """This process's end of ``comm``, by default COMM_WORLD: see ``transport.connect``."""
    from refcoll_cupy.transport import connect as connected

    return connected(comm, mode, cuda_aware, stream, runtime, unknown)


def arrays_of(rank: int) -> DeviceArrays:
    """What rank ``rank`` of several threads of this process works on: see ``local.arrays``."""
    from refcoll_cupy.local import arrays as made

    return made(rank)
