"""Whose memory holds a message, from when to when."""

from __future__ import annotations

import time

import numpy as np

from refcoll.testing.conformance.talking import (
    LARGE,
    filled,
    message,
    needs,
    next_rank,
    outgoing,
    previous_rank,
    read,
    release,
    require,
    require_message,
    run,
    wait,
    write,
)
from refcoll.transport import Incoming, Outgoing, Transport


@needs(2)
def lands_in_views(transport: Transport) -> None:
    """A receive with a view fills it, and nothing beside it; others leave it alone."""
    right, left = next_rank(transport), previous_rank(transport)
    landing = filled(transport, 120, 255)
    sends, receives = [outgoing(transport, right, 0, 100)], [Incoming(100, left, landing[10:110])]
    run(transport, sends, receives, 1)
    room = read(transport, landing)
    require_message(transport, room[10:110], left, 0, 100)
    untouched = np.all(room[:10] == 255) and np.all(room[110:] == 255)
    require(untouched, "a receive has written beside its view")


@needs(2)
def lends_until_the_next_call(transport: Transport) -> None:
    """Lent data stays as it is, however late; sent views may change after release."""
    me, right, left = transport.rank, next_rank(transport), previous_rank(transport)
    sends = [outgoing(transport, right, number, 10_000) for number in (0, 9)]
    mine = sends[0].view
    exchange = transport.prepare(sends, [Incoming(10_000, left)] * 2, 1)
    for number in range(5):
        write(transport, mine, message(me, right, number, 10_000))
        exchange.start()
        lent = wait(exchange, 0)
        time.sleep(0.002 * me)
        require_message(transport, read(transport, lent), left, number, 10_000)
        lent = wait(exchange, 1)
        time.sleep(0.002 * me)
        require_message(transport, read(transport, lent), left, 9, 10_000)
        release(exchange)
        write(transport, mine, 0)


@needs(2)
def lends_in_a_dtype(transport: Transport) -> None:
    """Lent data comes as the dtype that the receive asks for."""
    values = np.arange(300, dtype=np.float32)
    mine = transport.arrays.from_host((values + transport.rank).view(np.uint8))
    send = Outgoing(mine, next_rank(transport))
    receive = Incoming(values.nbytes, previous_rank(transport), dtype=values.dtype)
    (came,) = run(transport, [send], [receive], 1)
    require(came.dtype == values.dtype, f"{values.dtype} was asked for, and {came.dtype} is lent")
    require(np.array_equal(came, values + previous_rank(transport)), "other values are lent")


@needs(2)
def keeps_what_changes(transport: Transport) -> None:
    """A view that ``changes`` may be written at once: what is sent is what it held."""
    me, right, left = transport.rank, next_rank(transport), previous_rank(transport)
    for nbytes in (0, 8, 40_000, LARGE):
        mine = filled(transport, nbytes)
        sends = [Outgoing(mine, right, changes=True)] * 3
        exchange = transport.prepare(sends, [Incoming(nbytes, left)] * 3, 1)
        for number in range(4):
            write(transport, mine, message(me, right, number, nbytes))
            exchange.start()
            write(transport, mine, 255)
            for index in range(3):
                came = read(transport, wait(exchange, index))
                require_message(transport, came, left, number, nbytes)
            release(exchange)


def gives_memory(transport: Transport) -> None:
    """``empty`` gives writable memory of its own, also none."""
    for nbytes in (64, 100_000):
        one, other = transport.empty(nbytes), transport.empty(nbytes)
        write(transport, one, 1)
        write(transport, other, 2)
        require(np.all(read(transport, one) == 1), "two calls of empty() give the same memory")
    none = transport.empty(0).nbytes
    require(none == 0, f"empty(0) gives {none} bytes")


@needs(2)
def moves_its_own_memory(transport: Transport) -> None:
    """What lies in memory from ``empty`` arrives like anything else; it may be used again."""
    me, right, left = transport.rank, next_rank(transport), previous_rank(transport)
    for number in range(3):
        mine, room = transport.empty(LARGE), transport.empty(LARGE)
        parts = [slice(0, 5), slice(5, 50_005), slice(50_005, LARGE)]
        exchange = transport.prepare(
            [Outgoing(mine[part], right) for part in parts],
            [Incoming(part.stop - part.start, left, room[part]) for part in parts],
            channel=1,
        )
        for again in range(3):
            write(transport, mine, message(me, right, number + again, LARGE))
            exchange.start()
            for index in range(len(parts)):
                wait(exchange, index)
            release(exchange)
            write(transport, mine, 0)
            require_message(transport, read(transport, room), left, number + again, LARGE)
