"""Counting counts what arrives, exactly, so that a byte or a message too many is noticed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from refcoll import Communicator, spawn
from refcoll.testing.counting import Counting
from refcoll.testing.verification import Case, verify
from refcoll.transport import Incoming, Outgoing


def test_a_ring_is_counted_exactly():
    """10 int64 on 4 ranks: chunks of 3, 3, 2, 2 elements; rank r sends all but chunk r, then
    all but chunk r + 1, to its right, in 6 steps of one message (Patarasuk and Yuan)."""
    chunks = [3, 3, 2, 2]

    def body(comm):
        counting = Counting(comm.transport)
        plan = Communicator(counting, 5).plan("all_reduce", np.ones(10, np.int64), algorithm="ring")
        counting.take()
        for _ in range(3):
            plan.run()
        return counting.take(), counting.take()

    for rank, (traffic, after) in enumerate(spawn(4, body)):
        sent = 20 - chunks[rank] - chunks[(rank + 1) % 4]
        received = 20 - chunks[rank - 1] - chunks[rank]
        assert (traffic.steps, traffic.messages_sent, traffic.messages_received) == (18, 18, 18)
        assert traffic.sent_bytes == 3 * 8 * sent
        assert traffic.received_from == {(rank - 1) % 4: 3 * 8 * received}
        assert traffic.received_bytes == 3 * 8 * received
        assert (after.steps, after.received_bytes, after.messages_sent) == (0, 0, 0)


def test_empty_messages_count_as_messages():
    def body(comm):
        counting = Counting(comm.transport)
        other = 1 - comm.rank
        exchange = counting.prepare(
            [Outgoing(np.zeros(0, np.uint8), other), Outgoing(np.zeros(5, np.uint8), other)],
            [Incoming(0, other), Incoming(5, other)],
            1,
        )
        exchange.start()
        for index in range(2):
            exchange.wait(index, 5.0)
        exchange.release(5.0)
        return counting.take()

    for traffic in spawn(2, body):
        assert (traffic.steps, traffic.messages_sent, traffic.messages_received) == (1, 2, 2)
        assert (traffic.sent_bytes, traffic.received_bytes) == (5, 5)


def test_subgroups_count_for_themselves():
    def body(comm):
        counting = Counting(comm.transport)
        half = Communicator(counting, 5).split(comm.rank % 2)
        assert isinstance(half.transport, Counting)
        counting.take()
        half.barrier()
        return counting.take().messages_sent, half.transport.traffic.messages_sent

    for whole, part in spawn(4, body):
        assert whole == 0
        assert part == 2  # one for the handshake, one for the barrier: log2 of 2 ranks


# ---- transports that move more than they are told ----------------------------------------


class OneMessageTooMany:
    """Rank 1 sends one more message after its last on a channel of payload, and forgets it."""

    def __init__(self, inner):
        self.inner, self.owed = inner, 0

    def __getattr__(self, name):
        return getattr(self.inner, name)

    def prepare(self, sends, receives, channel):
        exchange = self.inner.prepare(sends, receives, channel)
        start, exchange.start = exchange.start, lambda: (self.more(channel), start())
        return exchange

    def more(self, channel):
        if channel == 0 and self.owed and self.inner.rank == 1:
            extra = Outgoing(np.zeros(3, np.uint8), 2)
            self.inner.prepare([extra], [], self.owed).start()
        self.owed = channel


class OneByteTooMany(OneMessageTooMany):
    """Every message travels with a byte behind it, which is cut off at the other end."""

    def prepare(self, sends, receives, channel):
        return _Padded(self.inner, sends, receives, channel)


class _Padded:
    def __init__(self, inner, sends, receives, channel):
        self.inner, self.sends, self.receives, self.channel = inner, sends, receives, channel

    def start(self):
        padded = [replace(s, view=np.append(s.view, np.uint8(0))) for s in self.sends]
        longer = [Incoming(r.nbytes + 1, r.source) for r in self.receives]
        self.exchange = self.inner.prepare(padded, longer, self.channel)
        self.exchange.start()

    def wait(self, index, timeout):
        came = self.exchange.wait(index, timeout)[:-1]
        view = self.receives[index].view
        if view is not None:
            view[:] = came
        return came.view(self.receives[index].dtype) if view is None else view

    def received(self, index):
        return self.exchange.received(index)

    def release(self, timeout):
        self.exchange.release(timeout)


def rows(size, wrap, case):
    (rows, *others) = spawn(size, lambda comm: list(verify(wrap(comm.transport), [case], 5)))
    assert all(other == rows for other in others)
    return rows


CASES = [
    Case("ring", "all_gather", 99, "float32", None),
    Case("ring", "all_reduce", 99, "float32", "sum"),
    Case("binomial", "broadcast", 99, "int8", None),
    Case("pairwise", "reduce_scatter", 99, "float64", "sum"),
    Case("dissemination", "barrier", 0, "float32", None),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title(3))
def test_a_message_too_many_fails_verification(case):
    (row,) = rows(3, OneMessageTooMany, case)
    assert not row.ok
    assert "messages are left over that no rank received" in row.problems


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title(3))
def test_a_byte_too_many_fails_verification(case):
    (row,) = rows(3, OneByteTooMany, case)
    assert row.exact
    assert not row.ok


def test_the_byte_too_many_is_counted():
    """The ring all-gather on 3 ranks is 2 messages of 33 elements: 264 bytes, here 266."""
    (row,) = rows(3, OneByteTooMany, CASES[0])
    assert (row.sent_claimed, row.received_claimed) == (264, 264)
    assert (row.sent_bytes, row.received_bytes) == (266, 266)
    assert row.problems == [
        "sent on rank 0: 266 bytes, claimed 264",
        "received on rank 0: 266 bytes, claimed 264",
    ]
