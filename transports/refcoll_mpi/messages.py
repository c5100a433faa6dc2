"""Single messages over MPI: to and from ranks on other nodes, or everywhere if so wished."""

from __future__ import annotations

import numpy as np
from mpi4py import MPI

from refcoll.transport import Incoming, Lent, Outgoing, TransportError
from refcoll_mpi.waiting import Until


class Isend:
    """One message, ready to be sent again and again; its specification is resolved once."""

    def __init__(self, comm: MPI.Intracomm, message: Outgoing, tag: int, until: Until) -> None:
        self._comm, self._to, self._tag, self._until = comm, message.to, tag, until
        self._view = message.view
        self._kept = np.empty_like(message.view) if message.changes else None
        sent = message.view if self._kept is None else self._kept
        self._spec = [sent, sent.nbytes, MPI.BYTE]
        self._request = MPI.REQUEST_NULL

    def start(self) -> None:
        """Put it in flight."""
        if self._kept is not None:
            self._kept[:] = self._view
        self._request = self._comm.Isend(self._spec, self._to, self._tag)

    def finish(self, timeout: float) -> None:
        """Wait until what was sent may be written again."""
        if not self.done():
            self._until(self.done, timeout, self._awaited, self._to)

    def done(self) -> bool:
        """Whether it may be."""
        try:
            return self._request.Test()
        except MPI.Exception as error:
            raise _translated(error, f"sending to rank {self._to}") from error

    def _awaited(self) -> str:
        return f"{{}} to receive {self._spec[1]} bytes"


class Irecv:
    """One receive, ready to be started again and again."""

    def __init__(self, comm: MPI.Intracomm, message: Incoming, tag: int, until: Until) -> None:
        self._comm, self._source, self._tag, self._until = comm, message.source, tag, until
        self.nbytes = message.nbytes
        landing = np.empty(message.nbytes, np.uint8) if message.view is None else message.view
        self._spec = [landing, message.nbytes, MPI.BYTE]
        self._data = landing.view(message.dtype) if message.view is None else landing
        self._request = MPI.REQUEST_NULL
        self._status = MPI.Status()
        self.received = 0
        """Bytes, as MPI counts them."""

    def start(self) -> None:
        """Post it."""
        self._request = self._comm.Irecv(self._spec, self._source, self._tag)

    def wait(self, timeout: float) -> Lent:
        """Wait for it; what it brought."""
        if not self.done():
            self._until(self.done, timeout, self._awaited, self._source)
        return self._data

    def done(self) -> bool:
        """Whether it has come.  Raises TransportError where it is of another size."""
        request, status = self._request, self._status
        if request == MPI.REQUEST_NULL:
            return True
        try:
            if not request.Test(status):
                return False
        except MPI.Exception as error:
            if error.Get_error_class() != MPI.ERR_TRUNCATE:
                raise _translated(error, f"receiving from rank {self._source}") from error
            raise self._wrong_size("more") from error
        self.received = status.Get_count(MPI.BYTE)
        if self.received != self.nbytes:
            raise self._wrong_size(str(self.received))
        return True

    def cancel(self) -> None:
        """Let nothing more land."""
        if self._request != MPI.REQUEST_NULL:
            self._request.Cancel()

    def _awaited(self) -> str:
        return f"{self.nbytes} bytes from {{}}"

    def _wrong_size(self, sent: str) -> TransportError:
        return TransportError(
            f"rank {self._comm.rank} expected {self.nbytes} bytes from rank {self._source}, "
            f"which sent {sent}",
            culprit=self._source,
        )


def _translated(error: MPI.Exception, doing: str) -> TransportError:
    return TransportError(f"MPI failed {doing}: {error.Get_error_string()}")
