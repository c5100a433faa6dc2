"""Results that are blocks, one from each rank."""

import numpy as np
import pytest

from oracle_evidence import said
from refcoll.oracle.calls import Call
from refcoll.oracle.guarded import Guarded


def unwritten(count, dtype="f4"):
    return Guarded(count, np.dtype(dtype)).array


def test_nothing_came_from_others():
    """Open MPI 5.0.11's sparbit algorithm in place, at any N; said of all ranks at once."""

    def change(rank, right, given):
        alone = unwritten(right.size)
        alone[rank * 33 : rank * 33 + 33] = right[rank * 33 : rank * 33 + 33]
        return alone

    words = said(Call("all_gather", 33, op=None), change)
    assert words == "on all ranks: its own block is there, and no other was written at all"


@pytest.mark.parametrize("collective", ["all_gather", "all_to_all"])
def test_whose_blocks_are_not_there(collective):
    def change(rank, right, given):
        right[33:99] = unwritten(66)
        return right

    words = said(Call(collective, 33, op=None), change)
    assert words.endswith("elements 33-98 (from ranks 1-2) not written at all")


def test_a_part_of_a_block_is_from_nobody_in_particular():
    def change(rank, right, given):
        right[35:99] = unwritten(64)
        return right

    words = said(Call("all_gather", 33, op=None), change)
    assert words == "on all ranks: elements 35-98 not written at all"
