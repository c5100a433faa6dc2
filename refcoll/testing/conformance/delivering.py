"""Messages arrive whole, in order, on their channel, and nobody waits for a wrong reason."""

from __future__ import annotations

import numpy as np

from refcoll.testing.conformance.talking import (
    LARGE,
    filled,
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


def delivers_to_everyone(transport: Transport) -> None:
    """All pairs at once, of several lengths, none included: whole and unchanged."""
    others = [r for r in range(transport.size) if r != transport.rank]
    for nbytes in (0, 1, 7, 4096, 65_537):
        sends = [outgoing(transport, other, 0, nbytes) for other in others]
        receives = [Incoming(nbytes, other) for other in others]
        for other, came in zip(others, run(transport, sends, receives, 1), strict=True):
            require_message(transport, came, other, 0, nbytes)


@needs(2)
def keeps_order(transport: Transport) -> None:
    """The k-th message meets the k-th receive, even where all have one length."""
    right, left = next_rank(transport), previous_rank(transport)
    sends = [outgoing(transport, right, k, 64) for k in range(20)]
    receives = [Incoming(64, left) for _ in range(20)]
    for k, came in enumerate(run(transport, sends, receives, 1)):
        require_message(transport, came, left, k, 64)


@needs(2)
def keeps_channels_apart(transport: Transport) -> None:
    """Messages of two exchanges under way do not mix, whichever is waited for first."""
    right, left = next_rank(transport), previous_rank(transport)
    exchanges = [
        transport.prepare([outgoing(transport, right, k, 100)], [Incoming(100, left)], channel=k)
        for k in (1, 2)
    ]
    for exchange in exchanges:
        exchange.start()
    for k in (2, 1):
        came = read(transport, wait(exchanges[k - 1], 0))
        require_message(transport, came, left, k, 100)
    for exchange in exchanges:
        release(exchange)


def passes_many_at_once(transport: Transport) -> None:
    """Hundreds of messages to everyone in one exchange, and none waits for another's end."""
    others = [r for r in range(transport.size) if r != transport.rank]
    each = range(100)
    sends = [outgoing(transport, other, k, 3000) for k in each for other in others]
    receives = [Incoming(3000, other) for k in each for other in others]
    came = iter(run(transport, sends, receives, 1))
    for k in each:
        for other in others:
            require_message(transport, next(came), other, k, 3000)


@needs(2)
def holds_back_other_channels(transport: Transport) -> None:
    """Long and many messages of one channel may lie about while another is waited for."""
    right, left = next_rank(transport), previous_rank(transport)
    for nbytes, many in ((100, 50), (LARGE, 2)):
        exchanges = [
            transport.prepare(
                [outgoing(transport, right, 50 * k + i, nbytes) for i in range(many)],
                [Incoming(nbytes, left)] * many,
                channel=k,
            )
            for k in (1, 2, 3)
        ]
        for exchange in exchanges:
            exchange.start()
        for k in (3, 1, 2):
            for i in range(many):
                came = read(transport, wait(exchanges[k - 1], i))
                require_message(transport, came, left, 50 * k + i, nbytes)
        for exchange in exchanges:
            release(exchange)


@needs(2)
def restarts(transport: Transport) -> None:
    """An exchange runs again and again, each time with what its views then hold."""
    right, left = next_rank(transport), previous_rank(transport)
    mine, room = filled(transport, 8), filled(transport, 8)
    exchange = transport.prepare([Outgoing(mine, right)], [Incoming(8, left, room)], 1)
    for number in range(200):
        write(transport, mine, (number + transport.rank) % 256)
        exchange.start()
        wait(exchange, 0)
        release(exchange)
        right_now = np.all(read(transport, room) == (number + left) % 256)
        require(right_now, f"round {number} brought other bytes than rank {left} then had")


@needs(2)
def moves_large_messages_both_ways(transport: Transport) -> None:
    """All start, then all wait: no rank's send depends on another's having finished."""
    right, left = next_rank(transport), previous_rank(transport)
    sends = [outgoing(transport, right, 0, LARGE)]
    (came,) = run(transport, sends, [Incoming(LARGE, left)], 1)
    require_message(transport, came, left, 0, LARGE)


@needs(2)
def counts_what_came(transport: Transport) -> None:
    """``received`` says how many bytes came, and nothing is left over."""
    right, left = next_rank(transport), previous_rank(transport)
    exchange = transport.prepare(
        [Outgoing(filled(transport, nbytes), right) for nbytes in (33, 0)],
        [Incoming(33, left), Incoming(0, left)],
        channel=1,
    )
    exchange.start()
    for index in range(2):
        wait(exchange, index)
    counted = [exchange.received(index) for index in range(2)]
    require(counted == [33, 0], f"33 and 0 bytes came, and received() says {counted}")
    release(exchange)
    left_over = transport.unclaimed(1)
    require(left_over == 0, f"nothing is left over, and unclaimed() says {left_over}")


@needs(3)
def takes_what_it_is_not_waiting_for(transport: Transport) -> None:
    """A rank that waits for one message lets others' messages of its exchange be sent.

    Rank 2 waits for rank 0, which waits for rank 1 to take its messages, and rank 1 waits
    for rank 2's before it looks at those.
    """
    for nbytes, many in ((1000, 20), (200_000, 1)):
        mine, token = transport.empty(nbytes), filled(transport, 8)
        write(transport, mine, 7)
        if transport.rank == 0:
            run(transport, [Outgoing(mine, 1)] * many, [], 1)
            run(transport, [Outgoing(token, 2)], [], 1)
        elif transport.rank == 2:
            run(transport, [], [Incoming(8, 0)], 1)
            run(transport, [Outgoing(token, 1)], [], 1)
        elif transport.rank == 1:
            receives = [Incoming(8, 2), *[Incoming(nbytes, 0)] * many]
            _, *came = run(transport, [], receives, 1)
            require(all(np.all(each == 7) for each in came), "other bytes came than were sent")
