"""A wrapper that does to chosen messages what networks, libraries and bugs do.

    Fault("drop", at=3)         the fourth message that this rank sends never leaves
    Fault("duplicate", at=3)    it is sent twice
    Fault("corrupt", at=3)      one bit of it is flipped
    Fault("truncate", at=3)     its last byte is missing
    Fault("delay", at=3, seconds=0.5)
    Fault("reorder", at=3)      it is exchanged with the next one to the same rank in its step
    Fault("die", at=3)          the rank raises Died instead of sending it

Messages are numbered from 0 over all exchanges of the wrapper, handshakes included, in the
order in which they are sent.  ``injected`` lists what was really done.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np

from refcoll.transport import Bytes, Exchange, Incoming, Lent, Outgoing, Transport
from refcoll.wrapping import Wrapper

Kind = Literal["drop", "duplicate", "corrupt", "truncate", "delay", "reorder", "die"]
KINDS: tuple[Kind, ...] = get_args(Kind)


class Died(BaseException):
    """The rank was told to die here."""


@dataclass(frozen=True)
class Fault:
    """What to do to the message number ``at``."""

    kind: Kind
    at: int
    seconds: float = 0.1
    """For "delay"."""


class Faulty(Wrapper):
    """``inner``, with faults; its subgroups have none."""

    def __init__(self, inner: Transport, faults: Sequence[Fault]) -> None:
        super().__init__(inner)
        self.sent = 0
        """Messages sent so far."""
        self.injected: list[Fault] = []
        self._faults = {fault.at: fault for fault in faults}

    def prepare(
        self, sends: Sequence[Outgoing], receives: Sequence[Incoming], channel: int
    ) -> Exchange:
        """The inner exchange, or one with faults where one of its messages is chosen."""
        return _FaultyExchange(self, sends, receives, channel)

    def injure(self, sends: Sequence[Outgoing]) -> list[Outgoing]:
        """The messages as they really leave."""
        left: list[Outgoing] = []
        swap: int | None = None
        for send in sends:
            fault = self._faults.get(self.sent)
            self.sent += 1
            left += [send] if fault is None else self._with(fault, send)
            if fault is not None and fault.kind == "reorder":
                swap = len(left) - 1
        if swap is not None:
            self._exchange_next(left, swap)
        return left

    def _with(self, fault: Fault, send: Outgoing) -> list[Outgoing]:
        self.injected.append(fault)
        match fault.kind:
            case "drop":
                return []
            case "duplicate":
                return [send, send]
            case "corrupt":
                return [replace(send, view=_flipped(send.view))]
            case "truncate":
                return [replace(send, view=send.view[:-1])]
            case "delay":
                time.sleep(fault.seconds)
            case "die":
                raise Died(f"rank {self.rank} dies before its message {fault.at}")
        return [send]

    def _exchange_next(self, left: list[Outgoing], place: int) -> None:
        for later in range(place + 1, len(left)):
            if left[later].to == left[place].to:
                left[place], left[later] = left[later], left[place]
                return
        self.injected.pop()


def _flipped(view: Bytes) -> Bytes:
    wrong = view.copy()
    if wrong.size:
        wrong[wrong.size // 2] ^= np.uint8(16)
    return wrong


class _FaultyExchange(Exchange):
    """Prepared anew for each start, since the messages differ from run to run."""

    def __init__(
        self, faulty: Faulty, sends: Sequence[Outgoing], receives: Sequence[Incoming], channel: int
    ) -> None:
        self._faulty = faulty
        self._sends, self._receives, self._channel = sends, receives, channel
        self._inner: Exchange | None = None

    def start(self) -> None:
        leaving = self._faulty.injure(self._sends)
        self._inner = self._faulty.inner.prepare(leaving, self._receives, self._channel)
        self._inner.start()

    def wait(self, index: int, timeout: float) -> Lent:
        return self._started().wait(index, timeout)

    def received(self, index: int) -> int:
        return self._started().received(index)

    def release(self, timeout: float) -> None:
        self._started().release(timeout)

    def _started(self) -> Exchange:
        if self._inner is None:
            raise RuntimeError("the exchange has not been started")
        return self._inner
