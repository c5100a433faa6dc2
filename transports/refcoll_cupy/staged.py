"""Messages through pinned host memory, for an MPI that knows nothing of devices.

    device --copy--> pinned --MPI--> pinned --copy--> device

Two parts of each lane are under way at a time, so that the copy of one overlaps with the
message of the other.  Copies have streams of their own, apart from merges, and nobody waits
for one while there is something else to see to.  MPI is given host memory only, and nothing
here reads or writes device memory but by copies of the device's.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence
from contextlib import suppress
from itertools import chain
from typing import TYPE_CHECKING

from refcoll.transport import Incoming, Outgoing
from refcoll_cupy.pinned import LARGEST, Piece, Pool
from refcoll_cupy.runtime import Event
from refcoll_cupy.ways import Part, parts
from refcoll_mpi.driver import MPI
from refcoll_mpi.messages import Irecv, Isend

if TYPE_CHECKING:
    from refcoll_cupy.arrays import DeviceArrays

AT_ONCE = 2
"""Parts of a lane under way."""


class Staged:
    """Messages are copied to the host, sent, and copied to the device."""

    name = "staged"

    def __init__(self, arrays: DeviceArrays, comm: MPI.Intracomm, most: int = LARGEST) -> None:
        """``most`` bytes go in one part, at most LARGEST."""
        self.runtime, self.comm, self.most = arrays.runtime, comm, most
        self.pool = Pool(arrays.runtime)
        self.down, self.up = arrays.side_stream(), arrays.side_stream()
        """On which parts are copied to the host, and to the device."""

    def order(self) -> None:
        """Copies follow what is queued: it may write what is sent, and read what lies where
        something is to land."""
        queued = self.runtime.record(self.runtime.current())
        self.down.wait_event(queued)
        self.up.wait_event(queued)

    def outlet(self, to: int, messages: Sequence[Part], tag: int) -> Outlet:
        """See Way."""
        return Outlet(self, to, self._cut(messages), tag)

    def inlet(self, source: int, messages: Sequence[Part], tag: int) -> Inlet:
        """See Way."""
        return Inlet(self, source, self._cut(messages), tag)

    def _cut(self, messages: Sequence[Part]) -> list[Part]:
        cut = (parts(each.message, each.view, self.most) for each in messages)
        return list(chain.from_iterable(cut))


class Outlet:
    """Parts to one rank."""

    def __init__(self, way: Staged, to: int, cut: Sequence[Part], tag: int) -> None:
        self._way, self._to, self._parts, self._tag = way, to, cut, tag
        self._longest, self._next = _longest(cut), len(cut)
        self._copied: deque[tuple[Event, Piece, int]] = deque()
        """Copies that are queued: the moment of their end, where to, and bytes."""
        self._sent: deque[tuple[Isend, Piece]] = deque()

    def start(self) -> None:
        """See Lane.  Copies are queued; ``progress`` sends."""
        self._next = 0
        for _ in self._parts[:AT_ONCE]:
            self._copy(self._way.pool.take(self._longest))

    def progress(self) -> None:
        """See Lane.  What is copied is sent, and makes room for the next copy once it has gone."""
        while self._copied and self._copied[0][0].done:
            _, piece, nbytes = self._copied.popleft()
            self._send(piece, nbytes)
        while self._sent and self._sent[0][0].done():
            _, piece = self._sent.popleft()
            if self._next < len(self._parts):
                self._copy(piece)
            else:
                self._way.pool.give_back(piece)

    def done(self, message: int | None = None) -> bool:
        """See Lane."""
        return not self._sent and not self._copied and self._next == len(self._parts)

    def abandon(self) -> None:
        """See Lane.  What is copied is sent all the same: a rank that waits for it learns what is
        wrong from what comes, sooner than from silence."""
        copies, self._copied = list(self._copied), deque()  # once, however often it is abandoned
        for copied, piece, nbytes in copies:
            with suppress(Exception):  # the first error is what is told
                copied.synchronize()
                self._send(piece, nbytes)

    def _copy(self, piece: Piece) -> None:
        """Queue the next part's copy to the host."""
        view = self._parts[self._next].view
        self._next += 1
        with self._way.down as stream:
            piece.follow(stream)
            self._way.runtime.download(piece.octets[: view.nbytes], view)
            self._copied.append((self._way.runtime.record(stream), piece, view.nbytes))

    def _send(self, piece: Piece, nbytes: int) -> None:
        message = Outgoing(piece.octets[:nbytes], self._to)
        isend = Isend(self._way.comm, message, self._tag)
        isend.start()
        self._sent.append((isend, piece))


class Inlet:
    """Parts from one rank."""

    def __init__(self, way: Staged, source: int, cut: Sequence[Part], tag: int) -> None:
        self._way, self._source, self._parts, self._tag = way, source, cut, tag
        self._whole = Counter(part.message for part in cut)
        self._landed: Counter[int] = Counter()
        """Parts that have come, by message: their copies to the device are queued."""
        self._last: dict[int, Event] = {}
        """Behind the last of those copies, by message."""
        self._bytes: Counter[int] = Counter()
        self._longest, self._next = _longest(cut), len(cut)
        self._pieces: deque[Piece] = deque()
        """For what is awaited next, once the device has read them."""
        self._awaited: deque[tuple[Irecv, Piece, Part]] = deque()

    def start(self) -> None:
        """See Lane."""
        self._next = 0
        self._landed.clear()
        self._bytes.clear()
        self._pieces.extend(self._way.pool.take(self._longest) for _ in self._parts[:AT_ONCE])
        self._await_more()

    def progress(self) -> None:
        """See Lane."""
        while self._awaited and self._awaited[0][0].done():
            irecv, piece, part = self._awaited.popleft()
            self._bytes[part.message] += irecv.received
            self._land(piece, part)
            self._pieces.append(piece)
        self._await_more()

    def done(self, message: int | None = None) -> bool:
        """See Lane."""
        if message is None:
            return not self._awaited and self._next == len(self._parts)
        return self._landed[message] == self._whole[message]

    def follow(self, message: int) -> None:
        """See Inlet."""
        self._way.runtime.current().wait_event(self._last[message])

    def received(self, message: int) -> int:
        """See Inlet."""
        return self._bytes[message]

    def abandon(self) -> None:
        """See Lane."""
        for irecv, _, _ in list(self._awaited):  # another thread may be at work with it
            irecv.cancel()

    def _land(self, piece: Piece, part: Part) -> None:
        """Queue a part's copy to the device."""
        with self._way.up as stream:
            self._way.runtime.upload(part.view, piece.octets[: part.view.nbytes])
            piece.read = self._last[part.message] = self._way.runtime.record(stream)
        self._landed[part.message] += 1

    def _await_more(self) -> None:
        """Receive further parts, in pieces that are free; those that are left go back."""
        while self._next < len(self._parts) and self._pieces and self._pieces[0].free():
            self._await(self._pieces.popleft())
        while self._next == len(self._parts) and self._pieces:
            self._way.pool.give_back(self._pieces.popleft())

    def _await(self, piece: Piece) -> None:
        part = self._parts[self._next]
        self._next += 1
        message = Incoming(part.view.nbytes, self._source, piece.octets[: part.view.nbytes])
        irecv = Irecv(self._way.comm, message, self._tag)
        irecv.start()
        self._awaited.append((irecv, piece, part))


def _longest(cut: Sequence[Part]) -> int:
    """Bytes that a piece of pinned memory must have room for: any of the parts may go there."""
    return max(int(part.view.nbytes) for part in cut)
