"""Every kind of fault really happens, and none leaves anybody hanging."""

from __future__ import annotations

import time

import numpy as np
import pytest

from refcoll import (
    Communicator,
    DeadlineError,
    DisagreementError,
    RefcollError,
    TransportError,
    spawn,
)
from refcoll.testing.faults import Died, Fault, Faulty
from refcoll.testing.verification import Case, verify
from refcoll.transport import Incoming, Outgoing

TIMEOUT = 0.5
HANDSHAKE = 2
"""Messages by which 3 ranks compare their calls: ceil(log2 3)."""
PAYLOAD = range(HANDSHAKE, HANDSHAKE + 4)
"""The ring all-reduce sends 2(N-1) = 4 messages a rank."""
RIGHT = np.arange(30, dtype=np.int64) * 6  # (1 + 2 + 3) i


def all_reduce(*faults):
    """What a ring all-reduce on 3 ranks comes to on every rank, with faults on rank 1: the
    result or the error, what was injected, and after how many seconds."""

    def body(comm):
        faulty = Faulty(comm.transport, faults if comm.rank == 1 else [])
        x = np.arange(30, dtype=np.int64) * (comm.rank + 1)
        started = time.monotonic()
        try:
            came = Communicator(faulty, TIMEOUT).all_reduce(x, algorithm="ring")
        except (RefcollError, Died) as error:
            came = error
        return came, faulty.injected, time.monotonic() - started

    results, injected, seconds = zip(*spawn(3, body), strict=True)
    return results, injected, max(seconds)


def test_without_faults_nothing_happens():
    results, injected, _ = all_reduce()
    assert all(np.array_equal(result, RIGHT) for result in results)
    assert injected == ([], [], [])


@pytest.mark.parametrize("at", [0, 1, *PAYLOAD])
@pytest.mark.parametrize("kind", ["drop", "truncate", "duplicate"])
def test_what_cannot_be_right_is_an_error_in_time(kind, at):
    fault = Fault(kind, at)
    results, injected, seconds = all_reduce(fault)
    assert injected == ([], [fault], [])
    assert any(isinstance(result, TransportError) for result in results)
    assert seconds < 8 * TIMEOUT


@pytest.mark.parametrize("at", PAYLOAD)
def test_a_dropped_message_is_missed_by_its_receiver(at):
    """Whoever first notices says so, and all others hear of it."""
    results, _, _ = all_reduce(Fault("drop", at))
    assert isinstance(results[2], TransportError)
    assert "80 bytes from rank 1" in str(results[2])


@pytest.mark.parametrize("at", PAYLOAD)
def test_a_truncated_message_is_named_with_both_sizes(at):
    results, _, _ = all_reduce(Fault("truncate", at))
    assert "expected 80 bytes from rank 1, which sent 79" in str(results[2])
    assert "all_reduce by ring on 3 ranks (call 1), step" in str(results[2])
    assert any(isinstance(result, TransportError) for result in results[:2])


@pytest.mark.parametrize("at", [0, 1, *PAYLOAD])
def test_a_dying_rank_takes_the_others_with_it_at_once(at):
    results, injected, seconds = all_reduce(Fault("die", at))
    assert injected[1] == [Fault("die", at)]
    assert isinstance(results[1], Died)
    told = [result for result in results if isinstance(result, TransportError)]
    assert told
    assert all("rank 1 failed: Died" in str(error) for error in told)
    assert seconds < TIMEOUT


@pytest.mark.parametrize("at", PAYLOAD)
def test_a_flipped_bit_gets_through_and_makes_the_result_wrong(at):
    """Nothing checks sums here: it is the test of results that must find it."""
    results, injected, _ = all_reduce(Fault("corrupt", at))
    assert injected[1] == [Fault("corrupt", at)]
    assert any(not np.array_equal(result, RIGHT) for result in results)


@pytest.mark.parametrize("at", [0, 1])
def test_a_flipped_bit_in_the_handshake_hangs_nobody(at):
    results, _, seconds = all_reduce(Fault("corrupt", at))
    for result in results:
        if isinstance(result, np.ndarray):
            assert np.array_equal(result, RIGHT)
        else:
            assert isinstance(result, (TransportError, DisagreementError))
    assert seconds < 8 * TIMEOUT


@pytest.mark.parametrize("at", [0, *PAYLOAD])
def test_a_delay_changes_nothing(at):
    results, injected, seconds = all_reduce(Fault("delay", at, seconds=0.1))
    assert all(np.array_equal(result, RIGHT) for result in results)
    assert len(injected[1]) == 1
    assert seconds >= 0.1


def test_a_delay_past_the_deadline_is_an_error():
    results, _, _ = all_reduce(Fault("delay", PAYLOAD[0], seconds=3 * TIMEOUT))
    assert any(isinstance(result, DeadlineError) for result in results)


def test_several_faults_on_one_rank():
    faults = [Fault("delay", 0, 0.01), Fault("corrupt", PAYLOAD[1]), Fault("drop", PAYLOAD[3])]
    _, injected, _ = all_reduce(*faults)
    assert injected[1] == faults


# ---- single messages ---------------------------------------------------------------------


def exchange(fault, messages=3):
    """What rank 1 gets of ``messages`` messages of 4 bytes, each all its own number."""

    def body(comm):
        end = Faulty(comm.transport, [fault])
        if comm.rank == 0:
            sends = [Outgoing(np.full(4, k, np.uint8), 1) for k in range(messages)]
            made = end.prepare(sends, [], 1)
        else:
            made = comm.transport.prepare([], [Incoming(4, 0)] * messages, 1)
        made.start()
        soon = 5.0
        came = [made.wait(k, soon).tolist() for k in range(messages * comm.rank)]
        made.release(soon)
        return came, end.injected, end.sent

    (_, injected, sent), (came, _, _) = spawn(2, body)
    assert sent == messages
    return came, injected


def test_reorder_exchanges_a_message_with_the_next():
    fault = Fault("reorder", at=1)
    assert exchange(fault) == ([[0] * 4, [2] * 4, [1] * 4], [fault])


def test_a_reorder_without_a_next_message_is_not_said_to_have_happened():
    assert exchange(Fault("reorder", at=2)) == ([[0] * 4, [1] * 4, [2] * 4], [])


def test_corrupt_flips_one_bit_and_not_in_the_senders_memory():
    came, injected = exchange(Fault("corrupt", at=1))
    assert injected
    (wrong,) = [a ^ b for a, b in zip(came[1], [1] * 4, strict=True) if a != b]
    assert wrong.bit_count() == 1
    assert (came[0], came[2]) == ([0] * 4, [2] * 4)


def test_a_fault_beyond_the_last_message_never_happens():
    assert exchange(Fault("drop", at=3)) == ([[0] * 4, [1] * 4, [2] * 4], [])


# ---- verification over faults ------------------------------------------------------------

CASE = Case("ring", "all_reduce", 30, "int64", "sum")


@pytest.mark.parametrize("kind", ["drop", "truncate", "duplicate", "corrupt"])
@pytest.mark.parametrize("at", PAYLOAD)
def test_verification_does_not_pass(kind, at):
    """The plan's handshake comes first, then the run."""

    def body(comm):
        faulty = Faulty(comm.transport, [Fault(kind, at)] if comm.rank == 1 else [])
        return list(verify(faulty, [CASE], TIMEOUT))

    try:
        (row,) = spawn(3, body)[0]
        said = row.title + str(row.problems)
    except TransportError as error:
        row, said = None, str(error)
    assert CASE.title(3) in said
    assert row is None or not row.ok
