"""Uniform schedules: found exactly where they are, and then proved, counted and simulated
as they are message by message."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refcoll import Copy, Program, Reduce, Send, check, count, from_steps, program, simulate
from refcoll.chunks import Layout
from refcoll.collectives import COLLECTIVES
from refcoll.interpreters import check as checking
from refcoll.interpreters import count as counting
from refcoll.interpreters import proving, uniform, uniform_proof
from refcoll.interpreters import simulate as simulating
from refcoll.operators import OPERATORS, operator
from refcoll.testing.assertions import same_bits
from samples import through

SIZES = [2, 3, 4, 5, 8, 13, 16, 19]


def shifted(steps, by, size):
    """The steps with all ranks and chunks moved on."""

    def moved(chunks):
        if isinstance(chunks, int):
            return ((chunks + by) % size,)
        return tuple((each + by) % size for each in chunks)

    return [
        [
            (type(a), moved(a.chunks), ((a.to if type(a) is Send else a.source) + by) % size)
            for a in step
        ]
        for step in steps
    ]


@through(SIZES)
def test_uniform_is_what_every_rank_does_turned(each, size):
    """Independently: all ranks' steps, enumerated, are rank 0's moved on by their number."""
    made = program(each.collective, each.name, size)
    found = uniform.uniform(made)
    if found is None:
        return
    first = list(made.steps(0))
    for rank in range(size):
        assert shifted(made.steps(rank), 0, size) == shifted(first, rank, size)
    assert [len(moves) for moves in found] == [sum(type(a) is Send for a in s) for s in first if s]


def test_the_ring_and_its_kin_are_uniform_and_trees_are_not():
    kin = {("all_reduce", "ring"), ("reduce_scatter", "ring"), ("all_gather", "ring"),
           ("reduce_scatter", "pairwise"), ("all_gather", "bruck"), ("all_gather", "direct"),
           ("all_gather", "pat"), ("all_gather", "sparbit")}  # fmt: skip
    for collective, name in kin:
        assert uniform.uniform(program(collective, name, 12)) is not None
    for name in ("recursive_doubling", "binomial", "rabenseifner", "double_binary_tree"):
        assert uniform.uniform(program("all_reduce", name, 16)) is None


@through(SIZES)
def test_proof_count_and_result_are_those_of_the_slower_ways(each, size, monkeypatch):
    made = program(each.collective, each.name, size)
    if uniform.uniform(made) is None:
        return
    if size > 2:
        assert uniform_proof.proof(made) == proving.proof(made)
    elements = made.whole(3 * size + 1)
    inputs = list(np.random.default_rng(size).standard_normal((size, elements)).astype("f4"))
    for module in (checking, counting, simulating):
        monkeypatch.setattr(module, "MANY", 2)
    fast = check(made), count(made, elements), simulate(made, inputs)
    for module in (checking, counting, simulating):
        monkeypatch.setattr(module, "MANY", 10**9)
    slow = check(made), count(made, elements), simulate(made, inputs)
    assert (fast[0].ok, fast[0].in_rank_order) == (slow[0].ok, slow[0].in_rank_order)
    assert fast[1] == slow[1]
    for one, other in zip(fast[2], slow[2], strict=True):
        assert same_bits(one, other)


@given(st.integers(2, 20), st.integers(0, 70), st.sampled_from(sorted(OPERATORS)), st.data())
@settings(max_examples=80, deadline=None)
def test_a_ring_simulated_is_numpys_merge(size, elements, name, data):
    """Any operator on integers, chunks of unequal lengths: as numpy merges all ranks at once."""
    made, op = program("all_reduce", "ring", size), operator(name)
    if "i" not in op.kinds:
        return
    cuts = sorted(data.draw(st.lists(st.integers(0, elements), min_size=size - 1,
                                     max_size=size - 1)))  # fmt: skip
    lengths = np.diff([0, *cuts, elements])
    layout = Layout(tuple(int(each) for each in lengths))
    inputs = list(np.random.default_rng(elements).integers(0, 5, (size, elements)))
    results = simulate(made, inputs, name, layout)
    wanted = inputs[0].copy()
    for each in inputs[1:]:
        op.merge(wanted, each, wanted)
    op.finish(wanted, size)
    for result in results:
        assert np.array_equal(result, wanted)


def test_thousands_of_ranks():
    """4096 ranks: 2 (N - 1) steps; (Patarasuk and Yuan) 2 (N - 1) / N of the vector each."""
    made = program("all_reduce", "ring", 4096)
    report, counts = check(made), count(made, 4096 * 3)
    assert report.ok
    assert not report.in_rank_order
    assert (counts.steps, counts.depth, counts.sent) == (8190, 8190, 2 * 4095 * 3)
    inputs = [np.full(4096, rank, np.int64) for rank in range(4096)]
    for result in simulate(made, inputs):
        assert np.all(result == 4096 * 4095 // 2)


# ---- what is wrong is left to those who can say it -----------------------------------------


def made_from(schedule, size, collective="all_reduce", chunks=None):
    kind = COLLECTIVES[collective]
    return Program("mine", kind, size, lambda rank: schedule(rank, size), chunks or size)


def ring_with(size, wrong):
    """A ring of which ``wrong(t, sent, received)`` spoils chunk offsets or the action."""

    def schedule(rank, size):
        right, left = (rank + 1) % size, (rank - 1) % size
        for t in range(1, size):
            sent, received, action = wrong(t, -t, -t - 1)
            yield Send((rank + sent) % size, right), action((rank + received) % size, left)
        for t in range(size - 1):
            yield Send((rank - t) % size, right), Copy((rank - t - 1) % size, left)

    return made_from(schedule, size)


SPOILT = {
    "a chunk that is not the one received": lambda t, s, r: (s, r - (t == 2), Reduce),
    "another chunk on both sides": lambda t, s, r: (s + (t == 2), r + (t == 2), Reduce),
    "copied instead of merged": lambda t, s, r: (s, r, Copy if t == 3 else Reduce),
}


@pytest.mark.parametrize("wrong", SPOILT.values(), ids=SPOILT)
def test_a_spoilt_ring_is_not_proved_but_explained(wrong):
    made = ring_with(20, wrong)
    assert uniform_proof.proof(made) is None
    report = check(made)
    assert not report.ok
    listed = from_steps("all_reduce", [list(made.steps(r)) for r in range(20)], 20)
    assert [f.verdict for f in report.failures] == [f.verdict for f in check(listed).failures]


@pytest.mark.parametrize("schedule", [
    lambda rank, size: iter([(Send(rank, (rank + 1) % size), Copy(rank - 1, 0 if rank else 1))]),
    lambda rank, size: iter([(Send(rank ^ 1, (rank + 1) % size),)]),
    lambda rank, size: iter([(Send(rank, (rank + 1) % size),)] * (1 + rank % 2)),
    lambda rank, size: iter([(Send(rank, (rank + 1) % (size - 1)),)]),
    lambda rank, size: iter([(Send(range(rank, size), (rank + 1) % size),)]),
    lambda rank, size: iter([(Send(0, (rank + 1) % size), Copy(0, (rank - 1) % size))]),
    lambda rank, size: iter([(Send(rank, (rank + 1) % size), Copy((rank - 1) % size, rank - 1))]),
    lambda rank, size: iter([(Send({rank: 1}.get(rank), (rank + 1) % size),)]),
    lambda rank, size: iter([(Send(abs(rank), (2 * rank) % size),)]),
])  # fmt: skip
def test_what_asks_more_of_its_rank_is_not_uniform(schedule):
    assert uniform.uniform(made_from(schedule, 6)) is None


def test_a_race_is_not_proved():
    """Copying into what the step sends; and the same chunk written twice."""

    def sends_what_it_copies(rank, size):
        yield Send(rank, (rank + 1) % size), Copy((rank - 1) % size, (rank - 1) % size)
        each = ((rank - 1) % size, (rank - 2) % size)
        yield (
            Send(each, (rank + 1) % size),
            Copy(((rank - 2) % size, (rank - 3) % size), (rank - 1) % size),
        )

    made = made_from(sends_what_it_copies, 16, "all_gather")
    assert uniform.uniform(made) is None
    assert check(made).failed("race")
