"""The sender's end of a lane: see ``lanes``.

Communicators may be at work in several threads of a process, and all of them use its lanes:
a lock is held while an end is changed, and never while anybody waits.
"""

from __future__ import annotations

from collections import deque
from threading import Lock
from typing import Any

from refcoll_mpi.lanes import LENT, PLACES, Fence, Lane, Memory


class Outlet(Lane):
    """The sender's end."""

    def __init__(
        self,
        memory: Memory,
        start: int,
        place_bytes: int,
        fence: Fence = None,
        places: int = PLACES,
    ) -> None:
        super().__init__(memory, start, place_bytes, fence, places)
        self.lock = Lock()
        self.sent = 0
        self.taken = 0
        """As far as we have looked."""
        self.held: deque[tuple[Post, Any]] = deque()
        """What found no free place, with the bytes to send."""

    def room(self) -> bool:
        """Whether a place is free."""
        if self.sent - self.taken < self.places:
            return True
        self.taken = self.words[self.taken_at]
        if self.fence is not None:
            self.fence()
        return self.sent - self.taken < self.places

    def push(self) -> None:
        """Put what is held into places that have become free."""
        with self.lock:
            while self.held and self.room():
                post, octets = self.held.popleft()
                post.put(octets)

    def forget(self, posts: set[Post]) -> None:
        """Do not send these, if they are held."""
        with self.lock:
            self.held = deque(each for each in self.held if each[0] not in posts)

    def is_taken(self, number: int) -> bool:
        """Whether the receiver has done with message ``number``."""
        if self.taken < number:
            self.taken = self.words[self.taken_at]
            if self.fence is not None:
                self.fence()
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
        with outlet.lock:
            if outlet.held or not outlet.room():
                self.number = 0
                outlet.held.append((self, bytes(self.octets) if self.changes else self.octets))
            else:
                self.put(self.octets)

    def put(self, octets: Any) -> None:
        """Send it: there is room, and the lock is held."""
        outlet = self.outlet
        words, fence = outlet.words, outlet.fence
        self.number = outlet.sent = number = outlet.sent + 1
        place = number & outlet.mask
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
