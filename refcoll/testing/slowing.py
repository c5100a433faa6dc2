"""A transport whose messages take time, as on a slow link, while the processor is free."""

from __future__ import annotations

import time
from collections.abc import Sequence

from refcoll.errors import ArgumentError
from refcoll.transport import Exchange, Incoming, Lent, Outgoing, Transport
from refcoll.wrapping import Wrapper


class Slowed(Wrapper):
    """``inner`` behind a link of ``latency`` seconds and ``rate`` bytes a second.

    A message takes at least latency + bytes/rate from when its receiver has started the
    exchange, and those that a rank receives share its link, one after another.  The receiver
    sleeps: what else the process does goes on.
    """

    def __init__(self, inner: Transport, latency: float = 0.0, rate: float = float("inf")) -> None:
        if not (latency >= 0 and rate > 0):
            raise ArgumentError(f"latency={latency}, rate={rate}: use 0 or more s, and bytes/s")
        super().__init__(inner)
        self.latency, self.rate = latency, rate
        self.free = 0.0
        """When the link will have delivered all that it has taken on."""

    def prepare(
        self, sends: Sequence[Outgoing], receives: Sequence[Incoming], channel: int
    ) -> Exchange:
        """The inner exchange, slowed down whenever it runs."""
        return _SlowExchange(self, self.inner.prepare(sends, receives, channel))

    def segment_bytes(self, peer: int) -> int | None:
        """Whole messages: each piece would have to wake its receiver, on cores that compute."""
        return None

    def subgroup(self, ranks: Sequence[int], channel: int) -> Transport:
        """As slow, with a link of its own."""
        return Slowed(self.inner.subgroup(ranks, channel), self.latency, self.rate)


class _SlowExchange(Exchange):
    def __init__(self, slowed: Slowed, inner: Exchange) -> None:
        self._slowed, self._inner = slowed, inner
        self._started = 0.0

    def start(self) -> None:
        self._started = time.monotonic()
        self._inner.start()

    def wait(self, index: int, timeout: float) -> Lent:
        data = self._inner.wait(index, timeout)
        slowed = self._slowed
        begin = max(self._started, slowed.free)
        slowed.free = begin + self._inner.received(index) / slowed.rate
        time.sleep(max(0.0, slowed.free + slowed.latency - time.monotonic()))
        return data

    def received(self, index: int) -> int:
        return self._inner.received(index)

    def release(self, timeout: float) -> None:
        self._inner.release(timeout)
