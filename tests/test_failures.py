"""A rank that is late, or that fails: who is told what, on ranks within this process.

What is right here follows from the ring's own formula: in step s of a reduce-scatter, rank r
waits for rank r - 1, so when rank 2 of 4 does not take part, rank 3 waits for it in step 1, and the
others get stuck behind rank 3, one step later each.
"""

from __future__ import annotations

import re
import sys
import threading
import time

import numpy as np
import pytest

import refcoll
from on_threads import errors
from refcoll import Communicator, DeadlineError, PeerFailedError, TransportError
from refcoll.testing.faults import Fault, Faulty
from refcoll.testing.soaking import Cut

SIZE, ODD = 4, 2


def ring(late, limit=0.4):
    """Plans a ring on all ranks; rank ODD does ``late`` instead of running it."""

    def body(comm):
        plan = comm.plan("all_reduce", np.ones(16), algorithm="ring")
        return late() if comm.rank == ODD else plan.run()

    return errors(body, limit)


def test_whoever_waits_for_the_late_rank_names_it_and_what_it_waited_for():
    heard = ring(lambda: time.sleep(1))
    first = next(each for each in heard if isinstance(each, DeadlineError))
    assert first.culprit == ODD
    said = str(first)
    assert "all_reduce by ring on 4 ranks (call 1), step " in said
    assert " of 6: rank " in said
    assert f"see the output of rank {ODD}, or allow more time by timeout=" in said
    assert f"rank {ODD} gives no answer" in said
    assert "0.4 s for" in said


def test_ranks_that_are_stuck_behind_others_say_so():
    heard = ring(lambda: time.sleep(1))
    del heard[ODD]
    assert all(each.culprit == ODD for each in heard), heard
    for each in heard:
        if isinstance(each, PeerFailedError):  # not all, where their times are up at once
            assert "gave up: " in str(each)
            assert "meanwhile rank" in str(each)
            assert f"rank {ODD} gives no answer" in str(each)


@pytest.mark.parametrize(("rank", "step"), [(3, 1), (0, 2)])
def test_the_step_that_is_stuck_is_told(rank, step):
    """Rank 3 lacks what rank 2 sends in step 1; rank 0 what rank 3 would pass on in step 2."""
    given_up = threading.Event()

    def body(comm):
        plan = comm.plan("all_reduce", np.ones(16), algorithm="ring")
        if comm.rank == ODD:
            return given_up.wait(30)
        try:  # all but one wait for longer, so that this one's is the first time to be up
            return plan.run(0.4 if comm.rank == rank else 30)
        finally:
            given_up.set()

    told = errors(body)
    assert isinstance(told[rank], DeadlineError)
    said = str(told[rank])
    assert f"step {step} of 6: rank {rank} " in said
    assert re.search(rf"rank {rank} waited .* s for 32 bytes from rank {(rank - 1) % SIZE}", said)
    assert "0 of 32 bytes had come" in said
    if rank == 0:
        assert "rank 3 itself waits for 32 bytes from rank 2, in step 1 of 6; rank 2 gives" in said


def test_a_rank_that_is_in_another_communicator_is_told_of():
    """In the handshake rank 0 waits for rank 3, which waits for rank 1 elsewhere."""

    given_up = threading.Event()

    def body(comm):
        pair = comm.split(comm.rank % 2)
        if comm.rank == 1:
            return given_up.wait(30)
        if comm.rank == 3:
            return pair.barrier(timeout=30)
        try:
            return comm.all_reduce(np.ones(4), timeout=0.4 if comm.rank == 0 else 30)
        finally:
            given_up.set()

    heard = errors(body)[0]
    assert heard.culprit == 1  # which is rank 0 of that communicator
    said = str(heard)
    assert "rank 3 itself waits for 64 bytes from rank 1, in the handshake before barrier" in said
    assert "(call 1) of another communicator; rank 1 gives no answer" in said


def test_a_call_that_one_rank_did_not_make_is_told_with_its_number():
    def body(comm):
        comm.barrier()
        return time.sleep(1) if comm.rank == ODD else comm.all_reduce(np.ones(4))

    heard = errors(body)
    del heard[ODD]
    for each in heard:
        assert "the handshake before all_reduce (call 2)" in str(each)
        assert each.culprit == ODD


class Unsayable(Exception):
    def __str__(self):
        raise ZeroDivisionError


def test_of_an_error_that_cannot_be_said_the_others_hear_its_kind():
    def body(comm):
        try:
            with comm:
                if comm.rank == ODD:
                    raise Unsayable
                comm.barrier(timeout=30)
        except (Unsayable, TransportError) as error:
            return error

    heard = errors(body)
    assert type(heard.pop(ODD)) is Unsayable
    assert all(f"rank {ODD} failed: Unsayable; meanwhile rank" in str(each) for each in heard)


def test_what_one_rank_raises_is_told_to_those_that_wait_for_it():
    def body(comm):
        if comm.rank == ODD:
            raise ValueError("an accident")
        started = time.monotonic()
        with pytest.raises(PeerFailedError, match="an accident") as caught:
            comm.all_reduce(np.ones(4))
        assert caught.value.culprit == ODD
        assert time.monotonic() - started < 10

    with pytest.raises(ValueError, match="an accident"):
        refcoll.spawn(SIZE, body, timeout=60)


def test_a_rank_that_returns_early_is_told_to_have_ended():
    def body(comm):
        return "done" if comm.rank == ODD else comm.all_reduce(np.ones(4))

    heard = errors(body, timeout=60)
    assert heard.pop(ODD) == "done"
    assert all(each.culprit == ODD for each in heard)
    assert any(f"rank {ODD} has ended" in str(each) for each in heard)


@pytest.mark.parametrize("status", [0, 3])
def test_a_rank_that_exits_is_an_error(status):
    """Not the end of the whole process, perhaps with status 0."""

    def body(comm):
        return sys.exit(status) if comm.rank == ODD else comm.all_reduce(np.ones(4))

    with pytest.raises(PeerFailedError, match=f"rank {ODD} has ended by SystemExit.{status}") as e:
        refcoll.spawn(SIZE, body, timeout=60)
    assert e.value.culprit == ODD


def test_ranks_that_all_exit_do():
    with pytest.raises(SystemExit):
        refcoll.spawn(SIZE, lambda comm: sys.exit(5), timeout=60)


def test_an_operator_that_raises_fails_everybody():
    def merge(left, right):
        if threading.current_thread().name == "odd":
            raise OverflowError("too much")
        return left + right

    op = refcoll.user_operator(merge, "plus", commutative=True)

    def body(comm):
        if comm.rank == ODD:
            threading.current_thread().name = "odd"
        comm.all_reduce(np.ones(16), op, algorithm="ring")

    with pytest.raises(OverflowError, match="too much"):
        refcoll.spawn(SIZE, body, timeout=60)


def test_how_much_of_a_long_message_had_come_is_told():
    """A ring on 3 ranks sends 80 bytes a step, here in parts of 32, 32 and 16; of rank 1's last
    message the last part is lost: the message numbered 2 (handshake) + 4 * 3 - 1."""

    def body(comm):
        lost = [Fault("drop", 2 + 4 * 3 - 1)] if comm.rank == 1 else []
        cut = Communicator(Cut(Faulty(comm.transport, lost), 32), 0.4)
        x = np.arange(30, dtype=np.int64)
        came = cut.all_reduce(x, algorithm="ring", timeout=0.4 if comm.rank == 2 else 30)
        time.sleep(1)  # a rank that has ended would be told of at once
        return came

    heard = errors(body, size=3)[2]
    assert isinstance(heard, DeadlineError)
    assert "step 4 of 4: rank 2 waited 0.4 s for 16 bytes from rank 1" in str(heard)
    assert "(chunk 0 from rank 1; 64 of 80 bytes had come)" in str(heard)
