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


def _broadcast(comm: MPI.Intracomm, x: Any, out: Any) -> None:
    """MPI broadcasts in place: out of place the root copies first."""
    if out is not x and comm.rank == 0:
        out[:] = x
    comm.Bcast(out, 0)
