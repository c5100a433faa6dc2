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

from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

from refcoll.transport import BYTE, Lent, TransportError
from refcoll_mpi.waiting import Until

PLACES = 4
"""A power of two."""
_MASK = PLACES - 1
LINE = 128
"""Bytes that processors pass around at once, two cache lines: what has two writers is apart."""
_HEADER = 64
_SIZE_BITS = 36
_SIZE = (1 << _SIZE_BITS) - 1
LENT = 1 << _SIZE_BITS
CHANNELS = 1 << 15
CONTEXTS = 1 << 12
Fence = Callable[[], object] | None
"""Orders this process's accesses to memory, or None where the processor keeps their order."""


def key(context: int, channel: int) -> int:
    """The part of a tag that says which communicator's and channel's a message is."""
    return (context << 15 | channel % CHANNELS) << (_SIZE_BITS + 1)


def lane_bytes(place_bytes: int) -> int:
    """How much memory a lane takes whose messages hold up to ``place_bytes``."""
    return LINE + PLACES * (_HEADER + place_bytes)


def octets(view: Lent) -> memoryview:
    """An array's bytes, in place."""
    return memoryview(view).cast("B")  # type: ignore[arg-type]


class Memory(Protocol):
    """What a lane needs of memory; bytes are counted from its start."""

    words: Any
    """64-bit words, read and written whole."""

    def piece(self, start: int, nbytes: int) -> Any:
        """Some of its bytes, to be written by ``piece[:] = octets``."""

    def array(self, start: int, nbytes: int, dtype: Any) -> Lent:
        """Some of its bytes as an array."""


class _Lane:
    """Where the words of a lane lie, for both ends."""

    def __init__(self, memory: Memory, start: int, place_bytes: int, fence: Fence) -> None:
        self.memory, self.words, self.fence = memory, memory.words, fence
        self.place_bytes = place_bytes
        self.taken_at = start // 8
        headers = [start + LINE + i * (_HEADER + place_bytes) for i in range(PLACES)]
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


class Outlet(_Lane):
    """The sender's end."""

    def __init__(self, memory: Memory, start: int, place_bytes: int, fence: Fence = None) -> None:
        super().__init__(memory, start, place_bytes, fence)
        self.sent = 0
        self.taken = 0
        """As far as we have looked."""
        self.held: deque[tuple[Post, Any]] = deque()
        """What found no free place, with the bytes to send."""

    def room(self) -> bool:
        """Whether a place is free."""
        if self.sent - self.taken < PLACES:
            return True
        self.taken = self.words[self.taken_at]
        if self.fence is not None:
            self.fence()
        return self.sent - self.taken < PLACES

    def push(self) -> None:
        """Put what is held into places that have become free."""
        while self.held and self.room():
            post, octets = self.held.popleft()
            post.put(octets)

    def is_taken(self, number: int) -> bool:
        """Whether the receiver has done with message ``number``."""
        if self.taken < number:
            self.taken = self.words[self.taken_at]
        return self.taken >= number


class Post:
    """One message, ready to be sent again and again."""

    def __init__(
        self, outlet: Outlet, octets: Any, nbytes: int, tag: int, changes: bool, at: int | None
    ) -> None:
        """``octets`` are its bytes, at most a place's; ``nbytes`` those of the whole message;
        ``at`` says where they lie in the sender's heap, if they do."""
        self.outlet, self.octets, self.changes, self.at = outlet, octets, changes, at
        self.tag = tag | nbytes | (0 if at is None else LENT)
        self.number = 0
        """Of the message last put; 0 while it is held."""
        self.pieces = [] if at is not None else outlet.pieces(len(octets))
        part = len(octets) if nbytes > outlet.place_bytes else None
        self.also = part if at is None else at

    def start(self) -> None:
        """Send it, or see to it that it is sent when there is room."""
        outlet = self.outlet
        if outlet.held or not outlet.room():
            self.number = 0
            outlet.held.append((self, bytes(self.octets) if self.changes else self.octets))
        else:
            self.put(self.octets)

    def put(self, octets: Any) -> None:
        """Send it: there is room."""
        outlet = self.outlet
        words, fence = outlet.words, outlet.fence
        self.number = outlet.sent = number = outlet.sent + 1
        place = number & _MASK
        if self.at is None:
            self.pieces[place][:] = octets
        if self.also is not None:
            words[outlet.also_at[place]] = self.also
        words[outlet.tag_at[place]] = self.tag
        if fence is not None:
            fence()
        words[outlet.number_at[place]] = number

    def done(self) -> bool:
        """Whether the sent bytes may be written again."""
        return self.number > 0 and (self.at is None or self.outlet.is_taken(self.number))


class Inlet(_Lane):
    """The receiver's end."""

    def __init__(
        self,
        memory: Memory,
        start: int,
        place_bytes: int,
        heap: Memory | None = None,
        fence: Fence = None,
        looks: int = 0,
        pause: Callable[[], object] | None = None,
    ) -> None:
        """``heap`` is the sender's; ``looks`` says how often to look, and do ``pause``, before
        ``until``."""
        super().__init__(memory, start, place_bytes, fence)
        self.heap, self.looks, self.pause = heap, looks, pause
        self.received = 0
        self.taken = 0
        """What we have told the sender."""
        self.aside: dict[int, deque[tuple[int, Lent]]] = {}
        """(bytes of the whole message, data) by key; no empty ones."""

    def give_back(self) -> None:
        """Tell the sender that all that was received is done with."""
        if self.fence is not None:
            self.fence()
        self.words[self.taken_at] = self.taken = self.received

    def await_next(self, until: Until, timeout: float, awaited: Callable[[], str]) -> int:
        """Wait for the next message; its place."""
        if self.taken != self.received:
            self.give_back()
        words, number = self.words, self.received + 1
        place = number & _MASK
        at, looks, pause = self.number_at[place], self.looks, self.pause
        while words[at] != number:
            looks -= 1
            if looks < 0:
                until(lambda: bool(words[at] == number), timeout, awaited)
                break
            if pause is not None:
                pause()
        if self.fence is not None:
            self.fence()
        return place

    def fetch(
        self, wanted: int, until: Until, timeout: float, awaited: Callable[[], str]
    ) -> tuple[int, Lent]:
        """The next message with the key ``wanted``, or the next part of it: (bytes, data)."""
        while True:
            aside = self.aside.get(wanted)
            if aside:
                came = aside.popleft()
                if not aside:
                    del self.aside[wanted]
                return came
            place = self.await_next(until, timeout, awaited)
            nbytes, data = self._content(place)
            found = self._key(place)
            self.received += 1
            if found == wanted:
                return nbytes, data
            self._put_aside(found, nbytes, data)

    def drain(self) -> None:
        """Put aside all that has arrived."""
        while self.words[self.number_at[(self.received + 1) & _MASK]] == self.received + 1:
            if self.fence is not None:
                self.fence()
            place = (self.received + 1) & _MASK
            found, (nbytes, data) = self._key(place), self._content(place)
            self.received += 1
            self._put_aside(found, nbytes, data)

    def _put_aside(self, found: int, nbytes: int, data: Lent) -> None:
        self.aside.setdefault(found, deque()).append((nbytes, data.copy()))
        self.give_back()

    def _key(self, place: int) -> int:
        tag: int = self.words[self.tag_at[place]]
        return tag >> (_SIZE_BITS + 1) << (_SIZE_BITS + 1)

    def _content(self, place: int) -> tuple[int, Lent]:
        """What lies in a place: bytes of the whole message, and its data or a part of it."""
        tag = self.words[self.tag_at[place]]
        nbytes = tag & _SIZE
        if tag & LENT:
            assert self.heap is not None
            return nbytes, self.heap.array(self.words[self.also_at[place]], nbytes, BYTE)
        part = self.words[self.also_at[place]] if nbytes > self.place_bytes else nbytes
        return nbytes, self.memory.array(self.data[place], part, BYTE)


class Take:
    """One receive, ready to be waited for again and again.

    The data is lent, or lands in ``view``.  The ways from the straight one: the message was
    put aside, lies in the sender's heap, is longer than a place, or is another one.
    """

    def __init__(
        self,
        inlet: Inlet,
        nbytes: int,
        wanted: int,
        view: Lent | None,
        dtype: Any,
        until: Until,
        who: str,
    ) -> None:
        self.inlet, self.nbytes, self.wanted, self.view = inlet, nbytes, wanted, view
        self.dtype, self.until, self.who = dtype, until, who
        short = nbytes <= inlet.place_bytes
        self.received = nbytes
        """Bytes that came: others are an error."""
        self.tag = wanted | nbytes if short else -1
        self.pieces = inlet.pieces(nbytes) if short else []
        self.arrays = inlet.arrays(nbytes, dtype) if short else []
        self.octets = None if view is None else octets(view)
        self._lent: dict[int, Lent] = {}
        self._whole: Lent | None = None

    def wait(self, timeout: float) -> Lent:
        """Wait for it; what it brought."""
        inlet = self.inlet
        if inlet.aside:
            return self._fetch(timeout)
        place = inlet.await_next(self.until, timeout, self.awaited)
        tag = inlet.words[inlet.tag_at[place]]
        if tag == self.tag:
            inlet.received += 1
            if self.octets is None:
                return self.arrays[place]
            self.octets[:] = self.pieces[place]
            inlet.give_back()
            assert self.view is not None
            return self.view
        if tag == self.wanted | self.nbytes | LENT:
            inlet.received += 1
            return self._borrow(inlet.words[inlet.also_at[place]])
        return self._fetch(timeout)

    def awaited(self) -> str:
        """What it waits for, in words."""
        return f"{self.nbytes} bytes from {self.who}"

    def _borrow(self, at: int) -> Lent:
        """From the sender's heap."""
        found = self._lent.get(at)
        if found is None:
            assert self.inlet.heap is not None
            dtype = self.dtype if self.view is None else BYTE
            found = self._lent[at] = self.inlet.heap.array(at, self.nbytes, dtype)
        if self.view is None:
            return found
        self.view[:] = found
        self.inlet.give_back()
        return self.view

    def _fetch(self, timeout: float) -> Lent:
        """Piece by piece, whether in places or put aside."""
        done, whole = 0, self._landing()
        while True:
            nbytes, data = self.inlet.fetch(self.wanted, self.until, timeout, self.awaited)
            if nbytes != self.nbytes:
                raise TransportError(
                    f"expected {self.nbytes} bytes from {self.who}, which sent {nbytes}"
                )
            whole[done : done + data.size] = data
            done += data.size
            if done >= nbytes:
                self.inlet.give_back()
                return whole.view(self.dtype) if self.view is None else whole

    def _landing(self) -> Lent:
        """Memory for the whole message, with alignment for any dtype."""
        if self.view is not None:
            return self.view
        if self._whole is None:
            self._whole = BYTE.type(0).repeat(self.nbytes)
        return self._whole
