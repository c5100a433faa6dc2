"""The receiver's end of a lane: see ``lanes``, and ``sending`` on threads."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from threading import Lock

from refcoll.transport import BYTE, Lent
from refcoll_mpi.lanes import (
    LENT,
    PLACES,
    SIZE,
    SIZE_BITS,
    Fence,
    Lane,
    Memory,
    Readable,
    context_of,
)


class Inlet(Lane):
    """The receiver's end."""

    def __init__(
        self,
        memory: Memory,
        start: int,
        place_bytes: int,
        heap: Readable | None = None,
        fence: Fence = None,
        looks: int = 0,
        pause: Callable[[], object] | None = None,
        places: int = PLACES,
    ) -> None:
        """``heap`` is the sender's; ``looks`` says how often to look, and do ``pause``, before
        ``until``."""
        super().__init__(memory, start, place_bytes, fence, places)
        self.heap, self.looks, self.pause = heap, looks, pause
        self.lock = Lock()
        self.received = 0
        self.taken = 0
        """What we have told the sender."""
        self.lent: list[int] = []
        """Numbers of messages that are being used where they lie."""
        self.aside: dict[int, deque[tuple[int, Lent]]] = {}
        """(bytes of the whole message, data) by key; no empty ones."""

    def arrived(self) -> bool:
        """Whether there is a next message."""
        number = self.received + 1
        return bool(self.words[self.number_at[number & self.mask]] == number)

    def settle(self) -> None:
        """Tell the sender what is done with: all before the first that is still used.

        This, and what follows, with the lock held.
        """
        done = min(self.lent) - 1 if self.lent else self.received
        if done > self.taken:
            if self.fence is not None:
                self.fence()
            self.words[self.taken_at] = self.taken = done

    def put_aside(self) -> None:
        """Copy the next message, which has arrived, for whoever asks for it later."""
        if self.fence is not None:
            self.fence()
        place = (self.received + 1) & self.mask
        nbytes, data = self.content(place)
        self.aside.setdefault(self.key(place), deque()).append((nbytes, data.copy()))
        self.received += 1
        self.settle()

    def drain(self, wanted: int = -1, parts: int = 0) -> None:
        """Put aside what has arrived: all, or until so many with a key lie there."""
        with self.lock:
            while self.arrived():
                if wanted >= 0 and len(self.aside.get(wanted, ())) >= parts:
                    break
                self.put_aside()

    def forget(self, context: int) -> None:
        """Drop what lies aside for a communicator that is no more."""
        with self.lock:
            for each in [each for each in self.aside if context_of(each) == context]:
                del self.aside[each]

    def key(self, place: int) -> int:
        """Whose message lies in a place."""
        tag: int = self.words[self.tag_at[place]]
        return tag >> (SIZE_BITS + 1) << (SIZE_BITS + 1)

    def content(self, place: int) -> tuple[int, Lent]:
        """What lies in a place: bytes of the whole message, and its data or a part of it."""
        tag = self.words[self.tag_at[place]]
        nbytes = tag & SIZE
        if tag & LENT:
            assert self.heap is not None
            return nbytes, self.heap.array(self.words[self.also_at[place]], nbytes, BYTE)
        part = self.words[self.also_at[place]] if nbytes > self.place_bytes else nbytes
        return nbytes, self.memory.array(self.data[place], part, BYTE)
