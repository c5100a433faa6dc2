"""Device pointers, handed to an MPI that can read and write device memory."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from refcoll.transport import Incoming, Outgoing
from refcoll_cupy.pointers import DeviceBytes
from refcoll_cupy.ways import Part, parts
from refcoll_mpi.driver import MPI
from refcoll_mpi.messages import Irecv, Isend

if TYPE_CHECKING:
    from refcoll_cupy.arrays import DeviceArrays

MOST = 1 << 30
"""Bytes of one message: more than 2^31 - 1 in one fails on Open MPI 5."""


class Direct:
    """Messages go from device memory to device memory."""

    name = "direct"

    def __init__(self, arrays: DeviceArrays, comm: MPI.Intracomm, most: int = MOST) -> None:
        self._runtime, self._comm, self._most = arrays.runtime, comm, most

    def order(self) -> None:
        """MPI knows nothing of streams: what it sends must be there before it is asked to send,
        and what it receives into must have been read by everything that is queued."""
        self._runtime.current().synchronize()

    def outlet(self, to: int, messages: Sequence[Part], tag: int) -> Outlet:
        """See Way."""
        return Outlet([
            Isend(self._comm, Outgoing(self._bytes(part), to), tag)
            for part in self._cut(messages)
        ])  # fmt: skip

    def inlet(self, source: int, messages: Sequence[Part], tag: int) -> Inlet:
        """See Way."""
        cut = list(self._cut(messages))
        irecvs = [
            Irecv(self._comm, Incoming(part.view.nbytes, source, self._bytes(part)), tag)
            for part in cut
        ]
        return Inlet(cut, irecvs)

    def _cut(self, messages: Sequence[Part]) -> chain[Part]:
        return chain.from_iterable(parts(each.message, each.view, self._most) for each in messages)

    def _bytes(self, part: Part) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
        """What MPI is given.  For no bytes, which have no address on a device, none of those."""
        if part.view.nbytes == 0:
            return np.empty(0, np.uint8)
        return DeviceBytes(self._runtime, part.view)  # type: ignore[return-value]


class Outlet:
    """Parts to one rank, all in flight at once."""

    def __init__(self, isends: Sequence[Isend]) -> None:
        self._isends, self._open = isends, list[Isend]()

    def start(self) -> None:
        """See Lane."""
        for isend in self._isends:
            isend.start()
        self._open = list(self._isends)

    def progress(self) -> None:
        """See Lane."""
        self._open = [isend for isend in self._open if not isend.done()]

    def done(self, message: int | None = None) -> bool:
        """See Lane."""
        return not self._open

    def abandon(self) -> None:
        """See Lane: what is sent is read, and nothing lands."""


class Inlet:
    """Parts from one rank, all in flight at once."""

    def __init__(self, cut: Sequence[Part], irecvs: Sequence[Irecv]) -> None:
        self._pairs = list(zip(cut, irecvs, strict=True))
        self._open = list(self._pairs)

    def start(self) -> None:
        """See Lane."""
        for _, irecv in self._pairs:
            irecv.start()
        self._open = list(self._pairs)

    def progress(self) -> None:
        """See Lane."""
        self._open = [pair for pair in self._open if not pair[1].done()]

    def done(self, message: int | None = None) -> bool:
        """See Lane."""
        return not any(message in (None, part.message) for part, _ in self._open)

    def follow(self, message: int) -> None:
        """See Inlet: it is there."""

    def received(self, message: int) -> int:
        """See Inlet."""
        return sum(irecv.received for part, irecv in self._pairs if part.message == message)

    def abandon(self) -> None:
        """See Lane."""
        for _, irecv in self._pairs:
            irecv.cancel()
