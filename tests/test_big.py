"""More than 2^31 elements and bytes, where a 32-bit count would turn negative or start anew.

Plans are made for more memory than there is: nothing of it is touched.  What really runs is
marked `long`.
"""

from __future__ import annotations

import gc
import mmap

import numpy as np
import pytest

import refcoll
from big_arrays import BIG, available_memory, big_input, big_sum_is_right
from refcoll import algorithms, count, program
from refcoll.interpreters.compiling import Compiler
from refcoll.operators import OPERATORS
from refcoll.wrapping import Wrapper

HUGE = (1 << 36) + 11
"""Elements; of 2 bytes each."""
NORESERVE = 0x4000  # Linux's MAP_NORESERVE, which the mmap module does not name


class Nowhere(Wrapper):
    """The transport of rank 1 of 3, that takes messages of any size and sends none."""

    def __init__(self):
        self.rank, self.size = 1, 3

    def segment_bytes(self, peer):
        return None

    def empty(self, nbytes):
        return vast(nbytes)


def vast(nbytes):
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | NORESERVE
    return np.frombuffer(mmap.mmap(-1, max(1, nbytes), flags=flags), np.uint8)[:nbytes]


RUN = [each for each in algorithms() if not each.needs_helpers and each.sizes.holds(3)]


@pytest.mark.parametrize("each", RUN, ids=lambda each: f"{each.collective}-{each.name}")
def test_plans_for_more_than_there_is(each):
    """Every message lies in the memory, and they hold the bytes that the algorithm claims."""
    made = program(each.collective, each.name, 3)
    n = HUGE if each.collective != "barrier" else 0
    layout = made.layout(n + -n % 3 if made.collective.transposes else n)
    whole = made.areas * layout.count * 2
    memory = vast(whole).view(np.uint16)
    compiler = Compiler(Nowhere(), memory, layout, OPERATORS["max"], None)
    stages = [compiler.stage(node) for node in made.graph(1)]
    sent = sum(send.view.nbytes for stage in stages for send in stage.sends)
    received = sum(receive.nbytes for stage in stages for receive in stage.receives)
    claims = made.claims
    compare = int.__le__ if {"sent", "received"} & {*claims.bounds} else int.__eq__
    assert compare(sent, 2 * claims.sent(1, layout.lengths))
    assert compare(received, 2 * claims.received(1, layout.lengths))
    if each.collective == "all_reduce" and n:
        assert sent > 1 << 32


@pytest.mark.parametrize("size", [2, 3, 8])
def test_counts_beyond_32_bits_are_exact(size):
    n = (1 << 45) + 7
    found = count(program("all_reduce", "ring", size), n)
    layout = program("all_reduce", "ring", size).layout(n)
    for rank, each in enumerate(found.ranks):
        left = layout.lengths[(rank + 1) % size] + layout.lengths[rank]
        assert each.sent == 2 * n - left  # all chunks but one, twice
    assert sum(each.sent for each in found.ranks) == 2 * (size - 1) * n


@pytest.mark.long
@pytest.mark.parametrize("algorithm", ["ring", "recursive_doubling", "binomial"])
def test_two_gibibytes_and_more_within_a_process(algorithm):
    if available_memory() < 6 * BIG:
        pytest.skip(f"needs {6 * BIG >> 30} GiB of free memory")

    def body(comm):
        x = big_input(comm.rank)
        comm.all_reduce(x, "sum", out=x, algorithm=algorithm)
        return big_sum_is_right(x, comm.size)

    assert refcoll.spawn(2, body) == [True, True]
    gc.collect()  # give the memory back now: the next test wants as much
