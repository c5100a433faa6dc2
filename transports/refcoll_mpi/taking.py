"""A receive from a lane: what an inlet brings, lent where it lies or landed in a view."""

from __future__ import annotations

from typing import Any

from refcoll.transport import BYTE, Lent, TransportError
from refcoll_mpi.lanes import LENT, octets
from refcoll_mpi.receiving import Inlet
from refcoll_mpi.telling import coming
from refcoll_mpi.waiting import Until

_SMALL = 4096
"""Bytes up to which a message is copied out of its place, not lent."""


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
        source: int,
    ) -> None:
        self.inlet, self.nbytes, self.wanted = inlet, nbytes, wanted
        self.dtype, self.until, self.source = dtype, until, source
        self.result: Lent | None = view
        """What a message that lands is returned as: its view."""
        if view is None and nbytes <= _SMALL:  # cheaper to copy than to lend
            view = BYTE.type(0).repeat(nbytes)
            self.result = view.view(dtype)
        self.view = view
        self.received = nbytes
        """Bytes that came: others are an error."""
        short = nbytes <= inlet.place_bytes
        self._tag = wanted | nbytes if short else -1
        self._pieces = inlet.pieces(nbytes) if short else []
        self._arrays = inlet.arrays(nbytes, dtype) if short else []
        self._octets = None if view is None else octets(view)
        self._number = 0
        """Of the message that is lent; 0 if none is."""
        self._borrowed: dict[int, Lent] = {}
        self._whole, self._done = view, 0
        """Where a message is put together, and how much of it is there."""

    @property
    def parts(self) -> int:
        """In how many places it comes, if it is not lent."""
        return max(1, -(-self.nbytes // self.inlet.place_bytes))

    def wait(self, timeout: float) -> Lent:
        """Wait for it; what it brought."""
        inlet = self.inlet
        words, number_at, mask, looks = inlet.words, inlet.number_at, inlet.mask, inlet.looks
        while True:
            number = inlet.received + 1
            if words[number_at[number & mask]] == number or inlet.aside:
                with inlet.lock:
                    came = self._next()
                if came is not None:
                    return came
            looks -= 1
            if looks < 0:
                self.until(self._something, timeout, self.awaited, self.source)
            elif inlet.pause is not None:
                inlet.pause()

    def give_back(self) -> None:
        """What was lent is done with."""
        if self._number:
            inlet = self.inlet
            with inlet.lock:
                number, self._number = self._number, 0
                if number:  # or another thread has, which abandons it
                    inlet.lent.remove(number)
                    inlet.settle()

    def awaited(self) -> str:
        """What it waits for, in words."""
        return coming(self.nbytes)

    def _something(self) -> bool:
        return self.wanted in self.inlet.aside or self.inlet.arrived()

    def _next(self) -> Lent | None:
        """What has come, with the lock held: this message, a part of it, or another's."""
        inlet = self.inlet
        if inlet.aside and self.wanted in inlet.aside:
            return self._from_aside()
        words, number = inlet.words, inlet.received + 1
        place = number & inlet.mask
        if words[inlet.number_at[place]] != number:
            return None
        if inlet.fence is not None:
            inlet.fence()
        tag = words[inlet.tag_at[place]]
        if tag == self._tag:
            if self._octets is None:
                return self._lend(number, self._arrays[place])
            self._octets[:] = self._pieces[place]
            inlet.received = number
            inlet.settle()
            return self.result
        if tag == self.wanted | self.nbytes | LENT:
            return self._lend(number, self._borrow(words[inlet.also_at[place]]))
        if inlet.key(place) != self.wanted:
            inlet.put_aside()
            return None
        nbytes, data = inlet.content(place)
        inlet.received = number
        came = self._assemble(nbytes, data)
        inlet.settle()
        return came

    def _lend(self, number: int, data: Lent) -> Lent:
        """The data where it lies, or landed in the view."""
        self.inlet.received = number
        if self.view is None or self.result is None:
            self.inlet.lent.append(number)
            self._number = number
            return data
        self.view[:] = data
        self.inlet.settle()
        return self.result

    def _borrow(self, at: int) -> Lent:
        """From the sender's heap."""
        found = self._borrowed.get(at)
        if found is None:
            assert self.inlet.heap is not None
            dtype = self.dtype if self.view is None else BYTE
            found = self._borrowed[at] = self.inlet.heap.array(at, self.nbytes, dtype)
        return found

    def _from_aside(self) -> Lent | None:
        waiting = self.inlet.aside[self.wanted]
        came = waiting.popleft()
        if not waiting:
            del self.inlet.aside[self.wanted]
        return self._assemble(*came)

    def _assemble(self, nbytes: int, data: Lent) -> Lent | None:
        """Add a part; the whole message once it is there."""
        if nbytes != self.nbytes:
            raise TransportError(
                f"expected {self.nbytes} bytes from rank {self.source}, which sent {nbytes}",
                culprit=self.source,
            )
        if self._whole is None:
            self._whole = BYTE.type(0).repeat(nbytes)  # aligned for any dtype
        self._whole[self._done : self._done + data.size] = data
        self._done += data.size
        if self._done < nbytes:
            return None
        self._done = 0
        return self._whole.view(self.dtype) if self.result is None else self.result
