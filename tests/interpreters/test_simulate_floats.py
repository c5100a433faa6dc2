"""The simulator rounds as the ranks would: to the bit, and alike on every rank."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from hypothesis import strategies as st

from drawn_programs import defined, origin, programs, reductions
from refcoll import algorithms, check, program, simulate
from samples import drawn, through

FLOATS = [
    np.dtype(f)
    for f in (np.float16, np.float32, np.float64, ml_dtypes.bfloat16, ml_dtypes.float8_e5m2)
]


@drawn(200, programs(), st.integers(0, 40), st.sampled_from(FLOATS), st.integers(0, 2**32))
def test_small_whole_numbers_in_floats_are_exact(made, count, dtype, seed):
    """Partial sums of 9 ranks stay below 2^p, where p is the precision: 3, 8, 11, ... bits."""
    count = made.whole(count)
    limit = {"float8_e5m2": 0, "bfloat16": 28}.get(dtype.name, 200)
    random = np.random.default_rng(seed)
    numbers = random.integers(-limit, limit, (made.size, count), endpoint=True)
    if dtype.name == "float8_e5m2":  # room for little: two ranks have a value
        numbers[random.integers(made.size, size=2), :] = 3
    results = simulate(made, [x.astype(dtype) for x in numbers])
    for rank, _, where, who in defined(made, count):
        column = numbers[who][:, origin(made, count, rank, where)]
        assert results[rank][where].astype(int).tolist() == column.sum(0).tolist()


SCALAR = {
    "sum": lambda a, b: a + b,
    "prod": lambda a, b: a * b,
    "avg": lambda a, b: a + b,
    "min": lambda a, b: a if a < b or (a == b and np.signbit(a)) else b,
    "max": lambda a, b: a if a > b or (a == b and np.signbit(b)) else b,
}


@drawn(
    250,
    reductions(),
    st.integers(0, 40),
    st.sampled_from(FLOATS[:4]),
    st.sampled_from([*SCALAR]),
    st.integers(0, 2**32),
)
def test_floats_are_those_of_the_expression_tree_to_the_bit(made, count, dtype, op, seed):
    random = np.random.default_rng(seed)
    numbers = random.standard_normal((made.size, count)) * 2.0 ** random.integers(-6, 6, count)
    numbers[random.random(numbers.shape) < 0.1] *= 0  # zeros of both signs
    inputs = list(numbers.astype(dtype))
    results, values = simulate(made, inputs, op), check(made).values
    for rank, chunk, where, who in defined(made, count):
        value = values[rank][made.result_area * made.chunks + chunk]
        for element in range(where.start, where.stop):
            with np.errstate(all="ignore"):
                expected = value.evaluate(lambda r, _, e=element: inputs[r][e], SCALAR[op])
                if op == "avg":
                    expected = expected / dtype.type(len(who))
            assert results[rank][element].tobytes() == dtype.type(expected).tobytes()


@drawn(
    200,
    programs(algorithms("all_reduce") + algorithms("all_gather") + algorithms("broadcast")),
    st.integers(0, 40),
    st.sampled_from([*FLOATS, np.dtype(np.complex64)]),
    st.sampled_from(["sum", "prod", "avg"]),
    st.integers(0, 2**32),
)
def test_all_ranks_agree_to_the_bit(made, count, dtype, op, seed):
    random = np.random.default_rng(seed)
    inputs = (random.standard_normal((made.size, count)) * 100).astype(dtype)
    before = inputs.tobytes()
    results = simulate(made, list(inputs), op)
    assert {result.tobytes() for result in results} == {results[0].tobytes()}
    assert inputs.tobytes() == before


@pytest.mark.parametrize("each", algorithms("all_reduce"), ids=lambda each: each.name)
def test_nan_infinity_and_minus_zero_arrive_on_every_rank(each):
    x = np.zeros((5, 4), np.float32)
    x[2, 0] = np.nan
    x[1, 1], x[4, 1] = np.inf, -np.inf
    x[3, 2] = np.inf
    x[:, 3] = -0.0
    x = np.concatenate([x, np.zeros((3, 4), np.float32)])
    x[5:, 3] = -0.0
    for result in simulate(program("all_reduce", each.name, 8), list(x)):
        assert np.isnan(result[:2]).all()
        assert result[2] == np.inf
        assert result[3] == 0
        assert np.signbit(result[3])


@through([1, 2, 3, 6, 8], algorithms("all_reduce"))
def test_avg_divides_the_exact_sum_once(each, size):
    """Sums of whole numbers are exact; IEEE division then rounds correctly, once."""
    x = np.random.default_rng(size).integers(-1000, 1000, (size, 13))
    made = program("all_reduce", each.name, size)
    for result in simulate(made, list(x.astype(np.float64)), "avg"):
        assert result.tolist() == [int(total) / size for total in x.sum(0)]
