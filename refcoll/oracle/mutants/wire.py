"""Messages between the ranks of a mutant, straight over a transport."""

from __future__ import annotations

from typing import Any

import numpy as np

from refcoll.communicator import Communicator
from refcoll.operators import Array
from refcoll.transport import Incoming, Outgoing

CHANNEL = 77
"""Far from those that a communicator numbers its own calls with."""


class Wire:
    """Sends and receives arrays.  Messages between two ranks arrive in the order sent."""

    def __init__(self, comm: Communicator) -> None:
        self.transport, self.timeout = comm.transport, comm.timeout

    def swap(self, values: Array, to: int, source: int, count: int | None = None) -> Array:
        """Send to one rank while receiving ``count`` elements (as many as sent) from another."""
        length = values.size if count is None else count
        if to == source == self.transport.rank:
            return values.copy()
        came = np.empty(length, values.dtype)
        incoming = Incoming(came.nbytes, source, _bytes(came))
        self._move([Outgoing(_bytes(values), to)], [incoming])
        return came

    def send(self, values: Array, to: int) -> None:
        """Returns when the other rank has it."""
        self._move([Outgoing(_bytes(values), to)], [])

    def receive(self, count: int, dtype: np.dtype[Any], source: int) -> Array:
        """What the other rank sends."""
        came = np.empty(count, dtype)
        self._move([], [Incoming(came.nbytes, source, _bytes(came))])
        return came

    def post(self, values: Array, to: int) -> None:
        """Send a copy, and do not wait for anybody to take it."""
        view = _bytes(values.copy())
        self.transport.prepare([Outgoing(view, to, changes=True)], [], CHANNEL).start()

    def _move(self, sends: list[Outgoing], receives: list[Incoming]) -> None:
        exchange = self.transport.prepare(sends, receives, CHANNEL)
        exchange.start()
        for index in range(len(receives)):
            exchange.wait(index, self.timeout)
        exchange.release(self.timeout)


def _bytes(values: Array) -> np.ndarray[Any, np.dtype[np.uint8]]:
    return np.ascontiguousarray(values).view(np.uint8)
