"""The in-process transport: N ranks as threads that lend one another their memory.

On a device too (``arrays``): then letters also carry moments, of what was queued before they
were sent and before they were marked as taken, and nobody waits for those but the device.

A send puts a letter into the receiver's mailbox: a view of the sender's bytes.  The receiver
copies from it, or reads it where it lies, and marks it as taken; the sender's release waits
for that.  Nothing is buffered, so whoever relies on buffering hangs here, up to the deadline;
but while a rank waits for one receive of an exchange, it copies what has come for the later
ones, so that their senders can go on.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from refcoll.transport import (
    ABOVE,
    HOST,
    Arrays,
    Bytes,
    DeadlineError,
    Incoming,
    Known,
    Lent,
    Outgoing,
    PeerFailedError,
    Standing,
    Transport,
    TransportError,
    culprit,
    filled,
    idle,
    named,
    silent,
)


def _name(rank: int) -> str:
    return named(rank) if rank >= 0 else "a rank that is not of this communicator"


@dataclass(eq=False)
class _Letter:
    view: Bytes
    sender: _Desk
    sent: Any
    """The moment (``Arrays.mark``) from which its bytes are there."""
    taken: bool = False
    done: Any = None
    """The moment from which its bytes are no longer needed, once it is taken."""


@dataclass(frozen=True, eq=False)
class _Wait:
    """What a rank waits for."""

    end: InProcess
    peers: Callable[[], list[int]]
    awaited: Callable[[], str]

    def standing(self) -> Standing:
        return Standing(self.end.doing(), tuple(self.peers()), self.awaited())

    def said(self) -> str:
        return filled(self.awaited(), self.peers())


@dataclass(eq=False)
class _Desk:
    """Where one rank gets its letters; ``bell`` rings for new ones and for taken ones."""

    waits: list[_Wait]
    """What the rank waits for, in this world and in others; one list for all its desks."""

    bell: threading.Condition = field(default_factory=threading.Condition)
    letters: dict[tuple[int, int], deque[_Letter]] = field(default_factory=dict)
    """By (source, channel); no empty ones."""
    gave_up: _Wait | None = None
    """For what the rank waited in vain."""
    gone: bool = False
    """Whether the rank has left: it will neither send nor take anything more."""

    def take(self, key: tuple[int, int]) -> _Letter:
        """The first of the letters under ``key``."""
        with self.bell:
            letter = self.letters[key].popleft()
            if not self.letters[key]:
                del self.letters[key]
        return letter


class World:
    """What the ranks of one in-process group share."""

    def __init__(
        self,
        size: int,
        nodes: tuple[tuple[int, ...], ...] | None = None,
        waits: Sequence[list[_Wait]] | None = None,
        arrays: Sequence[Arrays] | None = None,
    ) -> None:
        """``arrays`` has each rank's; numpy's by default."""
        self.size = size
        self.arrays = arrays or [HOST] * size
        self.nodes = nodes or (tuple(range(size)),)
        self.desks = [_Desk(each) for each in waits or [[] for _ in range(size)]]
        self.failure: str | None = None
        self.culprit: int | None = None
        self._open = size
        self._forget: Callable[[], object] = lambda: None
        self._subworlds: dict[tuple[int, tuple[int, ...]], World] = {}
        self._lock = threading.Lock()

    def transport(self, rank: int) -> InProcess:
        """The end of ``rank``."""
        return InProcess(self, rank)

    def subworld(self, ranks: tuple[int, ...], channel: int) -> World:
        """The world of some of the ranks: the first to ask makes it."""
        with self._lock:
            key = (channel, ranks)
            if key not in self._subworlds:
                inner = (tuple(ranks.index(r) for r in node if r in ranks) for node in self.nodes)
                waits = [self.desks[rank].waits for rank in ranks]
                arrays = [self.arrays[rank] for rank in ranks]
                world = World(len(ranks), tuple(node for node in inner if node), waits, arrays)
                if self.failure is not None:
                    world.fail(*self._seen_from(ranks))
                for desk, rank in zip(world.desks, ranks, strict=True):
                    desk.gone = self.desks[rank].gone
                world._forget = lambda: self._drop(key)
                self._subworlds[key] = world
            return self._subworlds[key]

    def close(self) -> None:
        """Be forgotten, once every rank of a part has closed its end."""
        with self._lock:
            self._open -= 1
            last = self._open == 0
        if last:
            self._forget()

    def _drop(self, key: tuple[int, tuple[int, ...]]) -> None:
        with self._lock:  # others may be going through the parts
            del self._subworlds[key]

    def leave(self, rank: int) -> None:
        """Note that ``rank`` has ended, so that nobody waits for it."""
        with self._lock:
            self.desks[rank].gone = True
            inner = [(world, ranks) for (_, ranks), world in self._subworlds.items()]
        self._wake()
        for world, ranks in inner:
            if rank in ranks:
                world.leave(ranks.index(rank))

    def fail(self, reason: str, guilty: int | None = None) -> None:
        """Wake everyone who waits, for nothing."""
        with self._lock:
            if self.failure is None:
                self.failure, self.culprit = reason, guilty
            inner = [(world, ranks) for (_, ranks), world in self._subworlds.items()]
        self._wake()
        for world, ranks in inner:
            world.fail(*self._seen_from(ranks))

    def _seen_from(self, ranks: tuple[int, ...]) -> tuple[str, int | None]:
        """The failure, as a part with these ranks is told of it."""
        guilty = ranks.index(self.culprit) if self.culprit in ranks else None
        return f"{ABOVE}{str(self.failure).removeprefix(ABOVE)}", guilty

    def known(self, asking: int) -> Known:
        """What can be told of the other ranks to one that has waited too long."""
        others = [rank for rank in range(self.size) if rank != asking]
        return {rank: self._matter(self.desks[rank]) for rank in others}

    def _matter(self, desk: _Desk) -> Standing | str:
        """What is the matter with a rank."""
        waits = list(desk.waits)
        here = next((wait for wait in waits if wait.end.world is self), desk.gave_up)
        if desk.gone:
            return "has ended"
        if here is not None:
            return here.standing()
        return (
            self._elsewhere(waits[0]) if waits else silent("busy elsewhere, and waits for nobody")
        )

    def _elsewhere(self, wait: _Wait) -> Standing:
        """A wait in another world, with the ranks that are awaited numbered as here."""
        people = [wait.end.world.desks[peer].waits for peer in wait.peers()]
        here = [id(desk.waits) for desk in self.desks]
        numbers = (here.index(id(each)) if id(each) in here else -1 for each in people)
        return replace(wait.standing(), awaits=tuple(numbers), elsewhere=True)

    def _wake(self) -> None:
        for desk in self.desks:
            with desk.bell:
                desk.bell.notify_all()


class InProcess(Transport):
    """One rank's end of a World."""

    name = "in-process"
    threads = True

    def __init__(self, world: World, rank: int) -> None:
        self.world = world
        self.rank = rank
        self.doing = idle
        self.size = world.size
        self.nodes = world.nodes
        self.arrays = world.arrays[rank]

    def prepare(
        self, sends: Sequence[Outgoing], receives: Sequence[Incoming], channel: int
    ) -> _Exchange:
        return _Exchange(self, sends, receives, channel)

    def segment_bytes(self, peer: int) -> int | None:
        return None

    def empty(self, nbytes: int) -> Bytes:
        return self.arrays.scratch(nbytes)

    def subgroup(self, ranks: Sequence[int], channel: int) -> InProcess:
        world = self.world.subworld(tuple(ranks), channel)
        return world.transport(ranks.index(self.rank))

    def unclaimed(self, channel: int) -> int:
        desk = self.world.desks[self.rank]
        with desk.bell:
            return sum(len(desk.letters[key]) for key in list(desk.letters) if key[1] == channel)

    def abort(self, reason: str, culprit: int | None = None) -> None:
        self.world.fail(reason, culprit)

    def close(self) -> None:
        self.world.close()


class _Exchange:
    def __init__(
        self,
        end: InProcess,
        sends: Sequence[Outgoing],
        receives: Sequence[Incoming],
        channel: int,
    ) -> None:
        self._end, self._world, self._rank, self._channel = end, end.world, end.rank, channel
        self._sends, self._receives = tuple(sends), tuple(receives)
        self._desk = end.world.desks[end.rank]
        self._arrays: Arrays = end.arrays if channel else HOST
        self._at = 0
        """The receive that is waited for; those behind it are open too."""
        self._posted: list[_Letter] = []
        self._arrived: list[_Letter] = []

    def start(self) -> None:
        views = [send.view.copy() if send.changes else send.view for send in self._sends]
        sent = self._arrays.mark() if views else None
        self._posted = [_Letter(view, self._desk, sent) for view in views]
        self._arrived = []
        for send, letter in zip(self._sends, self._posted, strict=True):
            desk = self._world.desks[send.to]
            with desk.bell:
                desk.letters.setdefault((self._rank, self._channel), deque()).append(letter)
                desk.bell.notify_all()

    def wait(self, index: int, timeout: float) -> Lent:
        self._at = index
        receive = self._receives[index]
        key = (receive.source, self._channel)
        self._wait_for(
            lambda: key in self._desk.letters,
            lambda: [receive.source],
            lambda: f"{receive.nbytes} bytes from {{}}",
            timeout,
        )
        letter = self._desk.take(key)
        self._arrived.append(letter)
        if letter.view.nbytes != receive.nbytes:
            raise TransportError(
                f"rank {self._rank} expected {receive.nbytes} bytes from rank "
                f"{receive.source}, which sent {letter.view.nbytes}",
                culprit=receive.source,
            )
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
        self._wait_for(
            lambda: all(letter.taken for letter in self._posted),
            self._not_taken,
            self._sent,
            timeout,
        )
        for letter in self._posted:
            self._arrays.after(letter.done)

    def _take(self, letter: _Letter) -> None:
        if not letter.taken:
            letter.done = self._arrays.mark()
            with letter.sender.bell:
                letter.taken = True
                letter.sender.bell.notify_all()

    def _not_taken(self) -> list[int]:
        pairs = zip(self._sends, self._posted, strict=True)
        return sorted({send.to for send, letter in pairs if not letter.taken})

    def _sent(self) -> str:
        nbytes = sum(send.view.nbytes for send in self._sends)
        return f"{{}} to receive {nbytes} bytes that were sent"

    def _wait_for(
        self,
        condition: Callable[[], bool],
        peers: Callable[[], list[int]],
        awaited: Callable[[], str],
        timeout: float,
    ) -> None:
        wait = _Wait(self._end, peers, awaited)
        self._desk.waits.append(wait)
        try:
            self._wait_until(condition, wait, timeout)
        except TransportError:
            self._desk.gave_up = wait  # others may ask why we do not go on
            raise
        finally:
            self._desk.waits.remove(wait)

    def _wait_until(self, condition: Callable[[], bool], wait: _Wait, timeout: float) -> None:
        started = time.monotonic()
        while True:
            with self._desk.bell:
                if condition():
                    return
                if self._world.failure is not None:
                    meanwhile = f"meanwhile rank {self._rank} waited for {wait.said()}"
                    raise PeerFailedError(self._world.failure, meanwhile, self._world.culprit)
                gone = [peer for peer in wait.peers() if self._world.desks[peer].gone]
                if gone:
                    said = f"rank {self._rank} waited for {wait.said()}"
                    raise PeerFailedError(said, f"rank {gone[0]} has ended", gone[0])
                waited = time.monotonic() - started
                if waited >= timeout:
                    raise self._late(wait, waited)
                early = self._early()
                if not early:
                    self._desk.bell.wait(timeout - waited)
            for letter in early:
                self._arrays.after(letter.sent)
                letter.view = letter.view.copy()
                self._take(letter)

    def _late(self, wait: _Wait, waited: float) -> DeadlineError:
        known = self._world.known(self._rank)
        guilty, way = culprit(self._rank, wait.standing(), known, _name)
        said = f"rank {self._rank} waited {waited:.1f} s for {wait.said()}"
        return DeadlineError(said, way, guilty)

    def _early(self) -> list[_Letter]:
        """What has come for receives behind the one that is waited for."""
        open_ones = Counter(receive.source for receive in self._receives[self._at + 1 :])
        return [
            letter
            for source, many in open_ones.items()
            if source != self._receives[self._at].source
            for letter in islice(self._desk.letters.get((source, self._channel), ()), many)
            if not letter.taken
        ]
