"""Measured tables: between sizes, beyond them, and what cannot be."""

from __future__ import annotations

import pytest

from refcoll import ArgumentError
from refcoll.planning.machine import NODE, Link, Machine
from refcoll.planning.predicting import predict
from refcoll.planning.tables import Table

TABLE = {"collective": "all_reduce", "algorithm": "NCCL", "ranks": 8, "nodes": 1}
POINTS = ((1000, 10e-6), (4000, 20e-6), (16_000, 80e-6))


def test_between_two_sizes_time_is_a_power_of_the_size():
    table = Table(**TABLE, points=POINTS)
    assert table.seconds(4000) == 20e-6
    assert table.seconds(2000) == pytest.approx(10e-6 * 2**0.5)  # 4 times as long, twice the time
    assert table.seconds(8000) == pytest.approx(40e-6)
    assert table.covers(1000)
    assert table.covers(16_000)
    assert not table.covers(16_001)


def test_beyond_the_last_it_is_a_line():
    table = Table(**TABLE, points=POINTS)
    assert table.seconds(500) == pytest.approx(10e-6 - 500 * 10e-6 / 3000)
    assert table.seconds(0) == pytest.approx(10e-6 - 1000 * 10e-6 / 3000)
    assert table.seconds(32_000) == pytest.approx(160e-6)  # a = 0
    flat = Table(**TABLE, points=((1000, 10e-6), (2000, 9e-6)))  # as plateaus are, by chance
    assert flat.seconds(0) == 10e-6
    assert flat.seconds(4000) == 9e-6
    alone = Table(**TABLE, points=((1000, 10e-6),))
    assert (alone.seconds(10), alone.seconds(2000)) == (10e-6, pytest.approx(20e-6))


@pytest.mark.parametrize(
    "points", [(), ((0, 1.0),), ((2, 1.0), (1, 1.0)), ((1, 0.0),), ((1, float("nan")),)]
)
def test_a_table_that_cannot_be(points):
    with pytest.raises(ArgumentError, match="all_reduce table must"):
        Table(**TABLE, points=points)


def test_a_machine_answers_from_its_table_first():
    machine = Machine(
        name="m", links={NODE: Link(latency=0.0, bandwidth=450e9)},
        tables=(Table(**TABLE, points=POINTS, source="mine"),),
    )  # fmt: skip
    found = predict(machine, "all_reduce", 2000)
    assert (found.basis, found.source, found.sent) == ("measured", "mine", None)
    assert predict(machine, "all_reduce", 10**6).basis == "extrapolated"
    assert predict(machine.shaped(ranks_per_node=4), "all_reduce", 2000).basis == "rounds"
