"""How messages are cut, and what holds their memory."""

from __future__ import annotations

import gc
import weakref
from collections import deque
from types import SimpleNamespace

import numpy as np
import pytest

from late_stream import LateArray, LateRuntime
from refcoll_cupy.direct import MOST as LONGEST
from refcoll_cupy.pinned import LARGEST, MOST, SMALLEST, Pool
from refcoll_cupy.pointers import DeviceBytes
from refcoll_cupy.staged import Outlet
from refcoll_cupy.transport import CupyTransport
from refcoll_cupy.ways import parts


def test_long_messages_are_cut_at_a_gibibyte():
    """2^31 - 1 bytes is the most that a message of every MPI can have."""
    view = LateArray(np.empty(2 * LONGEST + 5, np.uint8))  # never touched, so never there
    cut = list(parts(3, view, LONGEST))
    assert [part.view.nbytes for part in cut] == [LONGEST, LONGEST, 5]
    assert {part.message for part in cut} == {3}
    assert LONGEST < 2**31 - 1


@pytest.mark.parametrize(("nbytes", "lengths"), [(0, [0]), (1, [1]), (8, [8]), (9, [8, 1])])
def test_a_message_has_at_least_one_part(nbytes, lengths):
    cut = parts(0, LateArray(np.zeros(nbytes, np.uint8)), 8)
    assert [part.view.nbytes for part in cut] == lengths


@pytest.mark.parametrize(
    ("nbytes", "size"),
    [(0, SMALLEST), (SMALLEST, SMALLEST), (SMALLEST + 1, 2 * SMALLEST), (LARGEST, LARGEST)],
)
def test_pieces_have_room(nbytes, size):
    assert Pool(LateRuntime()).take(nbytes).octets.nbytes == size


def test_pieces_are_used_again():
    pool = Pool(LateRuntime())
    first = pool.take(5000)
    second = pool.take(5000)
    assert second is not first
    pool.give_back(first)
    assert pool.take(8000) is first


def test_a_piece_that_is_too_many_goes_when_its_device_has_read_it():
    runtime, read = LateRuntime(), []
    pool = Pool(runtime)
    pieces = [pool.take(1) for _ in range(MOST + 1)]
    runtime.current().queue(lambda: read.append("all"))
    for piece in pieces:
        assert read == []
        piece.read = runtime.record(runtime.current())
        pool.give_back(piece)
    assert read == ["all"]


def test_what_mpi_holds_is_not_freed():
    runtime = LateRuntime()
    array = runtime.empty(100)
    memory = weakref.ref(array._held)
    given = DeviceBytes(runtime, array[10:20])
    del array
    gc.collect()
    assert memory() is not None
    del given
    gc.collect()
    assert memory() is None


def test_what_is_copied_is_sent_once_however_often_it_is_abandoned():
    """By the wait that fails, and by the abort that follows."""
    sent, copied = [], SimpleNamespace(synchronize=lambda: None)
    outlet = Outlet.__new__(Outlet)
    outlet._copied = deque([(copied, "a piece", 5)])
    outlet._send = lambda piece, nbytes: sent.append((piece, nbytes))
    outlet.abandon()
    outlet.abandon()
    assert sent == [("a piece", 5)]


def test_an_abort_gives_up_all_that_is_under_way_and_not_just_what_was_started_last():
    given_up, told = [], []
    end = CupyTransport.__new__(CupyTransport)
    end.host = SimpleNamespace(abort=lambda *why: told.append(why))
    end.under_way = {SimpleExchange(given_up) for _ in range(2)}
    every = set(end.under_way)
    end.abort("a reason", 3)
    assert set(given_up) == every
    assert told == [("a reason", 3)]


def test_where_giving_up_fails_the_others_are_told_all_the_same():
    told = []
    end = CupyTransport.__new__(CupyTransport)
    end.host = SimpleNamespace(abort=lambda *why: told.append(why))
    end.under_way = {SimpleExchange(None)}
    with pytest.raises(AttributeError):
        end.abort("a reason", 3)
    assert told == [("a reason", 3)]


class SimpleExchange:
    def __init__(self, given_up):
        self._given_up = given_up

    def abandon(self):
        self._given_up.append(self)
