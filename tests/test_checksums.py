"""With checksums, what is done to a message on its way is noticed where it arrives, and said.

What is right: a ring all-reduce of 30 int64 on 3 ranks has 4 steps, in each of which rank 1 sends
10 elements to rank 2; rank 1 first sends chunk 0, then the one before, 2, in the reduce-
scatter, which leaves it with chunk 1; then that, and the one before, in the all-gather.
"""

from __future__ import annotations

import zlib
from dataclasses import replace

import numpy as np
import pytest

import refcoll
from refcoll import Communicator, CorruptionError, RefcollError, TransportError
from refcoll.checksums import HEADER, Checksummed
from refcoll.testing.conformance import CHECKS, SPARE_CHECKS
from refcoll.testing.counting import Counting
from refcoll.testing.faults import Fault, Faulty
from refcoll.transport import Incoming, Outgoing
from refcoll.wrapping import Wrapper

TIMEOUT = 0.5
HANDSHAKE = 2
"""Messages by which 3 ranks compare their calls: ceil(log2 3)."""
STEPS = range(4)
CHUNKS = (0, 2, 1, 0)
"""What rank 1 sends in each step."""
RIGHT = np.arange(30, dtype=np.int64) * 6


class Segmented(Wrapper):
    """Long messages go in parts of 32 bytes, and what carries the checksum."""

    def segment_bytes(self, peer):
        return 32 + HEADER


def all_reduce(fault, runs=1, under=lambda end: end):
    """What so many runs of a ring come to on every rank, with a fault on rank 1."""

    def body(comm):
        faulty = Faulty(under(comm.transport), [fault] if comm.rank == 1 else [])
        guarded = Communicator(Checksummed(faulty), TIMEOUT)
        x = np.arange(30, dtype=np.int64) * (comm.rank + 1)
        try:
            plan = guarded.plan("all_reduce", x, algorithm="ring")
            came = [plan.run().copy() for _ in range(runs)]
        except RefcollError as error:
            came = error
        return came, faulty.injected

    return zip(*refcoll.spawn(3, body), strict=True)


@pytest.mark.parametrize("step", STEPS)
def test_a_flipped_bit_is_found_where_it_arrives(step):
    results, injected = all_reduce(Fault("corrupt", HANDSHAKE + step))
    assert injected[1]
    assert isinstance(results[2], CorruptionError)
    assert results[2].culprit == 1
    said = str(results[2])
    assert f"step {step + 1} of 4: rank 2 got message {step} from rank 1, of 80 bytes" in said
    assert "changed on its way: its checksum is wrong" in said
    assert f"(chunk {CHUNKS[step]} from rank 1)" in said
    for each in results[:2]:  # they may be done by the time it is found
        assert isinstance(each, TransportError) or np.array_equal(each[0], RIGHT)


@pytest.mark.parametrize("at", [0, 1])
def test_the_handshake_is_guarded_too(at):
    results, _ = all_reduce(Fault("corrupt", at))
    guilty = [each for each in results if isinstance(each, CorruptionError)]
    assert guilty
    assert "in the handshake before all_reduce (call 1): rank " in str(guilty[0])
    assert " got message 0 from rank 1, of 64 bytes, changed on its way" in str(guilty[0])


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("kind", ["truncate", "drop", "duplicate"])
def test_nothing_wrong_is_let_through(kind, step):
    results, injected = all_reduce(Fault(kind, HANDSHAKE + step))
    assert injected[1]
    for each in results:
        assert isinstance(each, TransportError) or np.array_equal(each[0], RIGHT)
    assert any(isinstance(each, TransportError) for each in results)


@pytest.mark.parametrize("step", STEPS)
def test_a_lost_message_is_named(step):
    """The next one on that way comes in its place; after the last there is none, and time is up."""
    results, _ = all_reduce(Fault("drop", HANDSHAKE + step), runs=2)
    said = str(results[2])
    if isinstance(results[2], CorruptionError):
        assert f"where message {step} was due, which was lost or overtaken" in said
    assert f"step {step + 1} of 4: rank 2 " in said
    assert f"chunk {CHUNKS[step]} from rank 1" in said


@pytest.mark.parametrize("step", STEPS)
def test_a_repeated_message_is_named(step):
    results, _ = all_reduce(Fault("duplicate", HANDSHAKE + step), runs=2)
    assert any(isinstance(each, TransportError) for each in results)
    if isinstance(results[2], CorruptionError):
        assert f"message {step} from rank 1" in str(results[2])
        assert f"where message {step + 1} was due: it was repeated" in str(results[2])


def test_of_two_messages_that_change_places_the_first_is_noticed():
    results, injected = all_reduce(Fault("reorder", HANDSHAKE), under=Segmented)
    assert injected[1]
    assert isinstance(results[2], CorruptionError)
    assert "message 1 from rank 1, of 32 bytes, where message 0 was due" in str(results[2])
    assert "(chunk 0 from rank 1)" in str(results[2])


def test_the_same_fault_passes_unnoticed_without():
    """Or else the tests above would show nothing."""

    def body(comm):
        faulty = Faulty(comm.transport, [Fault("corrupt", HANDSHAKE)] if comm.rank == 1 else [])
        x = np.arange(30, dtype=np.int64) * (comm.rank + 1)
        return Communicator(faulty, TIMEOUT).all_reduce(x, algorithm="ring")

    assert not all(np.array_equal(each, RIGHT) for each in refcoll.spawn(3, body))


@pytest.mark.parametrize("bit", range(8 * (HEADER + 2)))
def test_any_flipped_bit_of_header_or_message_is_found(bit):
    class Flips(Wrapper):
        def prepare(self, sends, receives, channel):
            def flipped(view):
                wrong = view.copy()
                wrong[bit // 8] ^= np.uint8(1 << bit % 8)
                return wrong

            made = self.inner.prepare([], receives, channel)
            start = made.start

            def started():
                start()
                wrong = [replace(send, view=flipped(send.view)) for send in sends]
                self.inner.prepare(wrong, [], channel).start()

            made.start = started
            return made

    def body(comm):
        end = Checksummed(Flips(comm.transport))
        sends = [Outgoing(np.array([3, 4], np.uint8), 1)] if comm.rank == 0 else []
        exchange = end.prepare(sends, [Incoming(2, 0)] if comm.rank else [], 1)
        exchange.start()
        if comm.rank:
            with pytest.raises(CorruptionError):
                exchange.wait(0, TIMEOUT)

    refcoll.spawn(2, body)


@pytest.mark.parametrize("check", CHECKS + SPARE_CHECKS, ids=lambda check: check.__name__)
def test_it_keeps_the_contract(check):
    refcoll.spawn(3, lambda comm: check(Checksummed(comm.transport)))


def test_it_costs_sixteen_bytes_a_message():
    def body(comm):
        counting = Counting(comm.transport)
        guarded = Communicator(Checksummed(counting))
        plan = guarded.plan("all_reduce", np.zeros(30), algorithm="ring")
        counting.take()
        plan.run()
        return counting.take().received_bytes

    assert refcoll.spawn(3, body) == [4 * (80 + HEADER)] * 3


def test_the_checksum_is_zlibs():
    """Of number 0, length 2 and the message: so that others can read what is on the wire."""

    def body(comm):
        if comm.rank == 0:
            end = Checksummed(comm.transport)
            exchange = end.prepare([Outgoing(np.array([3, 4], np.uint8), 1)], [], 1)
            exchange.start()
            return exchange.release(TIMEOUT)
        exchange = comm.transport.prepare([], [Incoming(18, 0)], 1)
        exchange.start()
        came = exchange.wait(0, TIMEOUT).tobytes()
        exchange.release(TIMEOUT)
        return came

    number, length, message = bytes(8), (2).to_bytes(4, "little"), b"\x03\x04"
    crc = zlib.crc32(number + length + message).to_bytes(4, "little")
    assert refcoll.spawn(2, body)[1] == number + crc + length + message


def test_spawn_takes_it_as_an_option():
    def body(comm):
        assert isinstance(comm.transport, Checksummed)
        part = comm.split(comm.rank % 2)
        assert isinstance(part.transport, Checksummed)
        return comm.all_reduce(np.arange(5))[4] + part.all_reduce(np.ones(3))[0]

    assert refcoll.spawn(4, body, checksums=True) == [18] * 4
