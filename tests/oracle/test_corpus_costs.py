"""Reported faults that results do not show: the schedule is counted."""

import pytest

import refcoll
from refcoll.chunks import Layout, balanced
from refcoll.planning.machine import NODE, Link, Machine
from refcoll.planning.predicting import predict
from refcoll.schedule import Copy, Reduce, Send


def received(lengths):
    """Elements that each of eight ranks receives, to have shares of these lengths."""
    counted = refcoll.count(refcoll.program("reduce_scatter", "pairwise", 8), Layout(lengths))
    return [rank.received for rank in counted.ranks]


def test_part_04():
    """Results are right where the last of eight ranks has six of 13 elements; counts show it:
    it receives six times as much as any other, and three times as much as it need."""
    faulty = (1,) * 7 + (6,)
    assert received(faulty) == [7] * 7 + [42]
    assert sorted(balanced(13, 8).lengths) == [1, 1, 1, 2, 2, 2, 2, 2]
    assert received(balanced(13, 8).lengths) == [14] * 5 + [7] * 3


def across(name):
    """Elements that two nodes of eight ranks send each other, one way, of 1600."""
    nodes = [range(8), range(8, 16)]
    counted = refcoll.count(refcoll.program("all_reduce", name, 16, nodes=nodes), 1600)
    return sum(many for (a, b), many in counted.links.items() if a < 8 <= b)


def test_perf_02():
    """A flat ring takes 2 x 15/16 of the vector across, an exchange between nodes takes it once:
    so much more than the links carry can "bus bandwidth" be."""
    assert across("ring") == 1600 * 2 * 15 // 16
    assert across("hierarchical_rails") == 1600


def test_perf_06():
    """Links of 25 GB/s and 5 us: at a megabyte 2(N-1) latencies take more than the bytes do."""
    for nbytes, wanted in ((10**6, (20.0, 12.5, 5.0)), (10**9, (24.99, 24.98, 24.90))):
        for size, busbw in zip((2, 8, 32), wanted, strict=True):
            machine = Machine(name="reported", links={NODE: Link(latency=5e-6, bandwidth=25e9)})
            machine = machine.shaped(ranks_per_node=size)
            found = predict(machine, "all_reduce", nbytes, "ring")
            assert found.busbw / 1e9 == pytest.approx(busbw, abs=0.01)


def two_halves(gathers):
    """Two ranks reduce a half each, and exchange them, as often as told."""
    for mine, other in ((0, 1), (1, 0)):
        steps = [(Send(other, other), Reduce(mine, other))]
        yield steps + gathers * [(Send(mine, other), Copy(other, other))]


def test_perf_03():
    """A round more moves what is overwritten: all is right, and more is sent than need be."""
    for gathers, sent in ((1, 64), (2, 96)):
        program = refcoll.from_steps("all_reduce", [*two_halves(gathers)], chunks=2)
        assert refcoll.check(program).ok
        counted = refcoll.count(program, 64)
        assert (counted.sent, counted.bandwidth_optimal) == (sent, sent == counted.least)
        assert counted.least == 64
