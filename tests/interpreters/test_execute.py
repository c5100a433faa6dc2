"""The executor gives, over a real transport, what the simulator gives, to the bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import strategies as st

from executed import CHANNEL, TIMEOUT, Short, run
from refcoll import algorithms, program, simulate, spawn
from refcoll.chunks import Layout
from refcoll.interpreters.execute import Input, Plan
from refcoll.operators import OPERATORS, kind, operator
from refcoll.testing.assertions import same_bits
from refcoll.testing.counting import Counting
from refcoll.testing.values import DTYPES, dtype_named
from samples import ROOTED, drawn, through

# ---- any algorithm, any size, any values -------------------------------------------------


@st.composite
def programs(draw):
    algorithm = draw(st.sampled_from(algorithms()))
    size = draw(st.integers(1, 6).filter(algorithm.sizes.holds))
    root = draw(st.integers(0, size - 1)) if algorithm in ROOTED else 0
    of = draw(st.lists(st.integers(0, 2), min_size=size, max_size=size))
    nodes = tuple(tuple(r for r in range(size) if of[r] == node) for node in sorted(set(of)))
    return program(
        algorithm.collective, algorithm.name, size,
        root=root, nodes=nodes, segments=draw(st.integers(1, 4)),
        radix=draw(st.integers(2, 4)), shards=draw(st.integers(1, 3)),
    )  # fmt: skip


@st.composite
def merges(draw):
    """A dtype, and an operator that is defined for it."""
    dtype = dtype_named(draw(st.sampled_from(DTYPES)))
    names = [op.name for op in OPERATORS.values() if kind(dtype) in op.kinds]
    return dtype, draw(st.sampled_from(names))


def values(seed: int, size: int, count: int, dtype):
    """Numbers of all sizes: where the dtype rounds, the order of merging shows."""
    draw = np.random.default_rng(seed)
    if kind(dtype) in "bi":
        return list(draw.integers(0, 2 if kind(dtype) == "b" else 100, (size, count)).astype(dtype))
    spread = draw.standard_normal((size, count)) * 10.0 ** draw.integers(-3, 3, (size, count))
    turned = spread * (1 + 1j) if kind(dtype) == "c" else spread
    return list(turned.astype(dtype))


@drawn(250, programs(), st.integers(0, 40), merges(), st.integers(0, 2**32))
def test_alike_to_the_bit_with_the_simulator(made, count, merge, seed):
    dtype, op = merge
    inputs = values(seed, made.size, made.whole(count), dtype)
    for real, wanted in zip(run(made, inputs, op), simulate(made, inputs, op), strict=True):
        assert same_bits(real, wanted)


@drawn(250, programs(), st.integers(0, 40), merges(), st.integers(0, 2**32))
def test_inputs_that_lie_elsewhere_are_read_there_and_left_alone(made, count, merge, seed):
    dtype, op = merge
    inputs = values(seed, made.size, made.whole(count), dtype)
    before = [each.copy() for each in inputs]
    real = run(made, inputs, op, runs=2, apart=True)
    for result, wanted in zip(real, simulate(made, inputs, op), strict=True):
        assert same_bits(result, wanted)
    for each, wanted in zip(inputs, before, strict=True):
        assert same_bits(each, wanted)


def test_a_ring_copies_nothing_of_an_input_that_lies_elsewhere():
    """Every chunk of the result is written by some step: there is nothing to load."""
    made = program("all_reduce", "ring", 4)

    def body(comm):
        memory, every = np.zeros(8), range(4)
        source = Input(np.ones(8), every, every)
        plan = Plan(made, comm.transport, memory, made.layout(8), operator("sum"), 1, source)
        return len(plan._loads) + sum(len(stage.before) for stage in plan.stages)

    assert spawn(4, body) == [0] * 4


@drawn(120, programs(), st.integers(0, 40), st.sampled_from(["int8", "int64", "uint16"]),
       st.integers(0, 2**32))  # fmt: skip
def test_integers_are_exact(made, count, dtype, seed):
    """numpy's sum over all ranks at once, modulo 2^bits, wherever the collective ends."""
    inputs = np.array(values(seed, made.size, made.whole(count), np.dtype(dtype)))
    layout, root = made.layout(made.whole(count)), made.root
    for rank, result in enumerate(run(made, list(inputs))):
        mine = layout.span(rank, rank + 1) if made.collective.scattered else slice(None)
        match made.collective.name:
            case "all_reduce":
                assert np.array_equal(result, inputs.sum(0, dtype=dtype))
            case "reduce" if rank == root:
                assert np.array_equal(result, inputs.sum(0, dtype=dtype))
            case "reduce_scatter":
                assert np.array_equal(result[mine], inputs.sum(0, dtype=dtype)[mine])
            case "broadcast":
                assert np.array_equal(result, inputs[root])
            case "all_gather":
                spans = [layout.span(r, r + 1) for r in range(made.size)]
                pieces = [inputs[r][span] for r, span in enumerate(spans)]
                assert np.array_equal(result, np.concatenate(pieces))
            case "gather" if rank == root:
                spans = [layout.span(r, r + 1) for r in range(made.size)]
                pieces = [inputs[r][span] for r, span in enumerate(spans)]
                assert np.array_equal(result, np.concatenate(pieces))
            case "scatter":
                assert np.array_equal(result[mine], inputs[root][mine])
            case "all_to_all":
                assert np.array_equal(result, inputs[:, mine].reshape(-1))
            case "scan":
                assert np.array_equal(result, inputs[: rank + 1].sum(0, dtype=dtype))
            case "exscan" if rank > 0:
                assert np.array_equal(result, inputs[:rank].sum(0, dtype=dtype))


@through([1, 2, 3, 4])
def test_a_plan_runs_again_and_again_on_changed_inputs(each, size):
    made, turns, count = program(each.collective, each.name, size), 5, 12

    def body(comm):
        memory = np.zeros(made.areas * count, np.int64)
        plan = Plan(made, comm.transport, memory, made.layout(count), operator("sum"), CHANNEL)
        start, results = made.result_area * count, []
        for turn in range(turns):
            memory[:count] = 0 if comm.rank >= made.size else np.arange(count) * (comm.rank + turn)
            plan.run(TIMEOUT)
            results.append(memory[start : start + count].copy())
        return results

    found = spawn(made.ranks, body, timeout=TIMEOUT)
    for turn in range(turns):
        inputs = [np.arange(count) * (rank + turn) for rank in range(size)]
        wanted = simulate(made, inputs)
        for rank in range(size):
            for chunk in range(made.chunks):
                if made.after(rank, chunk) is not None:
                    where = made.layout(count).span(chunk, chunk + 1)
                    assert np.array_equal(found[rank][turn][where], wanted[rank][where])


@through([1, 2, 4, 5])
def test_no_elements_at_all(each, size):
    made = program(each.collective, each.name, size)
    assert [result.size for result in run(made, [np.zeros(0)] * size)] == [0] * size


def test_chunks_of_any_lengths():
    """An unequal all-gather, some pieces empty."""
    layout = Layout((0, 3, 0, 5))
    whole = np.arange(8)
    inputs = [np.where((whole >= start) & (whole < stop), whole, -1)
              for start, stop in ((0, 0), (0, 3), (3, 3), (3, 8))]  # fmt: skip
    for result in run(program("all_gather", "ring", 4), inputs, layout=layout):
        assert np.array_equal(result, whole)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("count", [1, 2, 3, 5, 8])
def test_products_of_complex_numbers_do_not_depend_on_how_chunks_lie_together(dtype, count):
    """numpy multiplies one element in place without, and several with, fused multiply-add."""
    made = program("all_reduce", "rabenseifner", 4)
    for seed in range(10):
        inputs = values(seed, 4, count, np.dtype(dtype))
        wanted = simulate(made, inputs, "prod")
        for wrap in (lambda end: end, lambda end: Short(end, 1)):
            for real, right in zip(run(made, inputs, "prod", wrap=wrap), wanted, strict=True):
                assert real.tobytes() == right.tobytes()


@drawn(100, programs(), st.integers(0, 40), merges(), st.sampled_from([1, 8, 24]),
       st.integers(0, 2**32))  # fmt: skip
def test_segments_change_no_bit(made, count, merge, nbytes, seed):
    dtype, op = merge
    inputs = values(seed, made.size, made.whole(count), dtype)
    cut = run(made, inputs, op, wrap=lambda end: Short(end, nbytes), runs=2)
    for real, wanted in zip(cut, simulate(made, inputs, op), strict=True):
        assert same_bits(real, wanted)


@pytest.mark.parametrize(("nbytes", "messages"), [(8, 3), (16, 2), (24, 1), (100, 1), (4, 3)])
def test_segments_are_messages_but_not_steps(nbytes, messages):
    """Chunks of 3 float64: so many messages for each of the ring's 4 steps on 3 ranks."""
    ends = {}

    def wrap(end):
        ends[end.rank] = Counting(Short(end, nbytes))
        return ends[end.rank]

    results = run(program("all_reduce", "ring", 3), [np.arange(9.0)] * 3, wrap=wrap)
    assert all(np.array_equal(result, 3 * np.arange(9)) for result in results)
    for end in ends.values():
        assert end.traffic.steps == 4
        assert end.traffic.messages_sent == end.traffic.messages_received == 4 * messages
        assert end.traffic.sent_bytes == end.traffic.received_bytes == 4 * 24
