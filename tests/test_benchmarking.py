"""What the benchmark reports is what was run: sizes, bandwidths, wrong elements."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from refcoll import ArgumentError, spawn
from refcoll.benchmarking import BUS_FACTORS, timings
from refcoll.cli.bench_tools import timed
from refcoll.cli.units import sizes_from
from refcoll.contenders import Contender, limits
from refcoll.goals import EMPTY, PRIVATE, goals, standings

TIMEOUT = 10
AUTO = Contender("auto", lambda case: case.plan("auto"))


def measured(size, collective, contenders, **options):
    def body(comm):
        return list(timings(comm, collective, [4000], contenders, iterations=3, **options))

    first, *others = spawn(size, body, timeout=TIMEOUT)
    assert all(other == first for other in others)
    return first


@pytest.mark.parametrize(("collective", "factor"), [
    ("all_reduce", 2 * 3 / 4), ("reduce_scatter", 3 / 4), ("all_gather", 3 / 4), ("broadcast", 1),
])  # fmt: skip
def test_bandwidths_are_those_of_nccl_tests(collective, factor):
    """algbw = S / t, and busbw = algbw x f, by nccl-tests' doc/PERFORMANCE.md, for 4 ranks."""
    rows = measured(4, collective, [AUTO])
    assert {row.in_place for row in rows} == (
        {False, True} if collective in ("all_reduce", "broadcast") else {False}
    )
    for row in rows:
        assert (row.size, row.count, row.type, row.wrong) == (4000, 1000, "float", 0)
        assert row.algbw == pytest.approx(4000 / (row.time_us * 1e-6) / 1e9)
        assert row.busbw == pytest.approx(row.algbw * factor)


def test_the_ratio_is_of_the_baseline():
    """A contender that sleeps 20 ms takes as many times the baseline's as it says."""

    def slow(case):
        run = case.plan("ring")

        def sleeping():
            time.sleep(0.02)
            run()

        return sleeping

    contenders = [Contender("fast", lambda case: case.plan("ring")), Contender("slow", slow)]
    for row in measured(2, "all_reduce", contenders, peers=["fast"]):
        ratio = row.ratios["fast"]
        assert ratio == 1 if row.contender == "fast" else ratio > 1
        if row.contender == "slow":
            assert row.time_us > 20_000


def test_wrong_elements_are_counted_over_all_ranks():
    """One that does nothing leaves zeros where the sum is not zero."""
    nothing = Contender("nothing", lambda case: lambda: None)
    (row, *_) = measured(2, "all_reduce", [nothing])
    assert 0 < row.wrong <= 2000


def test_only_what_has_a_bus_bandwidth_is_timed():
    with pytest.raises(ArgumentError, match="collective='scan': there are all_reduce"):
        measured(2, "scan", [])
    assert set(BUS_FACTORS) == {"all_reduce", "reduce_scatter", "all_gather", "broadcast"}


def test_sizes():
    assert sizes_from("256:16kB") == [256, 1024, 4096]
    assert sizes_from("1kB,1MB") == [1000, 1_000_000]


def test_the_tools_are_timed_on_what_is_said():
    """A ring all-reduce of 8 ranks takes 2 * 7 steps on each."""
    row = timed("all_reduce", "ring", 8)
    assert (row.algorithm, row.ranks, row.rank_steps) == ("ring", 8, 8 * 14)
    assert min(row.check_seconds, row.count_seconds, row.simulate_seconds) > 0
    assert row.peak_megabytes > 10
    assert timed("all_gather", "bruck", 5).rank_steps == 5 * 3


def test_every_way_to_call_is_right():
    """Planned, one-off, on memory of the transport; limits say nothing of right and wrong."""
    ways = [
        AUTO,
        Contender("one-off", lambda case: case.one_off("auto")),
        Contender("empty", lambda case: case.plan("auto"), empty=True),
        *limits(),
    ]
    for collective in BUS_FACTORS:
        rows = measured(3, collective, ways)
        assert {row.wrong for row in rows[:3]} == {0}
        assert {row.contender for row in rows if row.wrong is None} == {"copy", "add"}


def row(contender, size, **ratios):
    (made, *_) = measured(1, "all_reduce", [AUTO])
    return replace(made, contender=contender, size=size, ratios=ratios)


def test_goals_are_those_that_were_set():
    """Time / MPICH's: 0.7 up to 1 KB, 0.85 for 16 MB, 0.4 of it on comm.empty."""
    wanted = list(goals("all_reduce", "MPICH", True))
    rows = [
        row(PRIVATE, 256, MPI=0.7), row(PRIVATE, 16 << 20, MPI=0.86),
        row(EMPTY, 16 << 20, MPI=0.4), row("ring", 256, MPI=9), row(PRIVATE, 5000, MPI=9),
    ]  # fmt: skip
    stand = standings(wanted, rows)
    assert [(each.size, each.goal.most, each.met) for each in stand] == [
        (256, 0.7, True), (16 << 20, 0.85, False), (16 << 20, 0.4, True),
    ]  # fmt: skip


def test_goals_without_shared_memory_and_of_other_collectives():
    def at(collective, library, shared, size):
        found = goals(collective, library, shared)
        return [goal.most for goal in found if goal.first <= size <= goal.last]

    assert at("all_reduce", "MPICH", False, 1024) == [1.0]
    assert at("all_reduce", "Open MPI", False, 1024) == [1.8]
    assert at("all_reduce", "Open MPI", False, 1 << 20) == [1.0]
    assert at("broadcast", "MPICH", True, 64_000) == [1.0]
    assert at("broadcast", "MPICH", True, 1024) == []
    assert at("all_reduce", "another", True, 1024) == [0.05]
