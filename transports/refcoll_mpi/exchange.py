"""One step's messages, each by the way that leads to its peer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING
from weakref import ref

from refcoll.transport import Bytes, Incoming, Lent, Outgoing, TransportError
from refcoll_mpi import ending, heap
from refcoll_mpi.lanes import SIZE, key, octets
from refcoll_mpi.messages import Irecv, Isend
from refcoll_mpi.receiving import Inlet
from refcoll_mpi.sending import Outlet, Post
from refcoll_mpi.taking import Take
from refcoll_mpi.telling import coming, going

if TYPE_CHECKING:
    from refcoll_mpi.transport import MPITransport

_STAGED = 64 << 10
"""Bytes from which what changes is copied into the heap and lent, and can wait there."""


class Exchange:
    """Prepared messages: posts and takes through lanes, sends and receives by MPI."""

    def __init__(
        self,
        end: MPITransport,
        sends: Sequence[Outgoing],
        receives: Sequence[Incoming],
        channel: int,
    ) -> None:
        self._end, self._me = end, ref(self)
        self._views: list[Bytes] = [send.view for send in sends]
        """Kept: a lane knows where a view lies, but does not keep it."""
        self._key, self._tag = key(end.context, channel), channel % end.tags
        self._starts: list[Callable[[], None]] = []
        self._posts: list[tuple[Post, Outgoing]] = []
        self._isends: list[tuple[Isend, Outgoing]] = []
        self._irecvs: list[Irecv] = []
        self._takes = [self._receive(each) for each in receives]
        for each in sends:
            self._send(each)
        self._waits = [
            take.wait if isinstance(take, Take) else partial(self._come, take)
            for take in self._takes
        ]
        self._takes_by_lane = [take if isinstance(take, Take) else None for take in self._takes]
        self._current: Take | None = None
        """The receive waited for last, whose data may be lent."""
        self._outlets = tuple(dict.fromkeys(post.outlet for post, _ in self._posts))
        self._lent = [pair for pair in self._posts if pair[0].at is not None]

    def _receive(self, each: Incoming) -> Take | Irecv:
        inlet = self._end.inlet(each.source)
        if inlet is not None:
            return Take(
                inlet, each.nbytes, self._key, each.view, each.dtype, self._until,
                each.source,
            )  # fmt: skip
        made = Irecv(self._end.comm, each, self._tag)
        self._irecvs.append(made)
        self._starts.append(made.start)
        return made

    def _send(self, each: Outgoing) -> None:
        outlet = self._end.outlet(each.to)
        if outlet is None:
            made = Isend(self._end.comm, each, self._tag)
            self._isends.append((made, each))
            self._starts.append(made.start)
        else:
            self._starts += [post.start for post in self._post(outlet, each)]

    def _post(self, outlet: Outlet, each: Outgoing) -> list[Post]:
        """The message as one that is lent, or in parts that are copied."""
        view, nbytes, changes = each.view, each.view.nbytes, each.changes
        if nbytes > SIZE:
            raise TransportError(f"a message of {nbytes} bytes is too long: at most {SIZE}")
        if changes and nbytes >= _STAGED:
            view = self._staged(view)
            changes = view is each.view
        at = None if changes or nbytes < heap.SMALLEST else self._end.offset(view)
        step = outlet.place_bytes if at is None else nbytes
        whole = octets(view)
        parts = [whole[i : i + step] for i in range(0, max(1, nbytes), max(1, step))]
        posts = [Post(outlet, part, nbytes, self._key, changes, at) for part in parts]
        self._posts += [(post, each) for post in posts]
        return posts

    def _staged(self, view: Bytes) -> Bytes:
        """A copy in the heap, made anew at every start; the view itself if there is no heap."""
        copy = self._end.empty(view.nbytes)
        if self._end.offset(copy) is None:
            return view
        to, source = octets(copy), octets(view)
        self._views.append(copy)

        def stage() -> None:
            to[:] = source

        self._starts.append(stage)
        return copy

    def start(self) -> None:
        """Put all in flight; what finds no room is held, and sent in later waits."""
        self._end.running = self._me
        try:
            for start in self._starts:
                start()
        except BaseException:  # some may be under way
            self.abandon()
            raise

    def wait(self, index: int, timeout: float) -> Lent:
        """Wait for receive ``index``."""
        if self._current is not None:
            self._current.give_back()
        self._current = self._takes_by_lane[index]
        for outlet in self._outlets:
            if outlet.held:
                outlet.push()
        try:
            return self._waits[index](timeout)
        except TransportError:
            self.abandon()
            raise

    def _come(self, irecv: Irecv, timeout: float) -> Lent:
        if not irecv.done():
            self._until(irecv.done, timeout, partial(coming, irecv.nbytes), irecv.source)
        return irecv.data

    def _until(
        self, done: Callable[[], bool], timeout: float, awaited: Callable[[], str], peer: int
    ) -> None:
        self._end.patience.until(done, timeout, awaited, peer, self._make_room)

    def _make_room(self) -> None:
        """While this rank waits for long: take what has come for its other receives.

        Their senders may be what it waits for, and they may wait for it to take theirs.
        """
        index = 0 if self._current is None else self._takes.index(self._current) + 1
        parts: dict[Inlet, int] = {}
        for take in self._takes[index:]:
            if isinstance(take, Take):
                parts[take.inlet] = parts.get(take.inlet, 0) + take.parts
        for inlet, limit in parts.items():
            if self._current is None or inlet is not self._current.inlet:
                inlet.drain(self._key, limit)

    def received(self, index: int) -> int:
        """Bytes that receive ``index`` brought."""
        return self._takes[index].received

    def release(self, timeout: float) -> None:
        """Give back what is lent, and wait for what was sent."""
        if self._current is not None:
            self._current.give_back()
        for outlet in self._outlets:
            if outlet.held:
                return self._settle([*self._posts, *self._isends], timeout)
        if self._lent:
            self._settle(self._lent, timeout)
        if self._isends:
            self._settle(self._isends, timeout)
        return None

    def _settle(self, messages: Sequence[tuple[Post | Isend, Outgoing]], timeout: float) -> None:
        try:
            for message, sent in messages:
                if not message.done():
                    awaited = partial(going, sent.view.nbytes)
                    self._until(message.done, timeout, awaited, sent.to)
        except TransportError:
            self.abandon()
            raise

    def abandon(self) -> None:
        """After a failure: what is still under way must not meet freed or reused memory, nor
        stand in the way of other communicators.

        Receives are cancelled, and all memory of it is kept.  (The caller's own arrays are the
        caller's: see docs/communicator.md.)
        """
        ending.keep(self)
        if self._current is not None:
            self._current.give_back()
        for outlet in self._outlets:
            outlet.forget({post for post, _ in self._posts})
        for irecv in self._irecvs:
            irecv.cancel()
