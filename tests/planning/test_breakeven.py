"""Break-even sizes, where lines cross."""

from __future__ import annotations

import pytest

from refcoll.planning.breakeven import spans
from refcoll.planning.machine import NODE, Link, Machine
from refcoll.planning.predicting import planner


def test_break_even_is_where_two_lines_cross():
    """1 us + S / 1 GB/s and 11 us + S / 2 GB/s: at 20 kB."""
    found = spans(lambda size: "a" if 1e-6 + size / 1e9 < 11e-6 + size / 2e9 else "b")
    assert [each.algorithm for each in found] == ["a", "b"]
    assert found[0].first == 0
    assert found[1].first == pytest.approx(20_000, rel=0.003)


def test_two_changes_between_two_powers_of_two_are_found():
    names = {10_000: "b", 12_000: "c"}
    found = spans(lambda size: next((v for k, v in reversed(names.items()) if size >= k), "a"))
    assert [each.algorithm for each in found] == ["a", "b", "c"]
    assert [each.first for each in found[1:]] == [
        pytest.approx(10_000, rel=0.003), pytest.approx(12_000, rel=0.003)
    ]  # fmt: skip


def test_break_even_of_recursive_doubling_and_rabenseifner_by_hand():
    """8 ranks: 3 alpha + 3 S beta against 6 alpha + 7/4 S beta: S = 3 alpha / (5/4 beta)."""
    machine = Machine(name="m", links={NODE: Link(latency=2e-6, bandwidth=10e9)})
    plans = planner(machine, "all_reduce")

    def better(size: int) -> str:
        one, other = (plans.of(name, size).seconds for name in ("recursive_doubling", "swing"))
        return "doubling" if one < other else "halving"

    found = spans(better)
    assert found[1].first == pytest.approx(3 * 2e-6 * 4 / 5 * 10e9, rel=0.003)
