"""The MPI library's own collectives, to be timed beside refcoll's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mpi4py import MPI


def library() -> str:
    """The library's name and version."""
    return MPI.Get_library_version().split("\n")[0].strip("\0 ")


def native(comm: MPI.Intracomm, collective: str, x: Any, out: Any) -> Callable[[], object]:
    """One run of ``collective`` with operator sum and root 0, on contiguous arrays.

    ``out`` may be ``x`` itself.  Raises KeyError for a collective that is not here.
    """
    given = MPI.IN_PLACE if out is x else x
    calls: dict[str, Callable[[], object]] = {
        "all_reduce": lambda: comm.Allreduce(given, out),
        "reduce_scatter": lambda: comm.Reduce_scatter_block(given, out),
        "all_gather": lambda: comm.Allgather(x, out),
        "broadcast": lambda: _broadcast(comm, x, out),
    }
    return calls[collective]


def persistent(comm: MPI.Intracomm, collective: str, x: Any, out: Any) -> Callable[[], object]:
    """The same, prepared once (MPI 4's persistent collectives): memory it needs is kept."""
    given = MPI.IN_PLACE if out is x else x
    match collective:
        case "all_reduce":
            request = comm.Allreduce_init(given, out)
        case "reduce_scatter":
            request = comm.Reduce_scatter_block_init(given, out)
        case "all_gather":
            request = comm.Allgather_init(x, out)
        case _:
            request = comm.Bcast_init(out, 0)
    kept, copies = _Kept(request), _root_copies(comm, collective, x, out)

    def run() -> None:
        if copies:
            out[:] = x
        kept.request.Start()
        kept.request.Wait()

    return run


def has_persistent() -> bool:
    """Whether the library has them (mpi4py raises where it does not)."""
    try:
        MPI.COMM_SELF.Barrier_init().Free()
    except NotImplementedError:
        return False
    return True


class _Kept:
    """Frees a request when nothing runs it any more."""

    def __init__(self, request: MPI.Prequest) -> None:
        self.request = request

    def __del__(self) -> None:
        if not MPI.Is_finalized():
            self.request.Free()


def _root_copies(comm: MPI.Intracomm, collective: str, x: Any, out: Any) -> bool:
    """MPI broadcasts in place: out of place the root copies first."""
    return collective == "broadcast" and out is not x and comm.rank == 0


def _broadcast(comm: MPI.Intracomm, x: Any, out: Any) -> None:
    if _root_copies(comm, "broadcast", x, out):
        out[:] = x
    comm.Bcast(out, 0)
