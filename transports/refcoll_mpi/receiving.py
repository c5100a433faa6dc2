"""The receiver's end of a lane: see ``lanes``."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from refcoll.transport import BYTE, Lent, TransportError
from refcoll_mpi.lanes import LENT, PLACES, SIZE, SIZE_BITS, Fence, Lane, Memory, octets
from refcoll_mpi.waiting import Until


class Inlet(Lane):
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
        places: int = PLACES,
    ) -> None:
        """``heap`` is the sender's; ``looks`` says how often to look, and do ``pause``, before
        ``until``."""
        super().__init__(memory, start, place_bytes, fence, places)
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
        place = number & self.mask
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
        while self.words[self.number_at[(self.received + 1) & self.mask]] == self.received + 1:
            if self.fence is not None:
                self.fence()
            place = (self.received + 1) & self.mask
            found, (nbytes, data) = self._key(place), self._content(place)
            self.received += 1
            self._put_aside(found, nbytes, data)

    def _put_aside(self, found: int, nbytes: int, data: Lent) -> None:
        self.aside.setdefault(found, deque()).append((nbytes, data.copy()))
        self.give_back()

    def _key(self, place: int) -> int:
        tag: int = self.words[self.tag_at[place]]
        return tag >> (SIZE_BITS + 1) << (SIZE_BITS + 1)

    def _content(self, place: int) -> tuple[int, Lent]:
        """What lies in a place: bytes of the whole message, and its data or a part of it."""
        tag = self.words[self.tag_at[place]]
        nbytes = tag & SIZE
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
