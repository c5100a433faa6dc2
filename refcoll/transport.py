"""The contract of a transport: what carries messages between ranks.

One primitive: *prepare* the sends and receives of a step into an exchange, then, any number
of times, *start* it, *wait* for what comes in, and *release* it.

    exchange = transport.prepare(sends, receives, channel)
    exchange.start()
    for i in range(len(receives)):
        data = exchange.wait(i, timeout)       # Copy: now in its view.  Reduce: lent as data
    exchange.release(timeout)                  # sent views are mine again

A transport
  - **must** deliver the k-th message sent a -> b on a channel to the k-th receive at b from
    a on that channel, whole and unchanged; different channels must not mix.
  - **must** accept a receive before its send and a send before its receive, and must move
    all messages of an exchange side by side: every rank may start its exchange first and
    wait afterwards, and while it waits for one message the others' senders get rid of theirs.
  - **must not** be assumed to buffer: ``start`` returns at once, but ``release`` may wait
    until the receivers have *their* data.
  - **must** treat messages of no bytes like any others.
  - **must** send what a view marked ``changes`` held when the exchange started: the caller
    may write it at once.
  - **must** raise TransportError where a message has another size than its receive, naming
    what was expected; DeadlineError where a wait lasts longer than its timeout, naming the
    peer, the bytes and, as ``culprit``, the rank for which it waits in the end (``standing``
    finds it); PeerFailedError where a rank is known to be gone, or has called ``abort``, also
    in the middle of a wait.  After any of these the exchange, and messages under way, are
    undefined, and only ``abort`` need still work.
  - **should** find out, of ranks that wait, what they are ``doing``, to tell those that wait
    for them.
  - **may** lend the sender's own memory as the data of a receive without a view.

The caller
  - **must not** touch sent views, or views received into, from ``start`` until ``release``
    has returned, except that it may write what it sends with ``changes``.
  - **must not** use lent data after its next call of the transport or of an exchange: what
    is lent may be one of few places that messages pass through.  It must never write it.
  - **must** wait for every receive once, in order, before it releases, and release before it
    starts the exchange again.
  - **must not** call it from two threads at once; if ``threads`` says so, it may be called
    from one after another.

Views are contiguous one-dimensional arrays of bytes (uint8); lent data has the dtype that
its receive asks for.  Where they lie on a device (``Transport.arrays``), what the caller and
the transport do with them is queued on the calling thread's current stream, and "may be
written", "is there" and the like are said of what is queued from then on.

Timeouts are seconds.  ``refcoll.testing.conformance`` checks this on any transport, as far as
that goes without a rank that dies.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np

from refcoll.arrays import HOST, Arrays
from refcoll.errors import (
    ArgumentError,
    DeadlineError,
    PeerFailedError,
    PoisonedError,
    RefcollError,
    TransportError,
)
from refcoll.launching import launched_size, launcher
from refcoll.operators import Array, Merge, Operator, is_builtin, kind
from refcoll.standing import ABOVE, Known, Standing, culprit, filled, named, silent
from refcoll.words import described

Bytes: TypeAlias = np.ndarray[Any, np.dtype[np.uint8]]
Lent: TypeAlias = np.ndarray[Any, np.dtype[Any]]
BYTE = np.dtype(np.uint8)


@dataclass(frozen=True, eq=False)
class Outgoing:
    """A message to send: these bytes to that rank."""

    view: Bytes
    to: int
    changes: bool = False
    """Whether the caller may write the view as soon as the exchange has started."""


@dataclass(frozen=True, eq=False)
class Incoming:
    """A message to receive: so many bytes from that rank, into ``view`` or, if None, lent."""

    nbytes: int
    source: int
    view: Bytes | None = None
    dtype: np.dtype[Any] = BYTE
    """Of what is lent."""


class Exchange(Protocol):
    """Prepared sends and receives, which can be started again and again."""

    def start(self) -> None:
        """Put all sends and receives in flight.  Does not wait."""

    def wait(self, index: int, timeout: float) -> Lent:
        """Wait for receive ``index``; what it brought, lent or in its view."""

    def received(self, index: int) -> int:
        """How many bytes receive ``index`` really brought, as the transport below counts."""

    def release(self, timeout: float) -> None:
        """Give lent data back, and wait until the sent views may be written again.

        No single wait in it lasts longer than ``timeout``.
        """


class Transport(Protocol):
    """One rank's end of what connects ``size`` ranks."""

    name: str
    rank: int
    size: int
    nodes: tuple[tuple[int, ...], ...]
    """Which ranks share a node: each rank once, the same on every rank."""
    threads: bool
    """Whether several threads may use the transport, one after another."""
    arrays: Arrays = HOST
    """Whose arrays views are.  All but those of channel 0, the handshake's: numpy's always.

    A class that does not inherit from this one says ``arrays = HOST`` itself.
    """
    doing: Callable[[], str]
    """What this rank is about, in words: ``idle`` until the caller sets it.  Asked only in need."""

    def prepare(
        self, sends: Sequence[Outgoing], receives: Sequence[Incoming], channel: int
    ) -> Exchange:
        """An exchange, not yet started.  A rank never sends to itself."""

    def segment_bytes(self, peer: int) -> int | None:
        """Cut longer messages to or from ``peer`` into parts of so many bytes, so that
        merging one overlaps with receiving the next; None where that does not pay.

        The same on both ranks.
        """

    def empty(self, nbytes: int) -> Bytes:
        """Uninitialised memory that the transport moves best."""

    def subgroup(self, ranks: Sequence[int], channel: int) -> Transport:
        """A transport among ``ranks``, in that order; called by all of them and no other.

        Its messages never mix with those of this one.  ``channel`` is the same on all ranks
        and names this call.
        """

    def unclaimed(self, channel: int) -> int:
        """Messages that have arrived on ``channel`` and that no receive has asked for.

        A transport that can only tell whether there are any may answer 1.
        """

    def abort(self, reason: str, culprit: int | None = None) -> None:
        """Make all ranks' waits raise PeerFailedError with ``reason`` and ``culprit``, as far
        as they can be reached.

        Only the first counts.  It reaches subgroups too, but not what this is a subgroup of.
        """

    def close(self) -> None:
        """Free what the transport holds.  Does not wait for other ranks."""


def slot(channel: int, slots: int) -> int:
    """One of few numbers for a channel, where messages have no room for more: 0, which is the
    handshake's, keeps its own, and the others take turns: they are used one after another."""
    return 1 + (channel - 1) % (slots - 1) if channel else 0


def idle() -> str:
    """What a rank does that has not said."""
    return "no call"


__all__ = [
    "ABOVE",
    "BYTE",
    "HOST",
    "ArgumentError",
    "Array",
    "Arrays",
    "Bytes",
    "DeadlineError",
    "Exchange",
    "Incoming",
    "Known",
    "Lent",
    "Merge",
    "Operator",
    "Outgoing",
    "PeerFailedError",
    "PoisonedError",
    "RefcollError",
    "Standing",
    "Transport",
    "TransportError",
    "culprit",
    "described",
    "filled",
    "idle",
    "is_builtin",
    "kind",
    "launched_size",
    "launcher",
    "named",
    "silent",
    "slot",
]
