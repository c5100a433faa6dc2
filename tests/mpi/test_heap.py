"""The heap: blocks that do not overlap, come back when nothing views them, and can be mapped."""

from __future__ import annotations

import gc
import os
import random
import sys

import numpy as np
import pytest

from refcoll_mpi.heap import PAGE, SMALLEST, Heap, other

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="there is a heap on Linux only")


@pytest.fixture
def heap():
    return Heap(64 << 20)


def test_blocks_never_overlap_and_come_back(heap):
    """Random lengths and lifetimes; each block keeps its own byte to its end."""
    draw, alive = random.Random(1), []
    for number in range(1000):
        if alive and draw.random() < 0.5:
            block, byte = alive.pop(draw.randrange(len(alive)))
            assert np.all(block == byte)
        else:
            block = heap.empty(draw.choice([SMALLEST, SMALLEST + 1, 200_000, 5_000_000]))
            block[:] = number % 251
            alive.append((block, number % 251))
    alive.clear()
    del block
    gc.collect()
    whole = heap.empty((64 << 20) - PAGE)  # so all is free again, in one piece
    assert heap.offset(whole) == PAGE


def test_a_view_keeps_its_block(heap):
    view = heap.empty(SMALLEST).view(np.float32).reshape(2, -1)[1:]
    view[:] = 7
    gc.collect()
    taken = [heap.empty(SMALLEST) for _ in range(50)]
    for block in taken:
        block[:] = 0
    assert np.all(view == 7)


def test_small_blocks_and_those_that_do_not_fit_are_ordinary_memory(heap):
    for nbytes in (0, 1, SMALLEST - 1, 65 << 20):
        block = heap.empty(nbytes)
        assert block.nbytes == nbytes
        assert heap.offset(block) is None


def test_only_its_own_memory_has_an_offset(heap):
    block = heap.empty(SMALLEST)
    assert heap.offset(block[100:]) == heap.offset(block) + 100
    assert heap.offset(np.empty(SMALLEST, np.uint8)) is None


def test_another_process_maps_it_and_reads_what_is_written(heap):
    seen = other(os.getpid(), heap.file, heap.token)
    block = heap.empty(SMALLEST).view(np.int32)
    block[:] = np.arange(block.size)
    mapped = seen.array(heap.offset(block.view(np.uint8)), block.nbytes, np.int32)
    assert np.array_equal(mapped, block)
    with pytest.raises(ValueError, match="read-only"):
        mapped[0] = 1


def test_a_stranger_is_not_mapped(heap):
    assert other(os.getpid(), heap.file, b"x" * 16) is None
    assert other(2**22 + 1, heap.file, heap.token) is None


def test_freed_pages_go_back_to_the_system(heap):
    block = heap.empty(32 << 20)
    block[:] = 1
    used = os.fstat(heap.file).st_blocks
    del block
    gc.collect()
    heap.empty(SMALLEST)  # looks after what was given back
    assert os.fstat(heap.file).st_blocks < used / 4
