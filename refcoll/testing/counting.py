"""A wrapper that counts what really crosses a transport.

Bytes are counted where they arrive, as the transport below reports them, so that a claim
about an algorithm can be compared with what happened, not with what was intended.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from refcoll.transport import Exchange, Incoming, Lent, Outgoing, Transport
from refcoll.wrapping import Wrapper


@dataclass
class Traffic:
    """What one rank has sent, received and done so far."""

    steps: int = 0
    """Exchanges started, each of which holds a message to or from another rank."""
    messages_sent: int = 0
    messages_received: int = 0
    sent_bytes: int = 0
    received_from: Counter[int] = field(default_factory=Counter)
    """Bytes that arrived, by the rank that sent them."""

    @property
    def received_bytes(self) -> int:
        """All bytes that arrived."""
        return self.received_from.total()


class Counting(Wrapper):
    """``inner``, counting; ``traffic`` is the sum since the last ``take``."""

    def __init__(self, inner: Transport) -> None:
        super().__init__(inner)
        self.traffic = Traffic()

    def take(self) -> Traffic:
        """The traffic so far; counting starts again from zero."""
        taken, self.traffic = self.traffic, Traffic()
        return taken

    def prepare(
        self, sends: Sequence[Outgoing], receives: Sequence[Incoming], channel: int
    ) -> Exchange:
        """The inner exchange, counted whenever it runs."""
        inner = self.inner.prepare(sends, receives, channel)
        return _CountedExchange(self, inner, sends, receives)

    def subgroup(self, ranks: Sequence[int], channel: int) -> Transport:
        """A counting transport of its own."""
        return Counting(self.inner.subgroup(ranks, channel))


class _CountedExchange(Exchange):
    def __init__(
        self,
        counting: Counting,
        inner: Exchange,
        sends: Sequence[Outgoing],
        receives: Sequence[Incoming],
    ) -> None:
        self._counting, self._inner = counting, inner
        self._sends, self._receives = sends, receives

    def start(self) -> None:
        traffic = self._counting.traffic
        traffic.steps += 1
        traffic.messages_sent += len(self._sends)
        traffic.sent_bytes += sum(send.view.nbytes for send in self._sends)
        self._inner.start()

    def wait(self, index: int, timeout: float) -> Lent:
        data = self._inner.wait(index, timeout)
        traffic = self._counting.traffic
        traffic.messages_received += 1
        traffic.received_from[self._receives[index].source] += self._inner.received(index)
        return data

    def received(self, index: int) -> int:
        return self._inner.received(index)

    def release(self, timeout: float) -> None:
        self._inner.release(timeout)
