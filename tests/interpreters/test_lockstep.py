"""The array interpreters say what the step-by-step ones say.

A program given as graphs instead of steps is played event by event, so the same algorithm
goes through both.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from refcoll import (
    ArgumentError,
    Copy,
    Reduce,
    Send,
    algorithms,
    check,
    cost,
    count,
    from_steps,
    program,
)
from refcoll.interpreters.clock import finish_times
from refcoll.interpreters.proving import proof
from refcoll.interpreters.table import table, waves
from refcoll.rates import Rates
from samples import named, through


def made(each, size):
    nodes = [[[0]], [[rank] for rank in range(1, size)]] if size > 1 else None
    return program(each.collective, each.name, size, nodes=nodes, segments=2, radix=3, shards=2)


def eventful(made):
    """The same program as graphs: no steps to play in lockstep."""
    return replace(made, steps=None, foreign=made.graph)


@through([1, 2, 3, 4, 6, 7, 8])
def test_counts_times_and_proofs_are_the_same_action_by_action(each, size):
    fast = made(each, size)
    slow = eventful(fast)
    assert table(fast) is not None
    assert table(slow) is None
    elements = fast.whole(1000)
    assert count(fast, elements) == count(slow, elements)
    far = {"between nodes": (3e-6, 2e9), "between switches": (7e-6, 1e9)}
    for ports in ("several", "one"):
        rates = {"latency": 1e-6, "bandwidth": 5e9, "reduce_bandwidth": 2e10, "ports": ports}
        for links in (None, far):
            assert cost(fast, elements, **rates, links=links) == pytest.approx(
                cost(slow, elements, **rates, links=links), rel=1e-12
            )
    ordered, report = proof(fast), check(slow)
    assert report.ok
    assert ordered == report.in_rank_order
    assert check(fast).in_rank_order == report.in_rank_order
    assert [sorted(values) for values in check(fast).values] == [
        sorted(values) for values in report.values
    ]


@pytest.mark.parametrize("each", algorithms(), ids=named)
def test_exact_times_are_the_same_action_by_action(each):
    """And near those in floating point."""
    fast = made(each, 4)
    layout = fast.layout(fast.whole(1003))
    alpha, beta, gamma = Fraction(1, 3), Fraction(1, 7), Fraction(1, 11)
    for ports in ("several", "one"):
        rates = Rates(alpha, beta, gamma, ports, {"between nodes": (alpha / 13, 5 * beta)})
        exact = finish_times(fast, layout, rates)
        assert exact == finish_times(eventful(fast), layout, rates)
        assert all(isinstance(end, Fraction) for end in exact)
        far = {"between nodes": (float(alpha / 13), float(5 * beta))}
        rounded = Rates(float(alpha), float(beta), float(gamma), ports, far)
        assert finish_times(fast, layout, rounded) == pytest.approx([float(end) for end in exact])


def test_waves():
    rows = [list(map(int, wave)) for wave in waves(np.array([5, 7, 5, 5]))]
    assert rows == [[0, 1], [2], [3]]
    assert list(waves(np.array([], np.int64))) == []


WRONG = {
    "a copy into a chunk that is sent": (
        "all_gather", [[(Send(0, 1), Copy(0, 1))], [(Send(1, 0), Copy(0, 0))]], 2),
    "two copies into one chunk": (
        "broadcast", [[(Send(0, 1), Send(0, 1))], [(Copy(0, 0), Copy(0, 0))]], 1),
    "a copy over a merge": (
        "reduce", [[(Reduce(0, 1), Copy(0, 2))], [(Send(0, 0),)], [(Send(0, 0),)]], 1),
    "a chunk named twice": ("reduce", [[(Reduce((0, 0), 1),)], [(Send((0, 0), 0),)]], 1),
    "a rank out of bounds": ("broadcast", [[(Send(0, 2),)], [(Copy(0, 0),)]], 1),
    "a chunk out of bounds": ("broadcast", [[(Send(1, 1),)], [(Copy(1, 0),)]], 1),
    "other chunks at the two ends": ("broadcast", [[(Send(1, 1),)], [(Copy(0, 0),)]], 2),
    "a contribution twice": ("reduce", [[(Reduce(0, 1), Reduce(0, 1))], [(Send(0, 0),) * 2]], 1),
    "a contribution missing": ("reduce", [[(Reduce(0, 1),)], [(Send(0, 0),)], []], 1),
    "an empty chunk sent": ("broadcast", [[(), (Send(0, 1),)], [(Send(0, 2),), (Copy(0, 0),)],
                                          [(Copy(0, 1),)]], 1),
    "a merge into nothing": ("broadcast", [[(Send(0, 1),)], [(Reduce(0, 0),)]], 1),
    "nobody heard of": ("barrier", [[], []], 1),
    "merged in two ways": (
        "all_reduce",
        [[(*(Send(0, o) for o in range(3) if o != r),
           *(Reduce(0, o) for o in [*range(r + 1, 3), *reversed(range(r))]))] for r in range(3)],
        1),
    "a chunk in another's place": (
        "all_to_all", [[(Send(0, 0), Copy(2, 0), Send(0, 1), Copy(3, 1))],
                       [(Send(1, 1), Copy(3, 1), Send(1, 0), Copy(2, 0))]], 2),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_not_proved(name):
    collective, steps, chunks = WRONG[name]
    areas = {"areas": 2, "result_area": 1} if collective == "all_to_all" else {}
    wrong = from_steps(collective, steps, chunks, **areas)
    assert proof(wrong) is None
    assert not check(wrong).ok


def test_what_is_not_aligned_is_left_to_the_events():
    late = from_steps("broadcast", [[(), (Send(0, 1),)], [(Copy(0, 0),)]], 1)
    assert table(late) is None
    assert check(late).ok
    assert not check(late).aligned


def test_every_algorithm_is_aligned():
    for each in algorithms():
        assert table(program(each.collective, each.name, 8)) is not None


@pytest.mark.parametrize("name", ["recursive_doubling", "double_binary_tree", "rabenseifner"])
def test_hundreds_of_ranks(name):
    """Exactly, all contributors of every chunk."""
    report = check(program("all_reduce", name, 512))
    assert report.ok
    assert report.capacity == 0


def test_ties_are_broken_alike():
    """On one port, messages that arrive together are taken in by the class of their link."""
    made = program("all_to_all", "linear", 4, nodes=[[0, 2], [1, 3]])
    rates = {"latency": 0, "bandwidth": 1e30, "links": {"between nodes": (1, 1e30)}, "ports": "one"}
    assert cost(made, 4, **rates) == cost(eventful(made), 4, **rates)


def test_what_does_not_fit_in_63_bits_is_refused():
    with pytest.raises(ArgumentError, match="too many to add up"):
        count(program("all_reduce", "one_shot", 4), 5 * 10**18)
    with pytest.raises(ArgumentError, match="too many to add up"):
        cost(program("all_reduce", "ring", 8), 10**20, latency=0, bandwidth=1)


def test_many_ranks_of_few_links_take_little_memory():
    """A table of all pairs of 16384 ranks would be 2 GB."""
    counts = count(program("broadcast", "binomial", 16384), 1)
    assert len(counts.links) == 16383
    assert counts.depth == 14


def test_few_tables_are_kept():
    for size in range(2, 40):
        table(program("all_reduce", "ring", size))
    assert table.cache_info().currsize <= 8


@pytest.mark.parametrize(
    "steps",
    [
        [[(Send(0, 1.7), Reduce(0, 1))], [(Send(0, 0), Reduce(0, 0))]],
        [[(Send(0, "1"), Reduce(0, 1))], [(Send(0, 0), Reduce(0, 0))]],
        [[(Send(0.5, 1), Reduce(0, 1))], [(Send(0, 0), Reduce(0, 0))]],
        [[(Send(0, 1), Reduce(0, 1, "middle"))], [(Send(0, 0), Reduce(0, 0))]],
        [[(Send((0, None), 1), Reduce(0, 1))], [(Send(0, 0), Reduce(0, 0))]],
    ],
)
def test_what_is_no_whole_number_is_no_step(steps):
    with pytest.raises(ArgumentError, match="rank 0 step 1"):
        from_steps("all_reduce", steps, 1)


def test_numpy_integers_are_whole_numbers():
    zero, one = np.int64(0), np.int32(1)
    steps = [[(Send(zero, one), Reduce(zero, one))], [(Send(0, zero), Reduce((zero,), 0))]]
    assert check(from_steps("all_reduce", steps, 1)).ok


@pytest.mark.parametrize("huge", [1 << 40, 1 << 70])
def test_numbers_beyond_all_arrays_are_out_of_bounds(huge):
    steps = [[(Send(0, huge),)], [(Copy(0, 0),)]]
    report = check(from_steps("broadcast", steps, 1))
    assert report.failures[0].verdict == "bounds"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"latency": float("nan")}, "latency=nan"),
        ({"latency": "a"}, "latency='a'"),
        ({"bandwidth": 0}, "bandwidth=0"),
        ({"ports": "single"}, "ports='single'"),
        ({"links": {"between nodes": 5}}, r"links\['between nodes'\]=5"),
        ({"links": {"by sea": (1, 1)}}, r"links\['by sea'\]"),
    ],
)
def test_rates_that_make_no_sense(arguments, words):
    rates = {"latency": 1, "bandwidth": 1} | arguments
    with pytest.raises(ArgumentError, match=words):
        cost(program("all_reduce", "ring", 2), 10, **rates)


@pytest.mark.parametrize("options", [{"helpers": -1}, {"helpers": "a"}, {"areas": 1.5}])
def test_programs_of_one_s_own_are_of_whole_numbers(options):
    with pytest.raises(ArgumentError):
        from_steps("all_reduce", [[], []], 1, **options)
