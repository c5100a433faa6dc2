"""Single messages over MPI: to and from ranks on other nodes, or everywhere if so wished.

They are started, and asked whether they are done; it is their exchange that waits.
"""

from __future__ import annotations

import numpy as np
from mpi4py import MPI

from refcoll.transport import Incoming, Lent, Outgoing, TransportError


class Isend:
    """One message, ready to be sent again and again; its specification is resolved once."""

    def __init__(self, comm: MPI.Intracomm, message: Outgoing, tag: int) -> None:
        self._comm, self._to, self._tag = comm, message.to, tag
        self._view = message.view
        self._kept = np.empty_like(message.view) if message.changes else None
        sent = message.view if self._kept is None else self._kept
        self._spec = [sent, sent.nbytes, MPI.BYTE]
        self._request = MPI.REQUEST_NULL

    def start(self) -> None:
        """Put it in flight.  Raises TransportError."""
        if self._kept is not None:
            self._kept[:] = self._view
        try:
            self._request = self._comm.Isend(self._spec, self._to, self._tag)
        except MPI.Exception as error:
            raise self._failed(error) from error

    def done(self) -> bool:
        """Whether what was sent may be written again.  Raises TransportError."""
        try:
            return self._request.Test()
        except MPI.Exception as error:
            raise self._failed(error) from error

    def _failed(self, error: MPI.Exception) -> TransportError:
        return _translated(error, f"sending to rank {self._to}")


class Irecv:
    """One receive, ready to be started again and again."""

    def __init__(self, comm: MPI.Intracomm, message: Incoming, tag: int) -> None:
        self._comm, self._tag = comm, tag
        self.nbytes, self.source = message.nbytes, message.source
        landing = np.empty(message.nbytes, np.uint8) if message.view is None else message.view
        self._spec = [landing, message.nbytes, MPI.BYTE]
        self.data: Lent = landing.view(message.dtype) if message.view is None else landing
        """What it brings."""
        self._request, self._cancelled = MPI.REQUEST_NULL, False
        self._status = MPI.Status()
        self.received = 0
        """Bytes, as MPI counts them."""

    def start(self) -> None:
        """Post it.  Raises TransportError."""
        self._cancelled = False
        try:
            self._request = self._comm.Irecv(self._spec, self.source, self._tag)
        except MPI.Exception as error:
            raise self._failed(error) from error

    def done(self) -> bool:
        """Whether it has come.  Raises TransportError where it is of another size."""
        request, status = self._request, self._status
        if request == MPI.REQUEST_NULL:
            return not self._cancelled
        try:
            if not request.Test(status) or self._cancelled:
                return False
        except MPI.Exception as error:
            if error.Get_error_class() != MPI.ERR_TRUNCATE:
                raise self._failed(error) from error
            raise self._wrong_size("more") from error
        self.received = status.Get_count(MPI.BYTE)
        if self.received != self.nbytes:
            raise self._wrong_size(str(self.received))
        return True

    def cancel(self) -> None:
        """Let nothing more land.  Who waits for it, in another thread, will learn why."""
        if self._request != MPI.REQUEST_NULL:
            self._cancelled = True
            self._request.Cancel()

    def _wrong_size(self, sent: str) -> TransportError:
        return TransportError(
            f"rank {self._comm.rank} expected {self.nbytes} bytes from rank {self.source}, "
            f"which sent {sent}",
            culprit=self.source,
        )

    def _failed(self, error: MPI.Exception) -> TransportError:
        return _translated(error, f"receiving from rank {self.source}")


def _translated(error: MPI.Exception, doing: str) -> TransportError:
    return TransportError(f"MPI failed {doing}: {error.Get_error_string()}")
