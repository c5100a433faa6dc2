"""The communicator: every method, on arrays of every kind, over in-process ranks."""

from __future__ import annotations

import gc
import threading
import time
import weakref
from functools import reduce

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import refcoll
from refcoll import (
    ArgumentError,
    DisagreementError,
    PeerFailedError,
    algorithms,
    node_shape,
    user_operator,
)
from refcoll.testing.assertions import same_bits

TIMEOUT = 5
SIZES = [1, 2, 3, 5]


def spawn(size, body, *args, **options):
    return refcoll.spawn(size, body, *args, **{"timeout": TIMEOUT, **options})


def named(collective):
    """All that run on any number of ranks; the others are in tests/test_collectives.py."""
    found = [a for a in algorithms(collective) if not a.needs_helpers]
    return ["auto", *(a.name for a in found if a.sizes.said == "every N")]


# ---- the collectives, each by each of its algorithms --------------------------------------


def inputs(size, count=11):
    return np.arange(size * count).reshape(size, count) ** 2 % 101


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("algorithm", named("all_reduce"))
def test_all_reduce(algorithm, size):
    x = inputs(size)
    for result in spawn(size, lambda c: c.all_reduce(x[c.rank], algorithm=algorithm)):
        assert np.array_equal(result, x.sum(0))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("algorithm", named("reduce"))
def test_reduce(algorithm, size):
    x = inputs(size)
    for root in range(size):
        results = spawn(size, lambda c, r=root: c.reduce(x[c.rank], "max", r, algorithm=algorithm))
        for rank, result in enumerate(results):
            assert np.array_equal(result, x.max(0)) if rank == root else result is None


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("algorithm", named("broadcast"))
def test_broadcast(algorithm, size):
    x = inputs(size)
    for root in range(size):
        for result in spawn(size, lambda c, r=root: c.broadcast(x[c.rank], r, algorithm=algorithm)):
            assert np.array_equal(result, x[root])


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("algorithm", named("reduce_scatter"))
def test_reduce_scatter(algorithm, size):
    """numpy's array_split cuts as promised: evenly, the first pieces one longer."""
    x = inputs(size)
    results = spawn(size, lambda c: c.reduce_scatter(x[c.rank], algorithm=algorithm))
    for result, piece in zip(results, np.array_split(x.sum(0), size), strict=True):
        assert np.array_equal(result, piece)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("algorithm", named("all_gather"))
def test_all_gather(algorithm, size):
    x = inputs(size)
    for result in spawn(size, lambda c: c.all_gather(x[c.rank], algorithm=algorithm)):
        assert np.array_equal(result, x.reshape(-1))


@pytest.mark.parametrize("counts", [(3, 0, 5), (0, 0, 0), (0, 7, 0), (1, 2, 3), [4, 4, 4]])
@pytest.mark.parametrize("algorithm", named("reduce_scatter"))
def test_pieces_of_given_lengths(counts, algorithm):
    x = inputs(3, sum(counts))
    total, cuts = x.sum(0), np.cumsum(counts)[:-1]

    def body(comm):
        piece = comm.reduce_scatter(x[comm.rank], counts=counts, algorithm=algorithm)
        return piece, comm.all_gather(piece, counts=counts)

    for (piece, whole), wanted in zip(spawn(3, body), np.split(total, cuts), strict=True):
        assert np.array_equal(piece, wanted)
        assert np.array_equal(whole, total)


def test_counts_may_be_a_numpy_array():
    counts = np.array([2, 0, 3])

    def body(comm):
        piece = comm.reduce_scatter(np.arange(5), counts=counts)
        return comm.all_gather(piece, counts=counts)

    for result in spawn(3, body):
        assert np.array_equal(result, np.arange(5) * 3)


@pytest.mark.parametrize("size", SIZES)
def test_a_barrier_is_left_by_nobody_before_the_last_has_come(size):
    def body(comm):
        for late in range(comm.size):
            time.sleep(0.02 * (comm.rank == late))
            entered = time.monotonic()
            assert comm.barrier() is None
            left = time.monotonic()
            times.append((late, entered, left))

    times = []
    spawn(size, body)
    for late in range(size):
        mine = [(entered, left) for which, entered, left in times if which == late]
        assert min(left for _, left in mine) >= max(entered for entered, _ in mine)


def test_nodes_do_not_change_values():
    x = inputs(6)
    for shape in ((6,), (3, 3), (4, 1, 1), (1,) * 6):
        for name in named("all_reduce"):
            results = spawn(
                6, lambda c, name=name: c.all_reduce(x[c.rank], algorithm=name),
                nodes=node_shape(shape),
            )  # fmt: skip
            assert all(np.array_equal(result, x.sum(0)) for result in results)


# ---- arrays of every kind ----------------------------------------------------------------

SHAPES = {
    "none": lambda: np.zeros(0),
    "0-d": lambda: np.array(3.5),
    "one": lambda: np.ones(1),
    "2-d": lambda: np.arange(12.0).reshape(3, 4),
    "2-d, a side of 0": lambda: np.zeros((3, 0)),
    "Fortran order": lambda: np.asfortranarray(np.arange(12.0).reshape(3, 4)),
    "transposed": lambda: np.arange(24.0).reshape(2, 3, 4).transpose(2, 0, 1),
    "strided": lambda: np.arange(20.0)[1::3],
    "reversed": lambda: np.arange(20.0)[::-1],
    "strided in 2-d": lambda: np.arange(40.0).reshape(5, 8)[::2, ::-3],
    "the same element everywhere": lambda: np.broadcast_to(np.float64(2), (3, 5)),
    "misaligned": lambda: np.frombuffer(bytes(range(1, 34)), np.float64, 4, 1),
}
WRITABLE = [name for name, make in SHAPES.items() if make().flags.writeable]


@pytest.mark.parametrize("name", SHAPES)
def test_any_shape_and_strides(name):
    """Values, shape, dtype; and the input is left as it was."""

    def body(comm):
        x = SHAPES[name]()
        before = x.copy()
        out = np.full_like(x, 99)
        results = [comm.all_reduce(x), comm.all_reduce(x, out=out), comm.broadcast(x, 1)]
        results.append(comm.reduce(x, root=1))
        pieces = comm.reduce_scatter(x), comm.all_gather(x)
        assert np.array_equal(x, before)
        assert results[1] is out
        return results, pieces

    x = SHAPES[name]()
    pieces = np.array_split(3 * x.reshape(-1), 3)
    for rank, (results, (piece, whole)) in enumerate(spawn(3, body)):
        total, into, same, root = results
        assert (total.shape, total.dtype) == (x.shape, x.dtype)
        assert np.array_equal(total, 3 * x)
        assert np.array_equal(into, 3 * x)
        assert same.shape == x.shape
        assert np.array_equal(same, x)
        assert np.array_equal(root, 3 * x) if rank == 1 else root is None
        assert np.array_equal(piece, pieces[rank])
        assert np.array_equal(whole, np.tile(x.reshape(-1), 3))


@pytest.mark.parametrize("name", WRITABLE)
def test_in_place(name):
    def body(comm):
        x = SHAPES[name]()
        x += comm.rank
        result = comm.all_reduce(x, out=x)
        assert result is x
        copied = x.copy()
        assert comm.broadcast(x, 2, out=x) is x
        reduced = comm.reduce(x, "max", root=1, out=x)
        assert reduced is (x if comm.rank == 1 else None)
        return copied, x

    for first, last in spawn(3, body):
        assert np.array_equal(first, 3 * SHAPES[name]() + 3)
        assert np.array_equal(last, 3 * SHAPES[name]() + 3)


@pytest.mark.parametrize("algorithm", named("all_gather"))
@pytest.mark.parametrize("counts", [None, (2, 0, 5)])
def test_a_gather_in_place_takes_its_piece_from_out(counts, algorithm):
    sizes = counts or (4, 4, 4)

    def body(comm):
        out = np.full(sum(sizes), -1)
        first = sum(sizes[: comm.rank])
        mine = out[first : first + sizes[comm.rank]]
        mine[:] = 10 * comm.rank
        assert comm.all_gather(mine, counts=counts, out=out, algorithm=algorithm) is out
        return out

    for out in spawn(3, body):
        assert out.tolist() == [0] * sizes[0] + [10] * sizes[1] + [20] * sizes[2]


@pytest.mark.parametrize("algorithm", named("reduce_scatter"))
@pytest.mark.parametrize("counts", [None, (2, 0, 5)])
def test_a_reduce_scatter_in_place_puts_its_piece_into_x(counts, algorithm):
    """The rest of x stays as it was: it is the input."""
    sizes = counts or (4, 4, 4)

    def body(comm):
        x = np.arange(sum(sizes)) * (comm.rank + 1)
        first = sum(sizes[: comm.rank])
        mine = x[first : first + sizes[comm.rank]]
        assert comm.reduce_scatter(x, counts=counts, out=mine, algorithm=algorithm) is mine
        return x

    for rank, x in enumerate(spawn(3, body)):
        wanted = np.arange(sum(sizes)) * (rank + 1)
        mine = slice(sum(sizes[:rank]), sum(sizes[: rank + 1]))
        wanted[mine] = np.arange(sum(sizes))[mine] * 6
        assert np.array_equal(x, wanted)


@pytest.mark.parametrize("spread", [slice(None, None, 2), slice(None, None, -2)])
def test_out_may_be_strided_and_nothing_between_is_touched(spread):
    def body(comm):
        room = np.full((4, 10), -1)
        comm.all_reduce(np.arange(20).reshape(4, 5), out=room[:, spread])
        rows = np.full(40, -1)
        comm.all_gather(np.arange(5), out=rows[:30][spread])
        comm.reduce_scatter(np.arange(15), out=rows[30:][spread])
        return room, rows

    for rank, (room, rows) in enumerate(spawn(3, body)):
        wanted = np.full((4, 10), -1)
        wanted[:, spread] = 3 * np.arange(20).reshape(4, 5)
        assert np.array_equal(room, wanted)
        wanted = np.full(40, -1)
        wanted[:30][spread] = np.tile(np.arange(5), 3)
        wanted[30:][spread] = 3 * np.arange(5 * rank, 5 * rank + 5)
        assert np.array_equal(rows, wanted)


def test_a_reduce_writes_out_on_the_root_only():
    def body(comm):
        out = np.full(4, -1)
        comm.reduce(np.arange(4), root=2, out=out)
        return out

    results = spawn(3, body)
    assert np.array_equal(results[2], 3 * np.arange(4))
    assert all(np.array_equal(result, [-1] * 4) for result in results[:2])


def test_results_are_new_arrays():
    def body(comm):
        x = np.arange(4)
        results = [comm.all_reduce(x), comm.all_reduce(x), comm.broadcast(x), comm.all_gather(x)]
        for result in results:
            assert result.flags.writeable
            assert not np.shares_memory(result, x)
        assert not np.shares_memory(results[0], results[1])
        results[0][:] = 99
        return results[1]

    for size in (1, 3):
        assert all(np.array_equal(r, size * np.arange(4)) for r in spawn(size, body))


NUMBERS = [
    np.int8, np.uint16, np.int32, np.uint64, np.float16, np.float32, np.float64, np.longdouble,
    np.complex64, np.complex128, np.clongdouble, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn,
    ml_dtypes.float8_e5m2, ">i4", ">f4", ">f8", ">c16", "<u2",
]  # fmt: skip


@pytest.mark.parametrize("dtype", NUMBERS, ids=lambda d: np.dtype(d).str + np.dtype(d).name)
@pytest.mark.parametrize("algorithm", ["ring", "recursive_doubling", "binomial"])
def test_any_number(dtype, algorithm):
    """Small integers, which every dtype adds exactly: float8_e5m2 holds 0, ..., 8."""
    dtype = np.dtype(dtype)
    x = np.array([[0, 1, 2, 1], [1, 1, 0, 2], [2, 0, 1, 4]])

    def body(comm):
        mine = x[comm.rank].astype(dtype)
        return comm.all_reduce(mine, algorithm=algorithm), comm.all_gather(mine)

    for total, whole in spawn(3, body):
        assert total.dtype == whole.dtype == dtype
        assert total.astype(np.complex128).tolist() == [3, 2, 3, 7]
        assert whole.astype(np.complex128).tolist() == x.reshape(-1).tolist()


@pytest.mark.parametrize(("op", "wanted"), [
    ("logical_and", [0, 0, 1]), ("logical_or", [0, 1, 1]), ("logical_xor", [0, 1, 1]),
    ("bitwise_and", [0, 0, 1]), ("bitwise_or", [0, 1, 1]), ("bitwise_xor", [0, 1, 1]),
    ("min", [0, 0, 1]), ("max", [0, 1, 1]),
])  # fmt: skip
def test_bools(op, wanted):
    x = np.array([[0, 0, 1], [0, 1, 1], [0, 0, 1]], bool)
    for result in spawn(3, lambda c: c.all_reduce(x[c.rank], op)):
        assert result.dtype == bool
        assert result.tolist() == [bool(each) for each in wanted]


@pytest.mark.parametrize("size", SIZES)
def test_logical_operators_give_0_or_1(size):
    for op, wanted in (("logical_and", 1), ("logical_or", 1), ("logical_xor", size % 2)):
        for result in spawn(size, lambda c, op=op: c.all_reduce(np.array([0, 6 + c.rank]), op)):
            assert result.tolist() == [0, wanted]


def test_special_values_are_alike_on_every_rank():
    """IEEE 754-2019 minimum and maximum: NaN propagates, -0.0 < +0.0; inf - inf is NaN."""
    nan, inf = np.nan, np.inf
    x = np.array([[nan, 0.0, inf, 1.0], [1.0, -0.0, -inf, nan], [2.0, 0.0, 0.0, -inf]])
    wanted = {
        "min": [nan, -0.0, -inf, nan],
        "max": [nan, 0.0, inf, nan],
        "sum": [nan, 0.0, nan, nan],
        "prod": [nan, -0.0, nan, nan],
    }
    for name in named("all_reduce"):
        for op, values in wanted.items():
            for result in spawn(3, lambda c, n=name, o=op: c.all_reduce(x[c.rank], o, algorithm=n)):
                assert same_bits(result, np.array(values)), (name, op, result)


UFUNCS = {"sum": np.add, "prod": np.multiply, "min": np.minimum, "bitwise_xor": np.bitwise_xor}


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_random_calls_against_numpy(data):
    size = data.draw(st.integers(1, 5))
    shape = data.draw(st.lists(st.integers(0, 4), max_size=3))
    x = np.random.default_rng(data.draw(st.integers(0, 99))).integers(-99, 99, (size, *shape))
    op, merge = data.draw(st.sampled_from(list(UFUNCS.items())))
    order = data.draw(st.sampled_from("CF"))
    algorithm = data.draw(st.sampled_from(named("all_reduce")))

    def body(comm):
        mine = np.array(x[comm.rank], order=order)
        return comm.all_reduce(mine, op, algorithm=algorithm)

    for result in spawn(size, body):
        assert result.shape == tuple(shape)
        assert np.array_equal(result, merge.reduce(x, axis=0))


# ---- operators ---------------------------------------------------------------------------


@pytest.mark.parametrize("size", SIZES)
def test_the_average_is_divided_once_at_the_end(size):
    """Of 1/3, 2/3, ...: the float64 sum in rank order, divided by N."""
    x = [np.array([(rank + 1) / 3]) for rank in range(size)]
    wanted = reduce(np.add, x) / size
    for result in spawn(size, lambda c: c.all_reduce(x[c.rank], "avg", algorithm="binomial")):
        assert result == wanted
    assert spawn(size, lambda c: c.reduce(x[c.rank], "avg", algorithm="binomial"))[0] == wanted


def test_the_average_is_finished_on_pieces_too():
    for rank, result in enumerate(
        spawn(2, lambda c: c.reduce_scatter(np.array([1.0, 5.0]), "avg"))
    ):
        assert result.tolist() == [[1.0], [5.0]][rank]


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e5m2", "bfloat16"])
@pytest.mark.parametrize("size", [5, 9, 17])
def test_the_average_divides_by_n_even_where_the_dtype_cannot_hold_n(dtype, size):
    """One rank brings 8, the others 0: 8/N, rounded once."""
    dtype = np.dtype(getattr(ml_dtypes, dtype))

    def body(comm):
        return comm.all_reduce(np.array([8 * (comm.rank == 0)]).astype(dtype), "avg")

    assert spawn(size, body)[0][0] == np.float64(8 / size).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("algorithm", named("all_reduce"))
def test_accumulating_wider_rounds_once(dtype, algorithm):
    """1 + 7 times the half of the distance to the next number: per hop each half is lost (or
    rounded up); exactly it is 1 + 3.5 distances, which rounds to even, 1 + 4 distances."""
    unit = float(ml_dtypes.finfo(dtype).eps)
    x = [np.array([1.0 if rank == 0 else unit / 2] * 9).astype(dtype) for rank in range(8)]

    def body(comm):
        wide = comm.all_reduce(x[comm.rank], accumulate="float32", algorithm=algorithm)
        mean = comm.all_reduce(x[comm.rank], "avg", accumulate="float32", algorithm=algorithm)
        narrow = comm.all_reduce(x[comm.rank], algorithm="ring")
        return wide, mean, narrow

    for wide, mean, narrow in spawn(8, body):
        assert wide.dtype == mean.dtype == dtype
        assert wide.astype(float).tolist() == [1 + 4 * unit] * 9
        # (1 + 3.5 u)/8: the sum scaled by a power of two, so rounded likewise
        assert mean.astype(float).tolist() == [(1 + 4 * unit) / 8] * 9
        assert not np.array_equal(narrow, wide)


def test_accumulating_wider_keeps_an_average_from_overflowing():
    x = np.full(3, 40_000, np.float16)  # twice that is beyond float16's 65504
    (narrow, wide), _ = spawn(
        2, lambda c: (c.all_reduce(x, "avg"), c.all_reduce(x, "avg", accumulate="float32"))
    )
    assert np.all(np.isinf(narrow))
    assert np.array_equal(wide, x)


def test_accumulating_works_in_place_and_for_pieces():
    def body(comm):
        x = np.arange(8, dtype=np.float16)
        piece = comm.reduce_scatter(x, accumulate=np.float64)
        assert comm.all_reduce(x, out=x, accumulate="float32") is x
        return x, piece

    for rank, (x, piece) in enumerate(spawn(2, body)):
        assert x.dtype == piece.dtype == np.float16
        assert np.array_equal(x, 2 * np.arange(8))
        assert np.array_equal(piece, 2 * np.arange(8)[4 * rank : 4 * rank + 4])


@pytest.mark.parametrize("accumulate", ["uint16", "uint8", "uint64"])
def test_accumulating_integers_of_the_other_sign_is_refused_or_right(accumulate):
    def body(comm):
        x = np.array([[-1, 5][comm.rank]], np.int8)
        try:
            return comm.all_reduce(x, "max", accumulate=accumulate).tolist()
        except refcoll.ArgumentError:
            return [5]

    assert spawn(2, body) == [[5], [5]]


COMPOSE = refcoll.user_operator(
    lambda f, g: f.real * g.real + 1j * (f.real * g.imag + f.imag), "compose"
)
"""Maps x -> a x + b as a + bi: associative, not commutative."""


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("collective", ["all_reduce", "reduce"])
def test_an_operator_that_does_not_commute_is_applied_in_rank_order(collective, size):
    maps = [(rank + 2, 3 * rank + 1) for rank in range(size)]
    a, b = reduce(lambda f, g: (f[0] * g[0], f[0] * g[1] + f[1]), maps)
    names = [each.name for each in algorithms(collective) if each.in_rank_order]
    for name in ["auto", *(name for name in names if name in named(collective))]:

        def body(comm, name=name):
            x = np.full(5, complex(*maps[comm.rank]))
            return comm.plan(collective, x, COMPOSE, algorithm=name).run()

        for result in spawn(size, body)[: 1 if collective == "reduce" else size]:
            assert np.array_equal(result, np.full(5, complex(a, b))), name


def test_an_operator_that_commutes_works_with_any_algorithm():
    """The greatest common divisor of 30, 42 and 70 is 2."""
    gcd = refcoll.user_operator(np.gcd, "gcd", commutative=True)
    x = np.array([[30], [42], [70]])
    for name in named("all_reduce"):
        for result in spawn(3, lambda c, n=name: c.all_reduce(x[c.rank], gcd, algorithm=n)):
            assert result.tolist() == [2]


# ---- in the background, and again and again ----------------------------------------------


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 2, 1, 0), (2, 0, 3, 1)])
def test_handles_may_be_waited_for_in_any_order(order):
    def body(comm):
        handles = [
            comm.all_reduce(np.arange(1000), async_op=True),
            comm.broadcast(np.array([comm.rank]), 2, async_op=True),
            comm.barrier(async_op=True),
            comm.all_gather(np.array([comm.rank]), async_op=True),
        ]
        between = comm.all_reduce(np.array([1]))  # in the foreground, after those
        assert all(handle.done() for handle in handles)
        results = {k: handles[k].wait() for k in order}
        assert results[0] is handles[0].wait()
        return between, results

    for between, results in spawn(3, body):
        assert between.tolist() == [3]
        assert np.array_equal(results[0], 3 * np.arange(1000))
        assert (results[1].tolist(), results[2], results[3].tolist()) == ([2], None, [0, 1, 2])


def test_the_background_does_not_block():
    """The handle is there before the other rank has come."""
    come = threading.Event()

    def body(comm):
        if comm.rank == 1:
            assert come.wait(TIMEOUT)
        handle = comm.all_reduce(np.array([1.0]), async_op=True)
        if comm.rank == 0:
            assert not handle.done()
            come.set()
        return handle.wait()

    assert [result.tolist() for result in spawn(2, body)] == [[2.0], [2.0]]


def test_errors_in_the_background_are_raised_by_wait():
    def body(comm):
        handle = comm.all_reduce(np.zeros(3), "nonsense", async_op=True)
        with pytest.raises(refcoll.ArgumentError, match="nonsense"):
            handle.wait()
        return comm.all_reduce(np.ones(1))[0]

    assert spawn(2, body) == [2, 2]


def test_plans():
    def body(comm):
        x, out = np.zeros(10, np.int64), np.zeros(10, np.int64)
        plan = comm.plan("all_reduce", x, out=out, algorithm="rabenseifner")
        assert plan.algorithm == "rabenseifner"
        totals = []
        for turn in range(50):
            x[:] = np.arange(10) * turn + comm.rank
            if turn % 3 == 2:
                handle, result = plan.start(), plan.wait()
                assert handle.done()
            else:
                result = plan.start().wait() if turn % 3 else plan.run()
            assert result is out
            totals.append(out.copy())
        return totals

    for totals in spawn(3, body):
        for turn, total in enumerate(totals):
            assert np.array_equal(total, 3 * turn * np.arange(10) + 3)


def test_a_plan_that_was_not_started_cannot_be_waited_for():
    def body(comm):
        plan = comm.plan("all_reduce", np.ones(3))
        with pytest.raises(ArgumentError, match=r"call start\(\) first"):
            plan.wait()
        return plan.run()[0]  # and nothing is lost

    assert spawn(2, body) == [2] * 2


def test_a_plan_in_place_goes_on_from_its_result():
    def body(comm):
        x = np.array([1])
        plan = comm.plan("all_reduce", x, out=x)
        for _ in range(10):
            plan.run()
        return x[0]

    assert spawn(3, body) == [3**10] * 3


def test_plans_of_different_calls_do_not_mix():
    def body(comm):
        x = np.array([comm.rank + 1])
        plans = [comm.plan("all_reduce", x, op) for op in ("sum", "prod", "max")]
        plans.append(comm.plan("broadcast", x, root=1))
        handles = [plan.start() for plan in plans for _ in range(3)]
        return [int(handle.wait()[0]) for handle in reversed(handles)][::-1]

    assert spawn(4, body) == [[10] * 3 + [24] * 3 + [4] * 3 + [2] * 3] * 4


@pytest.mark.parametrize("segments", [1, 3, 100])
def test_plans_take_nodes_and_segments(segments):
    def body(comm):
        x = np.arange(50) + comm.rank
        nodes = ((3, 0), (1, 2))
        deep = comm.plan("all_reduce", x, algorithm="hierarchical_rails", nodes=nodes).run()
        piped = comm.plan("broadcast", x, root=3, algorithm="chain", segments=segments).run()
        return deep, piped

    for deep, piped in spawn(4, body):
        assert np.array_equal(deep, 4 * np.arange(50) + 6)
        assert np.array_equal(piped, np.arange(50) + 3)


# ---- groups ------------------------------------------------------------------------------


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


def test_nodes_may_be_lists():
    for result in spawn(4, lambda c: c.all_reduce(np.ones(3)), nodes=[[0, 1], [2, 3]]):
        assert np.array_equal(result, [4, 4, 4])


# ---- spawn, and how things end -----------------------------------------------------------


def test_results_come_by_rank():
    assert spawn(4, lambda c, a, b: (c.rank, c.size, a, b), 10, 20) == [
        (rank, 4, 10, 20) for rank in range(4)
    ]


def test_the_first_cause_is_raised_with_the_rank_noted():
    def body(comm):
        if comm.rank == 2:
            raise ValueError("an accident")
        comm.barrier()

    with pytest.raises(ValueError, match="an accident") as caught:
        spawn(4, body)
    assert caught.value.__notes__ == ["raised on rank 2; ranks that failed: [0, 1, 2, 3]"]


@pytest.mark.parametrize("size", [0, -1])
def test_no_ranks_are_refused(size):
    with pytest.raises(refcoll.ArgumentError, match=f"size={size}"):
        spawn(size, lambda c: None)


def ends(how):
    """What the other ranks see of rank 1, which ends like that, and after how long."""

    def body(comm):
        if comm.rank == 1:
            how(comm)
            return None
        started = time.monotonic()
        with pytest.raises(PeerFailedError) as caught:
            [comm.all_reduce(np.ones(10)) for _ in range(3)]
        return str(caught.value), time.monotonic() - started

    return body


@pytest.mark.parametrize("calls", [0, 1, 2])
def test_a_rank_that_returns_early_leaves_nobody_hanging(calls):
    def how(comm):
        for _ in range(calls):
            comm.all_reduce(np.ones(10))

    for told in spawn(4, ends(how), timeout=30)[::3]:
        assert told is not None
        assert "rank 1 has ended" in told[0] or "failed" in told[0]
        assert told[1] < 5


@pytest.mark.parametrize("error", [ValueError("oops"), KeyboardInterrupt(), SystemExit(3)])
def test_a_rank_that_raises_leaves_nobody_hanging(error):
    seen = []

    def how(comm):
        time.sleep(0.05)
        raise error

    started = time.monotonic()
    exits = isinstance(error, SystemExit)  # which would end the process without a word
    with pytest.raises(PeerFailedError if exits else type(error)):
        spawn(4, lambda comm: seen.append(ends(how)(comm)), timeout=30)
    assert time.monotonic() - started < 5
    assert len(seen) == 3
    assert all("rank 1 raised" in said for said, _ in seen)


def test_a_rank_that_raises_with_work_in_the_background_leaves_nobody_hanging():
    def body(comm):
        if comm.rank == 0:
            comm.all_reduce(np.ones(4), async_op=True)
            raise ValueError("oops")
        time.sleep(0.2)
        comm.barrier()

    started = time.monotonic()
    with pytest.raises((ValueError, refcoll.RefcollError)):
        spawn(2, body, timeout=3)
    assert time.monotonic() - started < 6


def test_a_failed_part_does_not_keep_the_whole_waiting():
    """Rank 3 dies while others wait for it in a part that it belongs to."""

    def body(comm):
        part = comm.split(comm.rank // 2)
        if comm.rank == 3:
            raise ValueError("oops")
        part.barrier()

    started = time.monotonic()
    with pytest.raises(ValueError, match="oops"):
        spawn(4, body, timeout=30)
    assert time.monotonic() - started < 5


def test_closing_waits_for_the_background():
    def body(comm):
        handle = comm.all_reduce(np.ones(10), async_op=True)
        comm.close()
        assert handle.done()
        return handle.wait()[0]

    assert spawn(3, body) == [3.0] * 3


def test_timeouts_of_single_calls():
    def body(comm):
        if comm.rank == 1:
            time.sleep(0.5)
            return None
        started = time.monotonic()
        with pytest.raises(refcoll.DeadlineError, match="rank 1"):
            comm.barrier(timeout=0.1)
        return time.monotonic() - started

    assert spawn(2, body, timeout=30)[0] < 0.5


def test_a_communicator_says_who_it_is():
    assert spawn(2, repr) == [f"<Communicator rank {r} of 2 over in-process>" for r in range(2)]


# ---- found by readers --------------------------------------------------------------------


def test_a_root_has_no_meaning_where_the_collective_has_none():
    def body(comm):
        with pytest.raises(ArgumentError, match="root=1 has no meaning for reduce_scatter"):
            comm.plan("reduce_scatter", np.arange(8.0), root=1, algorithm="ring")
        return comm.all_reduce(np.ones(1))[0]

    assert spawn(4, body, timeout=5) == [4.0] * 4


@pytest.mark.parametrize("dtypes", [("<f4", ">f4"), (">f8", "<f8")])
def test_byte_order_of_the_accumulator_does_not_matter(dtypes):
    def body(comm):
        return comm.all_reduce(np.ones(3, np.float32), accumulate=dtypes[comm.rank])[0]

    assert spawn(2, body, timeout=5) == [2.0, 2.0]


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), "5", [1]])
def test_time_limits_are_numbers_above_0(timeout):
    def body(comm):
        with pytest.raises(ArgumentError, match="timeout="):
            comm.all_reduce(np.ones(1), timeout=timeout)
        return comm.all_reduce(np.ones(1))[0]

    assert spawn(2, body, timeout=5) == [2.0, 2.0]
    with pytest.raises(ArgumentError, match="timeout="):
        spawn(1, body, timeout=timeout)


@pytest.mark.parametrize(
    "function", [lambda a, b: (a + b).sum(), lambda a, b: (a + b) / 2, lambda a, b: None]
)
def test_a_user_operator_must_keep_shape_and_dtype(function):
    op = user_operator(function, "odd", commutative=True)
    with pytest.raises(ArgumentError, match="op='odd' must return an array of shape"):
        spawn(2, lambda comm: comm.all_reduce(np.arange(4), op), timeout=5)


def test_a_user_operator_cannot_write_into_another_ranks_memory():
    op = user_operator(lambda a, b: np.add(a, b, out=a), "greedy", commutative=True)
    with pytest.raises(ValueError, match="read-only"):
        spawn(3, lambda comm: comm.all_reduce(np.arange(9), op, algorithm="ring"), timeout=5)


def test_a_failure_in_the_background_that_nobody_waits_for_is_told(capsys):
    def body(comm):
        comm.all_reduce(np.ones(1 + comm.rank), async_op=True)

    with pytest.raises(DisagreementError, match="the ranks did not make the same call"):
        spawn(2, body, timeout=5)
    assert "nobody waited for it: the ranks did not make the same call" in capsys.readouterr().err


def test_an_operator_that_fails_on_one_rank_leaves_nobody_waiting():
    """The rank catches its own error and lives on; the others hear of it at once."""

    def body(comm):
        def merge(left, right):
            return (left + right).astype(float) if comm.rank == 1 else left + right

        started = time.monotonic()
        with pytest.raises(ArgumentError if comm.rank == 1 else PeerFailedError):
            comm.all_reduce(
                np.arange(9), user_operator(merge, "odd", commutative=True), algorithm="ring"
            )
        took = time.monotonic() - started
        time.sleep(4 * (comm.rank == 1))  # it lives on: that it ended is not what they hear
        return took

    assert max(refcoll.spawn(3, body, timeout=60)) < 3


def test_a_plan_that_is_dropped_is_gone_at_once():
    """Not when Python next looks for cycles: plans may hold much memory."""

    def body(comm):
        plan = comm.plan("all_reduce", np.ones(100), algorithm="ring")
        plan.run()
        held = weakref.ref(plan._plan)
        del plan
        return held() is None

    gc.disable()
    try:
        assert spawn(2, body) == [True, True]
    finally:
        gc.enable()


# ---- submit ------------------------------------------------------------------------------


def test_what_is_submitted_runs_in_order_with_the_calls():
    def body(comm):
        seen = []

        def work():
            seen.append("first")
            return float(comm.all_reduce(np.ones(1))[0])

        first = comm.submit(work)
        second = comm.submit(lambda: seen.append("second"))
        total = float(comm.all_reduce(np.full(1, 2.0))[0])  # waits for both
        assert seen == ["first", "second"]
        assert second.wait() is None
        return first.wait(), total

    assert refcoll.spawn(3, body, timeout=10) == [(3.0, 6.0)] * 3


def test_a_call_within_what_was_submitted_may_be_made_before_or_after_the_next():
    def body(comm):
        def work():
            time.sleep(0.05 * (comm.rank == 2))  # rank 2's next call is made before this one
            return float(comm.all_reduce(np.ones(1))[0])

        first = comm.submit(work)
        time.sleep(0.05 * (comm.rank == 0))  # rank 0's after it
        return float(comm.all_reduce(np.full(1, 2.0))[0]), first.wait()

    assert refcoll.spawn(3, body, timeout=10) == [(6.0, 3.0)] * 3


def test_what_it_raises_is_told_to_the_other_ranks():
    heard = []

    def body(comm):
        def work():
            if comm.rank == 1:
                raise ValueError("no such luck")
            return comm.all_reduce(np.ones(1))

        try:
            comm.submit(work).wait()
        except Exception as error:
            heard.append((comm.rank, str(error)))
            raise

    with pytest.raises(ValueError, match="no such luck"):
        refcoll.spawn(3, body, timeout=60)
    assert [rank for rank, _ in sorted(heard)] == [0, 1, 2]
    assert all("no such luck" in said for _, said in heard)
