"""What the benchmark reports is what was run: sizes, bandwidths, wrong elements."""

from __future__ import annotations

import time

import pytest

from refcoll import ArgumentError, spawn
from refcoll.benchmarking import BUS_FACTORS, timings
from refcoll.cli.bench import _sizes, _timed

TIMEOUT = 10


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
    rows = measured(4, collective, {"auto": lambda case: case.plan("auto")})
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

    contenders = {"fast": lambda case: case.plan("ring"), "slow": slow}
    for row in measured(2, "all_reduce", contenders, baseline="fast"):
        assert row.ratio == 1 if row.contender == "fast" else row.ratio > 1
        if row.contender == "slow":
            assert row.time_us > 20_000


def test_wrong_elements_are_counted_over_all_ranks():
    """One that does nothing leaves zeros where the sum is not zero."""
    (row, *_) = measured(2, "all_reduce", {"nothing": lambda case: lambda: None})
    assert 0 < row.wrong <= 2000


def test_only_what_has_a_bus_bandwidth_is_timed():
    with pytest.raises(ArgumentError, match="collective='scan': there are all_reduce"):
        measured(2, "scan", {})
    assert set(BUS_FACTORS) == {"all_reduce", "reduce_scatter", "all_gather", "broadcast"}


def test_sizes():
    assert _sizes("256:16kB") == [256, 1024, 4096]
    assert _sizes("1kB,1MB") == [1000, 1_000_000]


def test_the_tools_are_timed_on_what_is_said():
    """A ring all-reduce of 8 ranks moves 2 * 8 * 7 chunks."""
    row = _timed("all_reduce", "ring", 8)
    assert (row.algorithm, row.ranks, row.chunk_moves) == ("ring", 8, 112)
    assert row.check_seconds > 0
    assert row.count_seconds > 0
    assert row.peak_megabytes > 10
