"""The conformance kit: does a transport keep the contract of ``refcoll.transport``?

Every check is a function that all ranks call together, each with its own end of the
transport; it raises AssertionError, or what the transport raises, where a promise is broken.

    for check in CHECKS:
        check(transport)

Run it on N ranks of your transport, for several N; ``spare`` checks leave the transport
useless and want a fresh one each.  Views are of the transport's own ``arrays``, and what is
looked at is a copy on the host.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from refcoll.transport import (
    Array,
    Bytes,
    Exchange,
    Incoming,
    Outgoing,
    PeerFailedError,
    Transport,
    TransportError,
)

Check: TypeAlias = Callable[[Transport], None]
PATIENCE = 30.0
"""Seconds that a message may take on a loaded machine."""
_LARGE = 3_000_000
"""Bytes that no transport should be expected to buffer."""
_CYCLE = np.arange(251, dtype=np.uint8)
"""A prime number of bytes, so that no power of two shifts a message onto itself."""


def _message(source: int, to: int, number: int, nbytes: int) -> Bytes:
    """Bytes that tell who sent them to whom, as which message."""
    start = source * 89 + to * 31 + number * 7
    return np.tile(np.roll(_CYCLE, -start), -(-nbytes // _CYCLE.size))[:nbytes]


def _outgoing(transport: Transport, to: int, number: int, nbytes: int) -> Outgoing:
    """The message of that number to ``to``, in memory of the transport's kind."""
    values = _message(transport.rank, to, number, nbytes)
    return Outgoing(transport.arrays.from_host(values), to)


def _filled(transport: Transport, nbytes: int, value: int = 0) -> Bytes:
    return transport.arrays.from_host(np.full(nbytes, value, np.uint8))


def _write(transport: Transport, view: Bytes, values: Bytes | int) -> None:
    """Let the view hold these values, or this one everywhere."""
    every = np.full(view.nbytes, values, np.uint8) if isinstance(values, int) else values
    transport.arrays.copy(view, transport.arrays.from_host(every))


def _read(transport: Transport, view: Array) -> Array:
    return transport.arrays.to_host(view)


def _right(transport: Transport) -> int:
    return (transport.rank + 1) % transport.size


def _left(transport: Transport) -> int:
    return (transport.rank - 1) % transport.size


def _run(
    transport: Transport, sends: Sequence[Outgoing], receives: Sequence[Incoming], channel: int
) -> list[Bytes]:
    """One exchange, whole; copies of what came."""
    exchange = transport.prepare(sends, receives, channel)
    exchange.start()
    came = [_read(transport, exchange.wait(i, PATIENCE)) for i in range(len(receives))]
    exchange.release(PATIENCE)
    return came


def describes_itself(transport: Transport) -> None:
    """Rank, size and nodes make sense: each rank stands on exactly one node."""
    assert 0 <= transport.rank < transport.size
    ranks = sorted(rank for node in transport.nodes for rank in node)
    assert ranks == list(range(transport.size)), transport.nodes
    for peer in range(transport.size):
        if peer != transport.rank:
            limit = transport.segment_bytes(peer)
            assert limit is None or limit > 0


def agrees_on_nodes(transport: Transport) -> None:
    """All ranks give the same nodes."""
    mine = np.frombuffer(hashlib.sha256(repr(transport.nodes).encode()).digest(), np.uint8)
    others = [r for r in range(transport.size) if r != transport.rank]
    sends = [Outgoing(transport.arrays.from_host(mine), other) for other in others]
    receives = [Incoming(mine.nbytes, other) for other in others]
    for other, came in zip(others, _run(transport, sends, receives, 1), strict=True):
        assert np.array_equal(came, mine), f"rank {other} has other nodes"


def delivers_to_everyone(transport: Transport) -> None:
    """All pairs at once, of several lengths, none included: whole and unchanged."""
    me, others = transport.rank, [r for r in range(transport.size) if r != transport.rank]
    for nbytes in (0, 1, 7, 4096, 65_537):
        sends = [_outgoing(transport, other, 0, nbytes) for other in others]
        receives = [Incoming(nbytes, other) for other in others]
        for other, came in zip(others, _run(transport, sends, receives, 1), strict=True):
            assert np.array_equal(came, _message(other, me, 0, nbytes)), (other, nbytes)


def keeps_order(transport: Transport) -> None:
    """The k-th message meets the k-th receive, even where all have one length."""
    if transport.size == 1:
        return
    me, right, left = transport.rank, _right(transport), _left(transport)
    sends = [_outgoing(transport, right, k, 64) for k in range(20)]
    receives = [Incoming(64, left) for _ in range(20)]
    for k, came in enumerate(_run(transport, sends, receives, 1)):
        assert np.array_equal(came, _message(left, me, k, 64)), k


def keeps_channels_apart(transport: Transport) -> None:
    """Messages of two exchanges under way do not mix, whichever is waited for first."""
    if transport.size == 1:
        return
    me, right, left = transport.rank, _right(transport), _left(transport)
    exchanges = [
        transport.prepare([_outgoing(transport, right, k, 100)], [Incoming(100, left)], channel=k)
        for k in (1, 2)
    ]
    for exchange in exchanges:
        exchange.start()
    for k in (2, 1):
        came = _read(transport, exchanges[k - 1].wait(0, PATIENCE))
        assert np.array_equal(came, _message(left, me, k, 100)), k
    for exchange in exchanges:
        exchange.release(PATIENCE)


def lands_in_views(transport: Transport) -> None:
    """A receive with a view fills it, and nothing beside it; others leave it alone."""
    if transport.size == 1:
        return
    me, right, left = transport.rank, _right(transport), _left(transport)
    landing = _filled(transport, 120, 255)
    sends, receives = [_outgoing(transport, right, 0, 100)], [Incoming(100, left, landing[10:110])]
    _run(transport, sends, receives, 1)
    room = _read(transport, landing)
    assert np.array_equal(room[10:110], _message(left, me, 0, 100))
    assert np.all(room[:10] == 255)
    assert np.all(room[110:] == 255)


def lends_until_the_next_call(transport: Transport) -> None:
    """Lent data stays as it is, however late; sent views may change after release."""
    if transport.size == 1:
        return
    me, right, left = transport.rank, _right(transport), _left(transport)
    sends = [_outgoing(transport, right, number, 10_000) for number in (0, 9)]
    mine = sends[0].view
    exchange = transport.prepare(sends, [Incoming(10_000, left)] * 2, 1)
    for number in range(5):
        _write(transport, mine, _message(me, right, number, 10_000))
        exchange.start()
        lent = exchange.wait(0, PATIENCE)
        time.sleep(0.002 * me)
        assert np.array_equal(_read(transport, lent), _message(left, me, number, 10_000)), number
        lent = exchange.wait(1, PATIENCE)
        time.sleep(0.002 * me)
        assert np.array_equal(_read(transport, lent), _message(left, me, 9, 10_000)), number
        exchange.release(PATIENCE)
        _write(transport, mine, 0)


def lends_in_a_dtype(transport: Transport) -> None:
    """Lent data comes as the dtype that the receive asks for."""
    if transport.size == 1:
        return
    values = np.arange(300, dtype=np.float32)
    mine = transport.arrays.from_host((values + transport.rank).view(np.uint8))
    send = Outgoing(mine, _right(transport))
    receive = Incoming(values.nbytes, _left(transport), dtype=values.dtype)
    (came,) = _run(transport, [send], [receive], 1)
    assert came.dtype == values.dtype
    assert np.array_equal(came, values + _left(transport))


def keeps_what_changes(transport: Transport) -> None:
    """A view that ``changes`` may be written at once: what is sent is what it held."""
    if transport.size == 1:
        return
    me, right, left = transport.rank, _right(transport), _left(transport)
    for nbytes in (0, 8, 40_000, _LARGE):
        mine = _filled(transport, nbytes)
        sends = [Outgoing(mine, right, changes=True)] * 3
        exchange = transport.prepare(sends, [Incoming(nbytes, left)] * 3, 1)
        for number in range(4):
            _write(transport, mine, _message(me, right, number, nbytes))
            exchange.start()
            _write(transport, mine, 255)
            for index in range(3):
                came = _read(transport, exchange.wait(index, PATIENCE))
                assert np.array_equal(came, _message(left, me, number, nbytes)), (nbytes, index)
            exchange.release(PATIENCE)


def passes_many_at_once(transport: Transport) -> None:
    """Hundreds of messages to everyone in one exchange, and none waits for another's end."""
    me, others = transport.rank, [r for r in range(transport.size) if r != transport.rank]
    each = range(100)
    sends = [_outgoing(transport, other, k, 3000) for k in each for other in others]
    receives = [Incoming(3000, other) for k in each for other in others]
    came = iter(_run(transport, sends, receives, 1))
    for k in each:
        for other in others:
            assert np.array_equal(next(came), _message(other, me, k, 3000)), (other, k)


def holds_back_other_channels(transport: Transport) -> None:
    """Long and many messages of one channel may lie about while another is waited for."""
    if transport.size == 1:
        return
    me, right, left = transport.rank, _right(transport), _left(transport)
    for nbytes, many in ((100, 50), (_LARGE, 2)):
        exchanges = [
            transport.prepare(
                [_outgoing(transport, right, 50 * k + i, nbytes) for i in range(many)],
                [Incoming(nbytes, left)] * many,
                channel=k,
            )
            for k in (1, 2, 3)
        ]
        for exchange in exchanges:
            exchange.start()
        for k in (3, 1, 2):
            for i in range(many):
                came = _read(transport, exchanges[k - 1].wait(i, PATIENCE))
                assert np.array_equal(came, _message(left, me, 50 * k + i, nbytes)), (k, i)
        for exchange in exchanges:
            exchange.release(PATIENCE)


def restarts(transport: Transport) -> None:
    """An exchange runs again and again, each time with what its views then hold."""
    if transport.size == 1:
        return
    right, left = _right(transport), _left(transport)
    mine, room = _filled(transport, 8), _filled(transport, 8)
    exchange = transport.prepare([Outgoing(mine, right)], [Incoming(8, left, room)], 1)
    for number in range(200):
        _write(transport, mine, (number + transport.rank) % 256)
        exchange.start()
        exchange.wait(0, PATIENCE)
        exchange.release(PATIENCE)
        assert np.all(_read(transport, room) == (number + left) % 256), number


def moves_large_messages_both_ways(transport: Transport) -> None:
    """All start, then all wait: no rank's send depends on another's having finished."""
    if transport.size == 1:
        return
    me, right, left = transport.rank, _right(transport), _left(transport)
    sends = [_outgoing(transport, right, 0, _LARGE)]
    (came,) = _run(transport, sends, [Incoming(_LARGE, left)], 1)
    assert np.array_equal(came, _message(left, me, 0, _LARGE))


def counts_what_came(transport: Transport) -> None:
    """``received`` says how many bytes came, and nothing is left over."""
    if transport.size == 1:
        return
    right, left = _right(transport), _left(transport)
    exchange = transport.prepare(
        [Outgoing(_filled(transport, nbytes), right) for nbytes in (33, 0)],
        [Incoming(33, left), Incoming(0, left)],
        channel=1,
    )
    exchange.start()
    for index in range(2):
        exchange.wait(index, PATIENCE)
    assert [exchange.received(index) for index in range(2)] == [33, 0]
    exchange.release(PATIENCE)
    assert transport.unclaimed(1) == 0


def takes_what_it_is_not_waiting_for(transport: Transport) -> None:
    """A rank that waits for one message lets others' messages of its exchange be sent.

    Rank 2 waits for rank 0, which waits for rank 1 to take its messages, and rank 1 waits
    for rank 2's before it looks at those.
    """
    if transport.size < 3:
        return
    for nbytes, many in ((1000, 20), (200_000, 1)):
        mine, token = transport.empty(nbytes), _filled(transport, 8)
        _write(transport, mine, 7)
        if transport.rank == 0:
            _run(transport, [Outgoing(mine, 1)] * many, [], 1)
            _run(transport, [Outgoing(token, 2)], [], 1)
        elif transport.rank == 2:
            _run(transport, [], [Incoming(8, 0)], 1)
            _run(transport, [Outgoing(token, 1)], [], 1)
        elif transport.rank == 1:
            receives = [Incoming(8, 2), *[Incoming(nbytes, 0)] * many]
            _, *came = _run(transport, [], receives, 1)
            assert all(np.all(each == 7) for each in came)


def gives_memory(transport: Transport) -> None:
    """``empty`` gives writable memory of its own, also none."""
    for nbytes in (64, 100_000):
        one, other = transport.empty(nbytes), transport.empty(nbytes)
        _write(transport, one, 1)
        _write(transport, other, 2)
        assert np.all(_read(transport, one) == 1)
    assert transport.empty(0).nbytes == 0


def moves_its_own_memory(transport: Transport) -> None:
    """What lies in memory from ``empty`` arrives like anything else; it may be used again."""
    if transport.size == 1:
        return
    me, right, left = transport.rank, _right(transport), _left(transport)
    for number in range(3):
        mine, room = transport.empty(_LARGE), transport.empty(_LARGE)
        parts = [slice(0, 5), slice(5, 50_005), slice(50_005, _LARGE)]
        exchange = transport.prepare(
            [Outgoing(mine[part], right) for part in parts],
            [Incoming(part.stop - part.start, left, room[part]) for part in parts],
            channel=1,
        )
        for again in range(3):
            _write(transport, mine, _message(me, right, number + again, _LARGE))
            exchange.start()
            for index in range(len(parts)):
                exchange.wait(index, PATIENCE)
            exchange.release(PATIENCE)
            _write(transport, mine, 0)
            assert np.array_equal(
                _read(transport, room), _message(left, me, number + again, _LARGE)
            )


def makes_subgroups(transport: Transport) -> None:
    """Even and odd ranks, in reverse order, talk among themselves."""
    ranks = [r for r in range(transport.size) if r % 2 == transport.rank % 2][::-1]
    group = transport.subgroup(ranks, channel=5)
    assert (group.size, ranks[group.rank]) == (len(ranks), transport.rank)
    delivers_to_everyone(group)
    delivers_to_everyone(transport)
    group.close()


# ---- what must fail ---------------------------------------------------------------------


def reports_silence(transport: Transport) -> None:
    """A wait for a message that nobody sends ends at its deadline, naming peer and bytes."""
    if transport.size == 1:
        return
    exchange = transport.prepare([], [Incoming(77, _left(transport))], 1)
    exchange.start()
    started = time.monotonic()
    said = _refusal(exchange, 0.2)
    assert f"rank {_left(transport)}" in said, said or "a wait for nothing returned"
    assert "77 bytes" in said, said
    assert time.monotonic() - started < PATIENCE


def reports_wrong_sizes(transport: Transport) -> None:
    """A message of another size than its receive is an error that names both sizes."""
    if transport.size == 1:
        return
    for sent, expected in ((10, 20), (20, 10)):
        sends = [Outgoing(_filled(transport, sent), _right(transport))]
        exchange = transport.prepare(sends, [Incoming(expected, _left(transport))], sent)
        exchange.start()
        said = _refusal(exchange)
        assert str(expected) in said, said or f"{sent} bytes were taken for {expected}"


def notices_unclaimed_messages(transport: Transport) -> None:
    """A message that no receive asks for is seen, on its channel and on no other."""
    if transport.size == 1:
        return
    sends = [Outgoing(_filled(transport, 5), _right(transport))]
    transport.prepare(sends, [], 3).start()
    until = time.monotonic() + PATIENCE
    while not transport.unclaimed(3):
        assert time.monotonic() < until, "an unclaimed message is not noticed"
    assert transport.unclaimed(4) == 0


def tells_all_of_a_failure(transport: Transport) -> None:
    """When a rank gives up, those that wait give up too, with its reason and its number."""
    if transport.size == 1:
        return
    last = transport.size - 1
    if transport.rank == last:
        transport.abort("an accident on the last rank", last)
        return
    exchange = transport.prepare([], [Incoming(77, last)], 1)
    exchange.start()
    heard = _error(exchange)
    assert isinstance(heard, PeerFailedError), "a rank gave up, and those that wait did not hear"
    assert "an accident on the last rank" in str(heard), str(heard)
    assert heard.culprit == last, f"rank {heard.culprit} is blamed, not rank {last}"


def _refusal(exchange: Exchange, timeout: float = PATIENCE) -> str:
    """What the exchange's first wait raises, in words; empty if it raises nothing."""
    error = _error(exchange, timeout)
    return "" if error is None else str(error)


def _error(exchange: Exchange, timeout: float = PATIENCE) -> TransportError | None:
    """What the exchange's first wait raises."""
    try:
        exchange.wait(0, timeout)
    except TransportError as error:
        return error
    return None


CHECKS: tuple[Check, ...] = (
    describes_itself,
    agrees_on_nodes,
    delivers_to_everyone,
    keeps_order,
    keeps_channels_apart,
    lands_in_views,
    lends_until_the_next_call,
    lends_in_a_dtype,
    keeps_what_changes,
    passes_many_at_once,
    holds_back_other_channels,
    restarts,
    moves_large_messages_both_ways,
    counts_what_came,
    takes_what_it_is_not_waiting_for,
    gives_memory,
    moves_its_own_memory,
    makes_subgroups,
)
SPARE_CHECKS: tuple[Check, ...] = (
    reports_silence,
    reports_wrong_sizes,
    notices_unclaimed_messages,
    tells_all_of_a_failure,
)
"""These break the transport, so each wants one of its own."""
