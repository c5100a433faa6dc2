"""The executor on programs written by hand: scattered chunks, moves within a rank, sides, order."""

from __future__ import annotations

import numpy as np
import pytest

from affine_maps import COMPOSE, composed
from executed import Short, run
from refcoll import Copy, Reduce, Send, TransportError, algorithms, check, from_steps, program
from refcoll.chunks import Layout


def bruck(rank: int, size: int):
    """All-gather in ceil(log2 N) steps; the chunks that wrap round are scattered.

    Before the round of distance d I have the chunks r, ..., r + d - 1 (mod N).
    """
    distance = 1
    while distance < size:
        more = min(distance, size - distance)
        mine = tuple((rank + i) % size for i in range(more))
        theirs = tuple((rank + distance + i) % size for i in range(more))
        yield Send(mine, (rank - distance) % size), Copy(theirs, (rank + distance) % size)
        distance *= 2


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 6, 7])
@pytest.mark.parametrize("nbytes", [None, 8])
def test_scattered_chunks_are_packed_and_unpacked(size, nbytes):
    made = from_steps("all_gather", [bruck(rank, size) for rank in range(size)], size)
    assert check(made).ok
    layout = Layout(tuple((3 * r) % 4 for r in range(size)))
    whole = np.arange(layout.count, dtype=np.float64) + 1
    inputs = []
    for rank in range(size):
        mine = np.full(layout.count, np.nan)
        mine[layout.span(rank, rank + 1)] = whole[layout.span(rank, rank + 1)]
        inputs.append(mine)
    wrap = (lambda end: Short(end, nbytes)) if nbytes else (lambda end: end)
    for result in run(made, inputs, layout=layout, wrap=wrap, runs=3):
        assert np.array_equal(result, whole)


@pytest.mark.parametrize("nbytes", [None, 8, 24])
@pytest.mark.parametrize("op", ["sum", "min"])
def test_scattered_chunks_are_merged(op, nbytes):
    """Every rank sends chunks 4, 0, 2 and merges what comes into 4, 0, 2: all exchange."""
    odd = (4, 0, 2)
    steps = [
        [(Send(odd, 1 - r), Reduce(odd, 1 - r)), (Send((3, 1), 1 - r), Reduce((3, 1), 1 - r))]
        for r in range(2)
    ]
    made = from_steps("all_reduce", steps, 5)
    assert check(made).ok
    inputs = [np.arange(23) * 5 % 7, np.arange(23) * 3 % 11]
    wanted = np.add(*inputs) if op == "sum" else np.minimum(*inputs)
    wrap = (lambda end: Short(end, nbytes)) if nbytes else (lambda end: end)
    for result in run(made, inputs, op, wrap=wrap, runs=2):
        assert np.array_equal(result, wanted)


def test_moves_within_a_rank():
    """x goes to scratch by a message to oneself, and from there to the other rank."""
    steps = [
        [
            (Send(0, r), Send(1, r), Copy(2, r), Copy(3, r)),
            (Send(range(2, 4), 1 - r), Reduce(range(2), 1 - r)),
        ]
        for r in range(2)
    ]
    made = from_steps("all_reduce", steps, 2, areas=2)
    assert check(made).ok
    inputs = [np.arange(7), np.arange(7) * 10]
    for result in run(made, inputs, runs=3):
        assert np.array_equal(result, np.arange(7) * 11)


def test_merges_within_a_rank_keep_the_side_that_is_asked_for():
    """The other rank's vector lands in scratch and is merged from there."""
    steps = [
        [
            (Send(0, 1 - r), Copy(1, 1 - r)),
            (Send(1, r), Reduce(0, r, "left" if r else "right")),
        ]
        for r in range(2)
    ]
    made = from_steps("all_reduce", steps, 1, areas=2)
    inputs = [np.array([2 + 3j, 5 + 1j]), np.array([7 + 4j, 1 + 9j])]
    wanted = [composed((2, 3), (7, 4)), composed((5, 1), (1, 9))]
    for result in run(made, inputs, COMPOSE):
        assert [(z.real, z.imag) for z in result] == wanted


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 6])
def test_algorithms_in_rank_order_merge_in_rank_order(size):
    maps = [[(rank % 3 + 1, rank + i) for rank in range(size)] for i in range(7)]
    inputs = [np.array([complex(*maps[i][rank]) for i in range(7)]) for rank in range(size)]
    wanted = [composed(*each) for each in maps]
    for each in algorithms():
        if each.collective == "all_reduce" and each.in_rank_order:
            made = program("all_reduce", each.name, size)
            for result in run(made, inputs, COMPOSE):
                assert [(z.real, z.imag) for z in result] == wanted, each.name


def test_two_ranks_that_lend_to_each_other_do_not_race():
    """Both send the chunk that they merge into: each must merge what the other had before."""
    steps = [[(Send(0, 1 - r), Reduce(0, 1 - r))] * 3 for r in range(2)]
    made = from_steps("all_reduce", steps, 1)
    inputs = [np.arange(100_000), np.arange(100_000) * 2]
    for result in run(made, inputs, runs=20):
        assert np.array_equal(result, np.arange(100_000) * 12)  # twice doubled: 4 (x0 + x1)


def test_several_receives_apply_in_the_order_written():
    """Rank 0 composes with ranks 2 and 1, in that order, each on the right."""
    steps = [[(Reduce(0, 2, "right"), Reduce(0, 1, "right"))], [(Send(0, 0),)], [(Send(0, 0),)]]
    made = from_steps("reduce", steps, 1)
    inputs = [np.array([2 + 3j]), np.array([5 + 7j]), np.array([11 + 13j])]
    result = run(made, inputs, COMPOSE)[0]
    assert (result[0].real, result[0].imag) == composed((2, 3), (11, 13), (5, 7))


def test_an_error_says_where():
    """Rank 1 sends in its step 2 what rank 0 does not expect."""
    steps = [[(Send(0, 1),), (Copy(0, 1),)], [(Copy(0, 0),), (Send((0, 1), 0),)]]
    made = from_steps("all_reduce", steps, 2, name="mine")
    with pytest.raises(
        TransportError,
        match=r"all_reduce by mine on 2 ranks \(call \d+\), step 2 of 2: rank 0 ",
    ):
        run(made, [np.zeros(10)] * 2)
