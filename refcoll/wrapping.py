"""A transport that stands before another and, as it is, changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from refcoll.transport import Bytes, Exchange, Incoming, Outgoing, Transport


class Wrapper(Transport):
    """Passes everything on to ``inner``; derive from it and override what you want to change."""

    def __init__(self, inner: Transport) -> None:
        self.inner = inner
        self.name, self.rank, self.size = inner.name, inner.rank, inner.size
        self.nodes, self.threads, self.arrays = inner.nodes, inner.threads, inner.arrays

    @property
    def doing(self) -> Callable[[], str]:
        return self.inner.doing

    @doing.setter
    def doing(self, said: Callable[[], str]) -> None:
        self.inner.doing = said

    def prepare(
        self, sends: Sequence[Outgoing], receives: Sequence[Incoming], channel: int
    ) -> Exchange:
        return self.inner.prepare(sends, receives, channel)

    def segment_bytes(self, peer: int) -> int | None:
        return self.inner.segment_bytes(peer)

    def empty(self, nbytes: int) -> Bytes:
        return self.inner.empty(nbytes)

    def subgroup(self, ranks: Sequence[int], channel: int) -> Transport:
        return self.inner.subgroup(ranks, channel)

    def unclaimed(self, channel: int) -> int:
        return self.inner.unclaimed(channel)

    def abort(self, reason: str, culprit: int | None = None) -> None:
        self.inner.abort(reason, culprit)

    def close(self) -> None:
        self.inner.close()
