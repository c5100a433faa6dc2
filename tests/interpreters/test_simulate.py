"""The simulator gives what the collective asks for: exactly, and to the bit."""

from __future__ import annotations

from functools import reduce
from itertools import pairwise

import ml_dtypes
import numpy as np
import pytest
from hypothesis import strategies as st

from refcoll import (
    ArgumentError,
    Copy,
    Reduce,
    Send,
    algorithms,
    check,
    from_steps,
    node_shape,
    program,
    simulate,
    user_operator,
)
from refcoll.chunks import Layout
from refcoll.collectives import COLLECTIVES
from refcoll.schedule import ScheduleError
from samples import ROOTED, drawn, through

INTEGERS = ["int8", "uint8", "int16", "uint32", "int64", "uint64"]
FLOATS = [
    np.dtype(f)
    for f in (np.float16, np.float32, np.float64, ml_dtypes.bfloat16, ml_dtypes.float8_e5m2)
]
PYTHON = {
    "sum": lambda a, b: a + b,
    "prod": lambda a, b: a * b,
    "min": min,
    "max": max,
    "bitwise_and": lambda a, b: a & b,
    "bitwise_or": lambda a, b: a | b,
    "bitwise_xor": lambda a, b: a ^ b,
    "logical_and": lambda a, b: int(bool(a) and bool(b)),
    "logical_or": lambda a, b: int(bool(a) or bool(b)),
    "logical_xor": lambda a, b: int(bool(a) != bool(b)),
}


@st.composite
def programs(draw, among=None, roots=True):
    """Any algorithm, on any ranks, from any root, on any nodes."""
    each = draw(st.sampled_from(algorithms() if among is None else among))
    size = draw(st.integers(1, 9).filter(each.sizes.holds))
    rooted = each in ROOTED
    root = draw(st.integers(0, size - 1)) if rooted and roots else 0
    nodes = None
    if "nodes" in each.options:
        order = draw(st.permutations(range(size)))
        cuts = sorted(draw(st.sets(st.integers(1, size - 1)))) if size > 1 else []
        ends = [0, *cuts, size]
        nodes = [order[a:b] for a, b in pairwise(ends)]
    return program(
        each.collective, each.name, size,
        root=root, nodes=nodes, segments=draw(st.integers(1, 4)),
        radix=draw(st.integers(2, 5)), shards=draw(st.integers(1, 4)),
    )  # fmt: skip


def reductions():
    return programs([each for each in algorithms() if COLLECTIVES[each.collective].reduces])


def lengths_of(made, count):
    """Where each chunk lies, added up here rather than asked of the layout."""
    ends = np.cumsum([0, *made.layout(count).lengths])
    assert ends[-1] == count
    return [slice(a, b) for a, b in pairwise(ends)]


def defined(made, count):
    """(rank, slice, who must be in it) of every chunk that the collective speaks of.

    Written from the meaning of each collective, not from refcoll.collectives.
    """
    everyone = list(range(made.size))
    for rank in range(made.size):
        for chunk, where in enumerate(lengths_of(made, count)):
            match made.collective.name:
                case "all_reduce":
                    yield rank, chunk, where, everyone
                case "reduce" if rank == made.root:
                    yield rank, chunk, where, everyone
                case "reduce_scatter" if rank == chunk:
                    yield rank, chunk, where, everyone
                case "all_gather":
                    yield rank, chunk, where, [chunk]
                case "broadcast":
                    yield rank, chunk, where, [made.root]
                case "gather" if rank == made.root:
                    yield rank, chunk, where, [chunk]
                case "scatter" if rank == chunk:
                    yield rank, chunk, where, [made.root]
                case "scan":
                    yield rank, chunk, where, everyone[: rank + 1]
                case "exscan" if rank > 0:
                    yield rank, chunk, where, everyone[:rank]
                case "all_to_all":
                    yield rank, chunk, where, [chunk]


def origin(made, count, rank, where):
    """Where, in the inputs, the elements of a place of a result come from."""
    if made.collective.name != "all_to_all":
        return where
    return lengths_of(made, count)[rank]


def exactly(values, op, dtype):
    """The reduction in Python's integers, wrapped at the end: wrapping is a homomorphism."""
    merged = reduce(PYTHON[op], values)
    if op.startswith("logical"):
        merged = int(bool(merged))
    info = np.iinfo(dtype)
    return (merged - int(info.min)) % 2**info.bits + int(info.min)


# ---- integers ------------------------------------------------------------------------------


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


# ---- floats --------------------------------------------------------------------------------


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


# ---- operators that do not commute ---------------------------------------------------------

PRIME = 10007


def packed(a, b):
    """The map x -> a x + b modulo a prime, as one integer."""
    return a * PRIME + b


def after(left, right):
    """First ``left``, then ``right``: (a2 a1) x + (a2 b1 + b2)."""
    (a1, b1), (a2, b2) = divmod(left, PRIME), divmod(right, PRIME)
    return packed(a2 * a1 % PRIME, (a2 * b1 + b2) % PRIME)


IN_ORDER = [each for each in algorithms() if each.in_rank_order]


@drawn(200, programs(IN_ORDER, roots=False), st.integers(0, 40), st.integers(0, 2**32))
def test_maps_are_composed_in_rank_order(made, count, seed):
    random = np.random.default_rng(seed)
    maps = packed(*random.integers(1, PRIME, (2, made.size, count)))
    results = simulate(made, list(maps), user_operator(after, "after"))
    for rank, _, where, who in defined(made, count):
        for element in range(where.start, where.stop):
            expected = reduce(after, [int(each) for each in maps[who, element]])
            assert results[rank][element] == expected


def times(left, right):
    """The product of 2 x 2 matrices of numbers modulo 251, each packed into 32 bits."""
    a, b, c, d = (left >> shift & 255 for shift in (24, 16, 8, 0))
    e, f, g, h = (right >> shift & 255 for shift in (24, 16, 8, 0))
    entries = (a * e + b * g, a * f + b * h, c * e + d * g, c * f + d * h)
    return sum((entry % 251) << shift for entry, shift in zip(entries, (24, 16, 8, 0), strict=True))


def digits(number):
    """How many hexadecimal digits a positive number has."""
    return sum((number >> 4 * k > 0) * 1 for k in range(15))


def joined(left, right):
    """The digits of one behind those of the other."""
    return (left << 4 * digits(right)) + right


@through([1, 2, 3, 4, 6, 8], IN_ORDER)
def test_matrices_and_strings_are_joined_in_rank_order(each, size):
    made = program(each.collective, each.name, size, segments=2, radix=3, shards=2)
    random = np.random.default_rng(size)
    matrices = random.integers(0, 251, (4, size, 7))
    packed_matrices = sum(m << s for m, s in zip(matrices, (24, 16, 8, 0), strict=True))
    products = simulate(made, list(packed_matrices), user_operator(times, "times"))
    names = [np.full(7, rank + 1) for rank in range(size)]
    strings = simulate(made, names, user_operator(joined, "joined"))
    for rank, _, where, who in defined(made, 7):
        wanted = int("".join(f"{r + 1:x}" for r in who), 16)
        assert np.all(strings[rank][where] == wanted)
        for element in range(where.start, where.stop):
            left = np.eye(2, dtype=int)
            for r in who:
                left = left @ matrices[:, r, element].reshape(2, 2) % 251
            unpacked = [int(products[rank][element]) >> s & 255 for s in (24, 16, 8, 0)]
            assert left.reshape(-1).tolist() == unpacked


@through([1, 2, 3, 5, 8, 9], IN_ORDER)
def test_the_leftmost_is_the_first_and_the_rightmost_the_last(each, size):
    x = [np.full(7, rank) for rank in range(size)]
    made = program(each.collective, each.name, size)
    for pick, which in [(lambda a, b: a, 0), (lambda a, b: b, -1)]:
        results = simulate(made, x, user_operator(pick, "pick"))
        for rank, _, where, who in defined(made, 7):
            assert np.all(results[rank][where] == who[which])


def test_the_ring_merges_a_chunk_from_the_next_rank_round_to_its_own():
    """Chunk c comes by c + 1, c + 2, ..., c; each puts itself left of a higher rank's."""
    value = check(program("all_reduce", "ring", 4)).values[0]
    assert [str(value[chunk]) for chunk in range(4)] == [
        "(x0+((x1+x2)+x3))",  # 1, 2, 3, then 0 on the left
        "((x0+(x2+x3))+x1)",  # 2, 3, then 0 on the left of them, then 1 on the right of 0
        "(((x0+x3)+x1)+x2)",  # 3, then 0 on its left, then 1 and 2 on the right
        "(((x0+x1)+x2)+x3)",
    ]


# ---- arguments -----------------------------------------------------------------------------


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
