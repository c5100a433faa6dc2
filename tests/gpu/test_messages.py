"""How messages are cut, and what holds their memory."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

from late_stream import LateArray, LateRuntime
from refcoll_cupy.direct import MOST as LONGEST
from refcoll_cupy.pinned import LARGEST, MOST, SMALLEST, Pool
from refcoll_cupy.pointers import DeviceBytes
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
