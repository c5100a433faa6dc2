"""The simulator gives what the collective asks for: exactly, on whole numbers."""

from __future__ import annotations

from functools import reduce
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import strategies as st

from drawn_programs import defined, lengths_of, origin, programs
from operator_table import PYTHON, wrapped
from refcoll import (
    ArgumentError,
    Copy,
    Reduce,
    Send,
    algorithms,
    from_steps,
    node_shape,
    program,
    simulate,
)
from refcoll.chunks import Layout
from refcoll.schedule import ScheduleError
from samples import drawn

INTEGERS = ["int8", "uint8", "int16", "uint32", "int64", "uint64"]


def exactly(values, op, dtype):
    """The reduction in Python's integers, wrapped at the end: wrapping is a homomorphism."""
    merged = reduce(PYTHON[op], values)
    if op.startswith("logical"):
        merged = int(bool(merged))
    return wrapped(merged, dtype)


@drawn(
    400,
    programs(),
    st.integers(0, 40),
    st.sampled_from(INTEGERS),
    st.sampled_from([*PYTHON]),
    st.integers(0, 2**32),
)
def test_integers_are_exact(made, count, dtype, op, seed):
    info, count = np.iinfo(dtype), made.whole(count)
    inputs = np.random.default_rng(seed).integers(
        info.min, info.max, (made.size, count), dtype, endpoint=True
    )
    before = inputs.copy()
    results = simulate(made, list(inputs), op)
    assert np.array_equal(inputs, before)
    assert len(results) == made.size
    for result in results:
        assert result.shape == (count,)
        assert result.dtype == dtype
        assert not any(np.shares_memory(result, given) for given in inputs)
    for rank, _, where, who in defined(made, count):
        columns = [inputs[r, origin(made, count, rank, where)].tolist() for r in who]
        if made.collective.reduces:
            expected = [exactly(column, op, dtype) for column in zip(*columns, strict=True)]
        else:
            expected = columns[0]
        assert results[rank][where].tolist() == expected


@drawn(100, programs(), st.integers(0, 40), st.integers(0, 2**32))
def test_what_the_collective_does_not_start_from_does_not_count(made, count, seed):
    """An all-gather reads a rank's own chunk alone, a broadcast the root's vector alone."""
    count = made.whole(count)
    inputs = np.random.default_rng(seed).integers(-99, 99, (made.size, count))
    other = inputs.copy()
    for rank in range(made.size):
        for chunk, where in enumerate(lengths_of(made, count)):
            if made.before(rank, chunk) is None:
                other[rank, where] = 12345
    one, two = simulate(made, list(inputs)), simulate(made, list(other))
    for rank, _, where, _ in defined(made, count):
        assert np.array_equal(one[rank][where], two[rank][where])


@drawn(60, st.lists(st.integers(0, 6), min_size=1, max_size=8), st.data())
def test_pieces_of_given_lengths(lengths, data):
    size, count = len(lengths), sum(lengths)
    kinds = [*algorithms("reduce_scatter"), *algorithms("all_gather")]
    each = data.draw(st.sampled_from([each for each in kinds if each.sizes.holds(size)]))
    inputs = [np.arange(count) * (rank + 1) + rank for rank in range(size)]
    made = program(each.collective, each.name, size)
    results = simulate(made, inputs, layout=Layout(tuple(lengths)))
    ends = np.cumsum([0, *lengths])
    pieces = [slice(a, b) for a, b in pairwise(ends)]
    for rank, piece in enumerate(pieces):
        if each.collective == "reduce_scatter":
            assert np.array_equal(results[rank][piece], sum(inputs)[piece])
        else:
            whole = np.concatenate([inputs[r][pieces[r]] for r in range(size)])
            assert np.array_equal(results[rank], whole)


@pytest.mark.parametrize(
    "inputs",
    [
        [np.zeros(3)] * 2,
        [np.zeros(3)] * 4,
        [np.zeros(3), np.zeros(4), np.zeros(3)],
        [np.zeros(3), np.zeros(3, np.float32), np.zeros(3)],
        [],
    ],
    ids=["too few", "too many", "lengths", "dtypes", "none"],
)
def test_inputs_must_be_alike_and_one_a_rank(inputs):
    with pytest.raises(ArgumentError, match="inputs must be 3 arrays of one shape and dtype"):
        simulate(program("all_reduce", "ring", 3), inputs)


def test_an_unknown_operator_is_refused():
    with pytest.raises(ArgumentError, match="not an operator"):
        simulate(program("all_reduce", "ring", 2), [np.zeros(3)] * 2, "median")


def test_a_wrong_program_is_refused_not_simulated():
    lonely = from_steps("reduce", [[(Reduce(0, 1),)], []], 1)
    with pytest.raises(ScheduleError, match="rank 0 step 1 waits"):
        simulate(lonely, [np.zeros(3)] * 2)


def test_one_s_own_algorithm():
    """Scratch areas hold what the vector does not."""
    made = from_steps(
        "all_reduce",
        [
            [(Copy(1, 1),), (Send(1, 0), Reduce(0, 0, "right")), (Send(0, 1),)],
            [(Send(0, 0),), (), (Copy(0, 0),)],
        ],
        1,
        areas=2,
    )
    results = simulate(made, [np.array([1, 2]), np.array([10, 20])])
    assert [result.tolist() for result in results] == [[11, 22]] * 2


@pytest.mark.parametrize("nodes", [[1023, 1], [32] * 32])
def test_a_thousand_ranks(nodes):
    made = program("all_reduce", "hierarchical_leaders", 1024, nodes=node_shape(nodes))
    x = np.arange(1024 * 3).reshape(1024, 3)
    for result in simulate(made, list(x)):
        assert result.tolist() == [3 * 1024 * 1023 // 2 + 1024 * i for i in range(3)]
