"""Messages that carry a checksum: what is changed, lost, repeated or overtaken on its way is
noticed where it arrives, before it is merged into anything.

    +--------+-----+-------+---------------------- - -+
    | number | crc | bytes |  the message             |
    +--------+-----+-------+---------------------- - -+
     8        4     4

The number counts the messages of one channel from one rank to another.  The CRC-32 (of
zlib, ISO 3309) is of all the rest; all but one in 2^32 changes show in it.

It costs a copy and a pass over the bytes at each end, and 16 bytes a message.
"""

from __future__ import annotations

import zlib
from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from refcoll.errors import CorruptionError, DeadlineError, PeerFailedError, TransportError
from refcoll.transport import Bytes, Exchange, Incoming, Lent, Outgoing, Transport, slot
from refcoll.wrapping import Wrapper

HEADER = 16
_HEAD = np.dtype([("number", "<u8"), ("crc", "<u4"), ("nbytes", "<u4")])
_SLOTS = 128
"""Channels that share a slot share a count: a communicator uses them one after another."""


class Checksummed(Wrapper):
    """``inner``, every message with a checksum.  All ranks must have it, or none."""

    def __init__(self, inner: Transport) -> None:
        super().__init__(inner)
        self.sent: defaultdict[tuple[int, int], int] = defaultdict(int)
        self.received: defaultdict[tuple[int, int], int] = defaultdict(int)
        """Messages so far, by peer and slot."""

    def prepare(
        self, sends: Sequence[Outgoing], receives: Sequence[Incoming], channel: int
    ) -> Exchange:
        """The exchange of what carries these messages."""
        return _Exchange(self, sends, receives, channel)

    def segment_bytes(self, peer: int) -> int | None:
        """As inside, less what the checksum takes."""
        whole = self.inner.segment_bytes(peer)
        return whole and max(1, whole - HEADER)

    def subgroup(self, ranks: Sequence[int], channel: int) -> Transport:
        """With checksums too."""
        return Checksummed(self.inner.subgroup(ranks, channel))


class _Frame:
    """One outgoing message, with room for what goes before it."""

    def __init__(self, end: Checksummed, send: Outgoing, shared: int) -> None:
        self._end, self._view, self._key = end, send.view, (send.to, shared)
        self.bytes = end.inner.empty(HEADER + send.view.nbytes)
        self._head = self.bytes[:HEADER].view(_HEAD)

    def fill(self) -> None:
        """With the message as it is now."""
        number = self._end.sent[self._key]
        self._end.sent[self._key] += 1
        self.bytes[HEADER:] = self._view
        self._head["number"] = number
        self._head["nbytes"] = self._view.nbytes & 0xFFFFFFFF
        self._head["crc"] = _crc(self.bytes)


class _Exchange(Exchange):
    def __init__(
        self,
        end: Checksummed,
        sends: Sequence[Outgoing],
        receives: Sequence[Incoming],
        channel: int,
    ) -> None:
        shared = slot(channel, _SLOTS)
        self._end, self._receives = end, tuple(receives)
        self._keys = [(receive.source, shared) for receive in receives]
        self._frames = [_Frame(end, send, shared) for send in sends]
        framed = [
            Outgoing(frame.bytes, send.to) for frame, send in zip(self._frames, sends, strict=True)
        ]
        awaited = [Incoming(HEADER + each.nbytes, each.source) for each in receives]
        self._inner = end.inner.prepare(framed, awaited, channel)

    def start(self) -> None:
        for frame in self._frames:
            frame.fill()
        self._inner.start()

    def wait(self, index: int, timeout: float) -> Lent:
        receive = self._receives[index]
        try:
            came = self._inner.wait(index, timeout)
        except TransportError as error:
            size = f"{receive.nbytes} bytes, and {HEADER} for its checksum"
            told = error.told(f"{error.message} (a message of {size})")
            if not isinstance(error, (DeadlineError, PeerFailedError)):
                told.culprit = receive.source
            raise told from error.__cause__
        self._require_right(came, index)
        data = came[HEADER:]
        if receive.view is None:
            return data.view(receive.dtype)
        receive.view[:] = data
        return receive.view

    def received(self, index: int) -> int:
        return self._inner.received(index) - HEADER

    def release(self, timeout: float) -> None:
        self._inner.release(timeout)

    def _require_right(self, came: Bytes, index: int) -> None:
        """Raise CorruptionError if this is not the next message, whole and unchanged."""
        source, nbytes = self._receives[index].source, self._receives[index].nbytes
        expected = self._end.received[self._keys[index]]
        self._end.received[self._keys[index]] += 1
        head = came[:HEADER].view(_HEAD)[0]
        number = int(head["number"])
        if int(head["crc"]) != _crc(came):
            number, wrong = expected, "changed on its way: its checksum is wrong"
        elif number < expected:
            wrong = f"where message {expected} was due: it was repeated, or came late"
        elif number > expected:
            wrong = f"where message {expected} was due, which was lost or overtaken"
        else:
            return
        got = f"rank {self._end.rank} got message {number} from rank {source}"
        raise CorruptionError(f"{got}, of {nbytes} bytes, {wrong}", culprit=source)


def _crc(frame: Bytes) -> int:
    """Of all but the checksum itself."""
    return zlib.crc32(memoryview(frame[12:]), zlib.crc32(memoryview(frame[:8])))  # type: ignore[arg-type]
