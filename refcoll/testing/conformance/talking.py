"""What every check of the kit does: make messages, exchange them, look at what came."""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from refcoll.transport import (
    Array,
    Bytes,
    Exchange,
    Incoming,
    Lent,
    Outgoing,
    Transport,
    TransportError,
)

Check: TypeAlias = Callable[[Transport], None]
PATIENCE = 30.0
"""Seconds that a message may take on a loaded machine."""
LARGE = 3_000_000
"""Bytes that no transport should be expected to buffer."""
_CYCLE = np.arange(251, dtype=np.uint8)
"""A prime number of bytes, so that no power of two shifts a message onto itself."""


def needs(ranks: int) -> Callable[[Check], Check]:
    """Leave a check out among fewer ranks, where there is nobody to talk to."""

    def among_enough(check: Check) -> Check:
        @functools.wraps(check)
        def checked(transport: Transport) -> None:
            if transport.size >= ranks:
                check(transport)

        return checked

    return among_enough


def message(source: int, to: int, number: int, nbytes: int) -> Bytes:
    """Bytes that tell who sent them to whom, as which message."""
    start = source * 89 + to * 31 + number * 7
    return np.tile(np.roll(_CYCLE, -start), -(-nbytes // _CYCLE.size))[:nbytes]


def require(holds: object, said: str) -> None:
    """Raise AssertionError with these words unless it holds, under ``python -O`` too."""
    if not holds:
        raise AssertionError(said)


def require_message(
    transport: Transport, came: Array, source: int, number: int, nbytes: int
) -> None:
    """Raise AssertionError unless that message of ``source`` to this rank has come, unchanged."""
    which = f"message {number} of {nbytes} bytes from rank {source} to rank {transport.rank}"
    require(came.nbytes == nbytes, f"{which} came with {came.nbytes} bytes")
    differing = np.flatnonzero(came != message(source, transport.rank, number, nbytes))
    if differing.size:
        raise AssertionError(
            f"{which} came with {differing.size} other bytes, the first of them byte {differing[0]}"
        )


def outgoing(transport: Transport, to: int, number: int, nbytes: int) -> Outgoing:
    """The message of that number to ``to``, in memory of the transport's kind."""
    values = message(transport.rank, to, number, nbytes)
    return Outgoing(transport.arrays.from_host(values), to)


def filled(transport: Transport, nbytes: int, value: int = 0) -> Bytes:
    """Memory of the transport's kind with this value everywhere."""
    return transport.arrays.from_host(np.full(nbytes, value, np.uint8))


def write(transport: Transport, view: Bytes, values: Bytes | int) -> None:
    """Let the view hold these values, or this one everywhere."""
    every = np.full(view.nbytes, values, np.uint8) if isinstance(values, int) else values
    transport.arrays.copy(view, transport.arrays.from_host(every))


def read(transport: Transport, view: Array) -> Array:
    """What the view holds, on the host."""
    return transport.arrays.to_host(view)


def next_rank(transport: Transport) -> int:
    """The neighbour to whom most checks send."""
    return (transport.rank + 1) % transport.size


def previous_rank(transport: Transport) -> int:
    """The neighbour from whom most checks receive."""
    return (transport.rank - 1) % transport.size


def run(
    transport: Transport, sends: Sequence[Outgoing], receives: Sequence[Incoming], channel: int
) -> list[Bytes]:
    """One exchange, whole; copies of what came."""
    exchange = transport.prepare(sends, receives, channel)
    exchange.start()
    came = [read(transport, wait(exchange, i)) for i in range(len(receives))]
    release(exchange)
    return came


def wait(exchange: Exchange, index: int) -> Lent:
    """What the exchange receives there, however loaded the machine is."""
    return exchange.wait(index, PATIENCE)


def release(exchange: Exchange) -> None:
    """The exchange's end, however loaded the machine is."""
    exchange.release(PATIENCE)


def refusal(exchange: Exchange, timeout: float | None = None) -> str:
    """What the exchange's first wait raises, in words; empty if it raises nothing."""
    error = error_of(exchange, timeout)
    return "" if error is None else str(error)


def error_of(exchange: Exchange, timeout: float | None = None) -> TransportError | None:
    """What the exchange's first wait raises."""
    limit = PATIENCE if timeout is None else timeout
    return raised(lambda: exchange.wait(0, limit), f"a wait with a timeout of {limit:g} s")


def raised(call: Callable[[], object], what: str) -> TransportError | None:
    """What the call raises.

    Nobody can end one that ignores its timeout, but standard error is told of it.
    """
    said = f"{what} is not over after {2 * PATIENCE:g} s: the transport ignores timeouts"
    bell = threading.Timer(2 * PATIENCE, lambda: print(said, file=sys.stderr, flush=True))
    bell.daemon = True
    bell.start()
    try:
        call()
    except TransportError as error:
        return error
    finally:
        bell.cancel()
    return None
