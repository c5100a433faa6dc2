"""One step's messages of device memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING
from weakref import ref

from refcoll.transport import Incoming, Lent, Outgoing
from refcoll_cupy.runtime import Device
from refcoll_cupy.ways import Inlet, Lane, Part
from refcoll_mpi import ending
from refcoll_mpi.telling import coming, going

if TYPE_CHECKING:
    from refcoll_cupy.transport import CupyTransport


class Exchange:
    """Prepared messages, by lanes: one to each rank, and one from each."""

    def __init__(
        self,
        end: CupyTransport,
        sends: Sequence[Outgoing],
        receives: Sequence[Incoming],
        tag: int,
    ) -> None:
        self._end, self._receives, self._sends = end, tuple(receives), tuple(sends)
        self._me = ref(self)
        self._kept = [(end.arrays.scratch(s.view.nbytes), s.view) for s in sends if s.changes]
        """(copy, view) of what the caller may write as soon as it has started."""
        copies = iter(self._kept)
        sent = [next(copies)[0] if send.changes else send.view for send in sends]
        self._landings: list[Device] = [
            end.arrays.scratch(each.nbytes) if each.view is None else each.view for each in receives
        ]
        self._results: list[Lent] = [
            to if each.view is not None else to.view(each.dtype)
            for to, each in zip(self._landings, receives, strict=True)
        ]
        self._inlets: dict[int, Inlet] = {
            source: end.way.inlet(source, messages, tag)
            for source, messages in _by_peer([r.source for r in receives], self._landings).items()
        }
        outlets = _by_peer([send.to for send in sends], sent)
        self._outlets = {to: end.way.outlet(to, each, tag) for to, each in outlets.items()}
        self._lanes: tuple[Lane, ...] = (*self._inlets.values(), *self._outlets.values())

    def start(self) -> None:
        """Put all in flight.  It may wait for the device, but for no other rank."""
        self._end.host.running = self._me
        self._end.under_way.add(self)
        try:
            self._start()
        except BaseException:  # some may be under way
            self.abandon()
            raise

    def _start(self) -> None:
        for copy, view in self._kept:
            self._end.arrays.copy(copy, view)
        if self._lanes:
            self._end.way.order()
        for lane in self._lanes:
            lane.start()
        for outlet in self._outlets.values():
            outlet.progress()

    def wait(self, index: int, timeout: float) -> Lent:
        """Wait for receive ``index``."""
        receive, inlet = self._receives[index], self._inlets[self._receives[index].source]
        self._until(
            lambda: inlet.done(index),
            timeout,
            partial(coming, receive.nbytes),
            receive.source,
        )
        inlet.follow(index)
        return self._results[index]

    def received(self, index: int) -> int:
        """Bytes that receive ``index`` brought."""
        return self._inlets[self._receives[index].source].received(index)

    def release(self, timeout: float) -> None:
        """Wait for what was sent."""
        for to, outlet in self._outlets.items():
            nbytes = sum(send.view.nbytes for send in self._sends if send.to == to)
            self._until(outlet.done, timeout, partial(going, nbytes), to)
        self._end.under_way.discard(self)

    def progress(self) -> None:
        """Of all lanes: who is waited for may wait for another of ours."""
        try:
            for lane in self._lanes:
                lane.progress()
        except BaseException:  # also of the device's
            self.abandon()
            raise

    def _until(
        self, done: Callable[[], bool], timeout: float, awaited: Callable[[], str], peer: int
    ) -> None:
        def goes_on() -> bool:
            self._end.progress()
            return done()

        try:
            if not goes_on():
                self._end.host.patience.until(goes_on, timeout, awaited, peer)
        except BaseException:  # also of the device's
            self.abandon()
            raise

    def abandon(self) -> None:
        """After a failure: see ``refcoll_mpi.exchange``."""
        ending.keep(self)
        self._end.under_way.discard(self)
        for lane in self._lanes:
            lane.abandon()


def _by_peer(peers: Sequence[int], views: Sequence[Device]) -> dict[int, list[Part]]:
    """The messages to or from each rank, in order."""
    found: dict[int, list[Part]] = {}
    for index, (peer, view) in enumerate(zip(peers, views, strict=True)):
        found.setdefault(peer, []).append(Part(index, view))
    return found
