"""Messages of one exchange, as letters that the receivers take from their desks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import islice

from refcoll.testing.inprocess.desks import Letter
from refcoll.testing.inprocess.waiting import Waiting
from refcoll.testing.inprocess.world import World
from refcoll.transport import (
    HOST,
    Arrays,
    Bytes,
    Exchange,
    Incoming,
    Lent,
    Outgoing,
    TransportError,
)


class LetterExchange(Exchange):
    """The messages that one rank sends and receives together."""

    def __init__(
        self,
        world: World,
        rank: int,
        doing: Callable[[], str],
        sends: Sequence[Outgoing],
        receives: Sequence[Incoming],
        channel: int,
    ) -> None:
        """``doing`` says, when it is asked, during which call the rank waits."""
        self._desks, self._desk = world.desks, world.desks[rank]
        self._rank, self._channel = rank, channel
        self._waiting = Waiting(world, rank, doing, self._early, self._keep)
        self._sends, self._receives = tuple(sends), tuple(receives)
        self._arrays: Arrays = world.arrays[rank] if channel else HOST
        self._kept = [(self._room(send.view), send.view) for send in sends if send.changes]
        """(copy, view) of what the caller may write as soon as it has started."""
        copies = iter(self._kept)
        self._sent = [next(copies)[0] if send.changes else send.view for send in sends]
        self._at = 0
        """The receive that is waited for; those behind it are open too."""
        self._posted: list[Letter] = []
        self._arrived: list[Letter] = []

    def start(self) -> None:
        for copy, view in self._kept:
            self._arrays.copy(copy, view)
        sent = self._arrays.mark() if self._sent else None
        self._posted = [Letter(view, self._desk, sent) for view in self._sent]
        self._arrived = []
        for send, letter in zip(self._sends, self._posted, strict=True):
            self._desks[send.to].put(letter, (self._rank, self._channel))

    def wait(self, index: int, timeout: float) -> Lent:
        self._at = index
        receive = self._receives[index]
        key = (receive.source, self._channel)
        self._waiting.until(
            lambda: key in self._desk.letters,
            lambda: [receive.source],
            lambda: f"{receive.nbytes} bytes from {{}}",
            timeout,
        )
        letter = self._desk.take(key)
        self._arrived.append(letter)
        self._require_size(receive, letter)
        self._arrays.after(letter.sent)
        if receive.view is None:
            return self._arrays.lent(letter.view.view(receive.dtype))
        self._arrays.copy(receive.view, letter.view)
        self._take(letter)
        return receive.view

    def received(self, index: int) -> int:
        return self._arrived[index].view.nbytes

    def release(self, timeout: float) -> None:
        self._at = len(self._receives)
        for letter in self._arrived:
            self._take(letter)
        self._waiting.until(
            lambda: all(letter.taken for letter in self._posted),
            self._not_taken,
            self._awaited,
            timeout,
        )
        for letter in self._posted:
            self._arrays.after(letter.done)

    def _require_size(self, receive: Incoming, letter: Letter) -> None:
        if letter.view.nbytes != receive.nbytes:
            raise TransportError(
                f"rank {self._rank} expected {receive.nbytes} bytes from rank "
                f"{receive.source}, which sent {letter.view.nbytes}",
                culprit=receive.source,
            )

    def _take(self, letter: Letter) -> None:
        if not letter.taken:
            letter.done = self._arrays.mark()
            with letter.sender.bell:
                letter.taken = True
                letter.sender.bell.notify_all()

    def _not_taken(self) -> list[int]:
        pairs = zip(self._sends, self._posted, strict=True)
        return sorted({send.to for send, letter in pairs if not letter.taken})

    def _awaited(self) -> str:
        nbytes = sum(send.view.nbytes for send in self._sends)
        return f"{{}} to receive {nbytes} bytes that were sent"

    def _early(self) -> list[Letter]:
        """What has come for receives behind the one that is waited for."""
        open_ones = Counter(receive.source for receive in self._receives[self._at + 1 :])
        return [
            letter
            for source, many in open_ones.items()
            if source != self._receives[self._at].source
            for letter in islice(self._desk.letters.get((source, self._channel), ()), many)
            if not letter.taken
        ]

    def _keep(self, letter: Letter) -> None:
        """Copy it, so that its sender can go on."""
        self._arrays.after(letter.sent)
        kept = self._room(letter.view)
        self._arrays.copy(kept, letter.view)
        letter.view = kept
        self._take(letter)

    def _room(self, like: Bytes) -> Bytes:
        """Memory for as many bytes; the library's own ``copy`` may have a kernel to compile."""
        return self._arrays.scratch(like.nbytes)
