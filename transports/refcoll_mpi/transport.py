"""refcoll's transport contract, over MPI point-to-point messages."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import mpi4py
import numpy as np

if "mpi4py.MPI" not in sys.modules:
    # Not yet: some pairs of launcher and library end the process when MPI starts.
    mpi4py.rc.initialize, mpi4py.rc.finalize = False, True
from mpi4py import MPI

from refcoll.transport import (
    Bytes,
    DeadlineError,
    Incoming,
    Outgoing,
    Transport,
    TransportError,
)
from refcoll_mpi import ending, native
from refcoll_mpi.launcher import require_right_launcher

SEGMENT_BYTES = 4 << 20
"""Long messages go in parts of this size.  Much shorter parts cost more than they hide."""
_yield: Callable[[], object] = getattr(os, "sched_yield", lambda: time.sleep(0))


def connect(comm: MPI.Intracomm | None = None) -> MPITransport:
    """This process's end of ``comm``, by default COMM_WORLD.  Collective over ``comm``.

    Raises WrongLauncherError if the processes were started by another MPI's mpirun.
    """
    library = MPI.Get_library_version().split("\n")[0].strip("\0 ")
    if not MPI.Is_initialized():
        require_right_launcher(library)
        MPI.Init_thread(MPI.THREAD_MULTIPLE)
    require_right_launcher(library, MPI.COMM_WORLD.size)
    ending.watch()
    return MPITransport((MPI.COMM_WORLD if comm is None else comm).Dup())


class MPITransport(Transport):
    """One process's end of an MPI communicator, which it owns."""

    name = "mpi"
    segment_bytes = SEGMENT_BYTES

    def __init__(self, comm: MPI.Intracomm) -> None:
        comm.Set_errhandler(MPI.ERRORS_RETURN)
        self.comm = comm
        self.rank, self.size = comm.rank, comm.size
        self.nodes = _nodes(comm)
        self.threads = MPI.Query_thread() == MPI.THREAD_MULTIPLE
        self._tags = int(comm.Get_attr(MPI.TAG_UB) or 32767) + 1

    def prepare(
        self, sends: Sequence[Outgoing], receives: Sequence[Incoming], channel: int
    ) -> _Exchange:
        return _Exchange(self.comm, sends, receives, channel % self._tags)

    def empty(self, nbytes: int) -> Bytes:
        return np.empty(nbytes, np.uint8)

    def subgroup(self, ranks: Sequence[int], channel: int) -> MPITransport:
        mine = self.comm.Get_group()
        group = mine.Incl(list(ranks))
        made = self.comm.Create_group(group, channel % self._tags)
        group.Free()
        mine.Free()
        return MPITransport(made)

    def unclaimed(self, channel: int) -> int:
        return int(self.comm.Iprobe(MPI.ANY_SOURCE, channel % self._tags))

    def abort(self, reason: str) -> None:
        """Note that this job cannot end in peace: see ``ending``."""
        ending.fail()

    def native(self, collective: str, x: np.ndarray[Any, Any], out: Any) -> Callable[[], object]:
        """The MPI library's own collective, to be timed beside refcoll's: see ``native``."""
        return native.native(self.comm, collective, x, out)

    def library(self) -> str:
        """What the collectives of ``native`` are called."""
        return native.library()

    def close(self) -> None:
        """Give the communicator back to MPI, unless messages may still be under way on it."""
        if not ending.failed() and self.comm != MPI.COMM_NULL:
            self.comm.Free()


def _nodes(comm: MPI.Intracomm) -> tuple[tuple[int, ...], ...]:
    """Which ranks share memory, as MPI sees it; nodes in order of their first rank."""
    local = comm.Split_type(MPI.COMM_TYPE_SHARED, comm.rank)
    first = np.array([comm.rank], np.int64)
    local.Bcast(first)
    firsts = np.empty(comm.size, np.int64)
    comm.Allgather(first, firsts)
    local.Free()
    return tuple(
        tuple(int(rank) for rank in np.flatnonzero(firsts == each)) for each in np.unique(firsts)
    )


class _Exchange:
    """Messages as non-blocking sends and receives, on buffers resolved once."""

    def __init__(
        self, comm: MPI.Intracomm, sends: Sequence[Outgoing], receives: Sequence[Incoming], tag: int
    ) -> None:
        self._comm, self._tag = comm, tag
        self._incoming = tuple(receives)
        self._landing = [
            np.empty(each.nbytes, np.uint8) if each.view is None else each.view for each in receives
        ]
        self._outgoing = [([send.view, send.view.nbytes, MPI.BYTE], send.to) for send in sends]
        self._landing_specs = [
            ([view, each.nbytes, MPI.BYTE], each.source)
            for each, view in zip(receives, self._landing, strict=True)
        ]
        self._status = MPI.Status()
        self._receives = [MPI.REQUEST_NULL] * len(receives)
        self._sends = [MPI.REQUEST_NULL] * len(sends)
        self._received = [0] * len(receives)

    def start(self) -> None:
        comm, tag = self._comm, self._tag
        for place, (landing, source) in enumerate(self._landing_specs):
            self._receives[place] = comm.Irecv(landing, source, tag)
        for place, (spec, to) in enumerate(self._outgoing):
            self._sends[place] = comm.Isend(spec, to, tag)

    def wait(self, index: int, deadline: float) -> Bytes:
        each = self._incoming[index]
        status = self._status
        try:
            if not self._receives[index].Test(status):
                self._poll(self._receives[index], status, deadline, lambda: (
                    f"{each.nbytes} bytes from rank {each.source}"
                ))  # fmt: skip
        except MPI.Exception as error:
            self._abandon()
            if error.Get_error_class() != MPI.ERR_TRUNCATE:
                raise _translated(error, f"receiving from rank {each.source}") from error
            raise TransportError(
                f"rank {self._comm.rank} expected {each.nbytes} bytes from rank "
                f"{each.source}, which sent more"
            ) from error
        received = status.Get_count(MPI.BYTE)
        self._received[index] = received
        if received != each.nbytes:
            raise TransportError(
                f"rank {self._comm.rank} expected {each.nbytes} bytes from rank "
                f"{each.source}, which sent {received}"
            )
        return self._landing[index]

    def received(self, index: int) -> int:
        return self._received[index]

    def release(self, deadline: float) -> None:
        for place, request in enumerate(self._sends):
            spec, to = self._outgoing[place]
            try:
                if request.Test():
                    continue
                self._poll(request, None, deadline, lambda spec=spec, to=to: (  # type: ignore[misc]
                    f"rank {to} to receive {spec[1]} bytes"
                ))  # fmt: skip
            except MPI.Exception as error:
                self._abandon()
                raise _translated(error, f"sending to rank {to}") from error

    def _poll(
        self,
        request: MPI.Request,
        status: MPI.Status | None,
        deadline: float,
        awaited: Callable[[], str],
    ) -> None:
        """Test until done.  Lets others have the core: ranks may outnumber cores."""
        started = time.monotonic()
        while not request.Test(status):
            now = time.monotonic()
            if now > deadline:
                self._abandon()
                raise DeadlineError(
                    f"rank {self._comm.rank} waited {now - started:.1f} s for {awaited()}"
                )
            _yield()

    def _abandon(self) -> None:
        """After a failure: what is still under way must not meet freed or reused memory.

        Receives are cancelled; the memory that sends and lent receives use is kept to the
        end of the process, in which MPI may still read it.  (The caller's own arrays are the
        caller's: see docs/communicator.md.)
        """
        ending.fail()
        for request in self._receives:
            if request != MPI.REQUEST_NULL:
                request.Cancel()
        _abandoned.append(self)


_abandoned: list[_Exchange] = []


def _translated(error: MPI.Exception, doing: str) -> TransportError:
    return TransportError(f"MPI failed {doing}: {error.Get_error_string()}")
