"""The MPI library's own collectives, by mpi4py, on a communicator of their own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import numpy as np

from refcoll.communicator import Communicator
from refcoll.errors import ArgumentError
from refcoll.operators import Array, kind
from refcoll.oracle.calls import MISALIGNED, Call
from refcoll.testing.values import dtype_named

OPERATORS = {
    "sum": ("SUM", "ifc"), "prod": ("PROD", "ifc"), "min": ("MIN", "if"), "max": ("MAX", "if"),
    "bitwise_and": ("BAND", "i"), "bitwise_or": ("BOR", "i"), "bitwise_xor": ("BXOR", "i"),
    "logical_and": ("LAND", "bi"), "logical_or": ("LOR", "bi"), "logical_xor": ("LXOR", "bi"),
}  # fmt: skip
"""MPI's name, and the kinds of dtype that it is defined for (MPI 4.1, section 6.9.2)."""
_EXTENSIONS = ("float16", "bfloat16")
"""What the MPI standard has no type for; a library may."""
_CODES = {"bfloat16": "bfloat16"}
"""Instead of numpy's letter, which is a complex type's in mpi4py: there is none."""
_ABORTING = ("MPICH 4.0",)
"""Libraries that have MPIX_C_FLOAT16, and end the process by an assertion in a reduction of it."""


class MPILibrary:
    """One rank's side of the library."""

    layouts = (MISALIGNED,)  # what is strided mpi4py refuses

    def __init__(self, comm: Any) -> None:
        """``comm`` is mpi4py's; it is duplicated.  Collective."""
        self._mpi = import_module("mpi4py.MPI")
        self._comm = comm.Dup()
        self._comm.Set_errhandler(self._mpi.ERRORS_RETURN)
        self.name = library_name(self._mpi.Get_library_version())

    def unsupported(self, call: Call) -> str | None:
        """What MPI does not define, and types that this library lacks."""
        if call.op is None:
            return None
        known, kinds = OPERATORS.get(call.op, ("", ""))
        if not known:
            return f"MPI has no operator {call.op}"
        if kind(dtype_named(call.dtype)) not in kinds:
            return f"MPI does not define {known} for {call.dtype}"
        if self._datatype(dtype_named(call.dtype)) is None:
            return f"no MPI datatype for {call.dtype}"
        return None

    def all_reduce(self, x: Array, out: Array, op: str) -> None:
        """As in ``implementation``; so are the others."""
        with self._refusals(x, "all_reduce"):
            self._comm.Allreduce(self._given(x, out), self._buffer(out), self._op(op))

    def reduce_scatter(self, x: Array, out: Array, op: str) -> None:  # noqa: D102
        place = x if _shares(x, out) else out  # in place MPI wants the whole vector
        with self._refusals(x, "reduce_scatter"):
            given, got = self._given(x, out), self._buffer(place)
            self._comm.Reduce_scatter_block(given, got, self._op(op))

    def reduce(self, x: Array, out: Array | None, op: str, root: int) -> None:  # noqa: D102
        with self._refusals(x, "reduce"):
            got = None if out is None else self._buffer(out)
            self._comm.Reduce(self._given(x, out), got, self._op(op), root)

    def scan(self, x: Array, out: Array, op: str) -> None:  # noqa: D102
        with self._refusals(x, "scan"):
            self._comm.Scan(self._given(x, out), self._buffer(out), self._op(op))

    def exscan(self, x: Array, out: Array | None, op: str) -> None:  # noqa: D102
        with self._refusals(x, "exscan"):
            got = np.empty_like(x) if out is None else out  # rank 0's is not significant
            self._comm.Exscan(self._given(x, out), self._buffer(got), self._op(op))

    def all_gather(self, x: Array, out: Array) -> None:  # noqa: D102
        self._comm.Allgather(self._given(x, out), self._buffer(out))

    def gather(self, x: Array, out: Array | None, root: int) -> None:  # noqa: D102
        self._comm.Gather(self._buffer(x), None if out is None else self._buffer(out), root)

    def scatter(self, x: Array | None, out: Array, root: int) -> None:  # noqa: D102
        self._comm.Scatter(None if x is None else self._buffer(x), self._buffer(out), root)

    def all_to_all(self, x: Array, out: Array) -> None:  # noqa: D102
        self._comm.Alltoall(self._buffer(x), self._buffer(out))

    def broadcast(self, x: Array | None, out: Array, root: int) -> None:  # noqa: D102
        if x is not None:
            out[:] = x  # MPI broadcasts in place
        self._comm.Bcast(self._buffer(out), root)

    # ---- what MPI calls things -----------------------------------------------------------

    def _op(self, name: str) -> Any:
        return getattr(self._mpi, OPERATORS[name][0])

    def _datatype(self, dtype: np.dtype[Any]) -> Any:
        """The MPI datatype, or None."""
        if dtype.name in _EXTENSIONS and self.name.startswith(_ABORTING):
            return None
        try:
            found = self._mpi.Datatype.fromcode(_CODES.get(dtype.name, dtype.char))
            return found if found.Get_size() == dtype.itemsize else None
        except (ValueError, NotImplementedError, self._mpi.Exception):
            return None

    def _buffer(self, x: Array) -> Any:
        """For mpi4py, by address.  What has no datatype of its own is only moved: as integers as
        wide."""
        datatype = self._datatype(x.dtype) or self._datatype(np.dtype(f"u{x.dtype.itemsize}"))
        return [x.view(np.uint8), datatype]

    def _given(self, x: Array, out: Array | None) -> Any:
        return self._mpi.IN_PLACE if _shares(x, out) else self._buffer(x)

    @contextmanager
    def _refusals(self, x: Array, what: str) -> Iterator[None]:
        """That the library does not reduce a type which MPI does not have is no fault."""
        try:
            yield
        except self._mpi.Exception as error:
            if x.dtype.name not in _EXTENSIONS:
                raise
            raise NotImplementedError(f"{what} of {x.dtype.name}: {error}") from error


def _shares(x: Array, out: Array | None) -> bool:
    """Whether the call is in place: by address, since empty arrays share no memory."""
    if out is None or x.ctypes.data == out.ctypes.data:
        return out is not None
    return bool(np.may_share_memory(x, out))


def library_name(version: str) -> str:
    """ "MPICH 5.0.2" from what MPI_Get_library_version tells.

    >>> library_name("MPICH Version:      5.0.2")
    'MPICH 5.0.2'
    >>> library_name("Open MPI v4.1.4, package: ...")
    'Open MPI 4.1.4'
    """
    first = version.split("\n")[0].strip("\0 ")
    found = re.match(r"(.*?)(?: Version:)?[\s,]+v?(\d[\w.]*)", first)
    return f"{found[1]} {found[2]}" if found else first


def make(comm: Communicator) -> MPILibrary:
    """For `refcoll judge mpi`, on the ranks of ``comm``."""
    try:
        mpi = import_module("mpi4py.MPI")
    except (ImportError, RuntimeError) as error:
        raise ArgumentError(
            f"implementation='mpi' needs mpi4py: {error}; pip install 'refcoll[mpi]'"
        ) from error
    if comm.size != mpi.COMM_WORLD.size:
        raise ArgumentError(
            f"implementation='mpi' has the {mpi.COMM_WORLD.size} ranks that mpirun started, not "
            f"{comm.size}: start the same command by mpirun -n {comm.size}"
        )
    return MPILibrary(mpi.COMM_WORLD)
