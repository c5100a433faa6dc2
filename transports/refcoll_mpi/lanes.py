"""A lane: a queue of messages from one process to another, in memory that both can write.

      taken    place 0                 place 1                 ...
    +--------+-----------------------+-----------------------+--
    |   5    | 8 | tag | also | data | 7 | tag | also | data |
    +--------+-----------------------+-----------------------+--
     receiver   sender

Message number k (from 1) goes through place k mod PLACES.  The sender fills the place, and
last of all writes k into it; the receiver waits for k, uses the data where it lies, and
last of all writes k to ``taken``.  The sender does not touch a place before ``taken`` says
that its earlier message is done with.  So each word has one writer, and an order of writes
is all that must hold: the ``fence`` sees to it where the processor does not.

A message that lies in memory that the receiver can map (``heap``) is not copied: the tag
says LENT, and ``also`` where it is; the sender waits for ``taken`` before it touches it
again.  A message longer than a place goes in parts; ``also`` says how long the part is.

One lane serves all communicators and plans of the two processes.  A tag is the whole
meaning of a message: communicator, channel, number of bytes.  What arrives before anybody
waits for it is put aside, so messages of two channels may come in any order.
``tests/mpi/test_lane_model.py`` tries all interleavings of small cases of this very code.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from refcoll.transport import Lent, slot

PLACES = 4
"""A power of two."""
LINE = 128
"""Bytes that processors pass around at once, two cache lines: what has two writers is apart."""
_HEADER = 64
SIZE_BITS = 36
SIZE = (1 << SIZE_BITS) - 1
LENT = 1 << SIZE_BITS
"""The bit of a tag that says that the message lies in the sender's heap."""
_CHANNEL_BITS = 7
CHANNELS = 1 << _CHANNEL_BITS
"""Few are enough: what a communicator does is in order anyhow."""
CONTEXTS = 1 << 20
Fence = Callable[[], object] | None
"""Orders this process's accesses to memory, or None where the processor keeps their order."""


def key(context: int, channel: int) -> int:
    """The part of a tag that says which communicator's and channel's a message is."""
    return (context << _CHANNEL_BITS | slot(channel, CHANNELS)) << (SIZE_BITS + 1)


def context_of(found: int) -> int:
    """The communicator of a key."""
    return found >> (SIZE_BITS + 1 + _CHANNEL_BITS)


def lane_bytes(place_bytes: int) -> int:
    """How much memory a lane takes whose messages hold up to ``place_bytes``."""
    return LINE + PLACES * (_HEADER + place_bytes)


def octets(view: Lent) -> memoryview:
    """An array's bytes, in place."""
    return memoryview(view).cast("B")  # type: ignore[arg-type]


class Readable(Protocol):
    """Memory from which lent messages are read; bytes are counted from its start."""

    def array(self, start: int, nbytes: int, dtype: Any) -> Lent:
        """Some of its bytes as an array."""


class Memory(Readable, Protocol):
    """What a lane needs of its own memory."""

    words: Any
    """64-bit words, read and written whole."""

    def piece(self, start: int, nbytes: int) -> Any:
        """Some of its bytes, to be written by ``piece[:] = octets``."""


class Lane:
    """Where the words of a lane lie, for both ends; ``places`` is a power of two."""

    def __init__(
        self, memory: Memory, start: int, place_bytes: int, fence: Fence, places: int
    ) -> None:
        self.memory, self.words, self.fence = memory, memory.words, fence
        self.place_bytes, self.places, self.mask = place_bytes, places, places - 1
        self.taken_at = start // 8
        headers = [start + LINE + i * (_HEADER + place_bytes) for i in range(places)]
        self.number_at = [header // 8 for header in headers]
        self.tag_at = [header // 8 + 1 for header in headers]
        self.also_at = [header // 8 + 2 for header in headers]
        self.data = [header + _HEADER for header in headers]
        self._pieces: dict[int, list[Any]] = {}
        self._arrays: dict[tuple[int, Any], list[Lent]] = {}

    def pieces(self, nbytes: int) -> list[Any]:
        """The first bytes of each place.  Kept: most messages are of few lengths."""
        if nbytes not in self._pieces:
            _forget(self._pieces)
            self._pieces[nbytes] = [self.memory.piece(start, nbytes) for start in self.data]
        return self._pieces[nbytes]

    def arrays(self, nbytes: int, dtype: Any) -> list[Lent]:
        """The same, as arrays."""
        if (nbytes, dtype) not in self._arrays:
            _forget(self._arrays)
            made = [self.memory.array(start, nbytes, dtype) for start in self.data]
            self._arrays[nbytes, dtype] = made
        return self._arrays[nbytes, dtype]

    def clear(self) -> None:
        """Make it an empty lane.  Before both ends use it."""
        for at in (self.taken_at, *self.number_at):
            self.words[at] = 0


def _forget(kept: dict[Any, Any], most: int = 256) -> None:
    if len(kept) >= most:
        kept.clear()
