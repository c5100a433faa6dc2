"""Parts of a communicator: who is of them, and that they do not mix."""

from __future__ import annotations

import numpy as np

from on_threads import spawn


def test_split_by_color_and_key():
    def body(comm):
        part = comm.split(comm.rank % 2, key=-comm.rank)
        return part.rank, part.size, part.all_gather(np.array([comm.rank])).tolist()

    assert spawn(5, body) == [
        (2, 3, [4, 2, 0]), (1, 2, [3, 1]), (1, 3, [4, 2, 0]), (0, 2, [3, 1]), (0, 3, [4, 2, 0]),
    ]  # fmt: skip


def test_equal_keys_keep_the_order_of_ranks():
    results = spawn(4, lambda c: c.split(7).all_gather(np.array([c.rank])).tolist())
    assert results == [[0, 1, 2, 3]] * 4


def test_no_color_means_no_part():
    def body(comm):
        part = comm.split(None if comm.rank == 1 else 0)
        return None if part is None else part.all_reduce(np.array([comm.rank])).tolist()

    assert spawn(3, body) == [[2], None, [2]]
    assert spawn(3, lambda c: c.split(None)) == [None] * 3


def test_splits_of_splits_and_the_whole_do_not_mix():
    def body(comm):
        half = comm.split(comm.rank // 4)
        quarter = half.split(half.rank // 2)
        again = comm.split(comm.rank // 4)
        handles = [
            each.all_reduce(np.array([1 << comm.rank]), async_op=True)
            for each in (comm, half, quarter, again)
        ]
        return [int(handle.wait()[0]) for handle in handles[::-1]][::-1]

    for rank, (whole, half, quarter, again) in enumerate(spawn(8, body)):
        assert whole == 0xFF
        assert half == again == (0xF0 if rank >= 4 else 0x0F)
        assert quarter == 0b11 << (rank // 2 * 2)


def test_parts_know_which_of_them_share_a_node():
    def body(comm):
        part = comm.split(comm.rank % 2)
        return part.nodes

    assert spawn(6, body, nodes=((0, 1, 2), (3, 4, 5))) == [
        ((0, 1), (2,)), ((0,), (1, 2)), ((0, 1), (2,)), ((0,), (1, 2)), ((0, 1), (2,)),
        ((0,), (1, 2)),
    ]  # fmt: skip


def test_colors_and_keys_may_be_numpy_integers():
    def body(comm):
        part = comm.split(np.int64(comm.rank % 2), key=np.int64(comm.rank))
        return part.all_gather(np.array([comm.rank])).tolist()

    wanted = [list(range(0, 12, 2)), list(range(1, 12, 2))] * 6
    assert spawn(12, body) == wanted
