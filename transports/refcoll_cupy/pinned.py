"""Pinned host memory, through which messages are staged: few pieces, used again and again."""

from __future__ import annotations

from refcoll.transport import Bytes
from refcoll_cupy.runtime import Event, Runtime, Stream

LARGEST = 4 << 20
"""Bytes of a piece.  Copies of so much run at the full speed of the bus; two pieces for each
message are in flight, so more would only take longer to begin."""
SMALLEST = 4 << 10
MOST = 64
"""Pieces of one size that are kept."""


class Piece:
    """Some pinned bytes."""

    def __init__(self, octets: Bytes) -> None:
        self.octets = octets
        self.read: Event | None = None
        """Behind the last copy from here to a device: what comes next may overwrite it then."""

    def free(self) -> bool:
        """Whether MPI may write here: the device has read what was here."""
        if self.read is not None and self.read.done:
            self.read = None
        return self.read is None

    def follow(self, stream: Stream) -> None:
        """What is queued on ``stream`` from now on may write here."""
        if self.read is not None:
            stream.wait_event(self.read)


class Pool:
    """Pieces that are in nobody's hands, by size."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._free: dict[int, list[Piece]] = {}

    def take(self, nbytes: int) -> Piece:
        """A piece of at least so many bytes, at most LARGEST.  A device may still read it."""
        size = min(LARGEST, max(SMALLEST, 1 << (nbytes - 1).bit_length() if nbytes else 1))
        kept = self._free.get(size)
        return kept.pop() if kept else Piece(self._runtime.pinned(size))

    def give_back(self, piece: Piece) -> None:
        """Nobody but the device uses it any more."""
        kept = self._free.setdefault(piece.octets.nbytes, [])
        if len(kept) < MOST:
            kept.append(piece)
        else:
            if piece.read is not None:  # before its memory goes
                piece.read.synchronize()
