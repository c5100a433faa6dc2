"""The planner beside published figures: what is told, from what, and how far off."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import sqrt

import pytest

import refcoll.planning.published as table
from refcoll.planning import validation_steps as steps
from refcoll.planning.held_out import METHODS, alpha_beta, held_out
from refcoll.planning.presets import presets
from refcoll.planning.published import published
from refcoll.planning.tables import Table
from refcoll.planning.validation import USES, groups, validated
from refcoll.planning.validation_collectives import decline, ratios, repeated
from refcoll.planning.validation_rows import BEYOND, CHOSEN, FITTED, INPUT, PREDICTED
from refcoll.planning.validation_scaling import calibrated


@pytest.fixture(scope="module")
def told():
    return validated()


@pytest.fixture(scope="module")
def find(told):
    """The row with such columns."""

    def one(note="", **columns):
        (found,) = (
            each
            for each in told
            if all(getattr(each.row, name) == value for name, value in columns.items())
            and note in each.row.note
        )
        return found

    return one


# What is told of every row, and from what.


def test_every_row_is_told_once_or_it_is_said_why_not(told):
    assert [each.row for each in told] == published()
    for each in told:
        assert each.use in USES
        assert each.how
        assert (each.predicted is not None) == (each.use in (PREDICTED, FITTED, CHOSEN))
        assert bool(each.group) == (each.use in (PREDICTED, FITTED))
    assert {each.use for each in told} == set(USES)
    assert all(each.use == INPUT for each in told if each.row.subject == "machine")


def test_what_is_predicted_was_not_looked_at(told, monkeypatch):
    """Other figures in the places of all that are no inputs change no prediction."""
    seen = {id(each.row): each for each in told}
    rows = tuple(
        row if seen[id(row)].use in (INPUT, FITTED) else replace(row, value=row.value * 1.5)
        for row in published()
    )
    monkeypatch.setattr(table, "_rows", lambda: rows)
    for cached in (steps.interference, steps.per_bucket):
        cached.cache_clear()
    assert [each.predicted for each in validated()] == [each.predicted for each in told]


def test_inputs_of_steps_are_used(monkeypatch):
    """And other inputs do change what is predicted of them."""
    before = {each.row: each.predicted for each in steps.benchmarked(_benchmark())}
    rows = [
        replace(row, value=0.102) if (row.subject, row.ranks) == ("DDP step", 16) else row
        for row in published()
    ]
    monkeypatch.setattr(table, "_rows", lambda: rows)
    steps.interference.cache_clear()
    after = {each.row: each.predicted for each in steps.benchmarked(_benchmark())}
    steps.interference.cache_clear()
    changed = [row for row in before if row in after and before[row] != after[row]]
    assert {row.ranks for row in changed} == {2, 4, 8, 16}


def _benchmark():
    subjects = ("DDP step", "DDP bucket 1 MB against 25 MB")
    return [row for row in published() if row.subject in subjects]


def test_rows_that_gave_a_constant_are_marked(told):
    """achieved x bandwidth is that of a 16 GiB row, as published.tsv says beside it."""
    fitted = {(each.row.machine, each.row.ranks, each.row.algorithm) for each in told
              if each.use == FITTED}  # fmt: skip
    assert fitted == {
        ("a100-node", 8, "NCCL"), ("h200-node", 8, "NCCL"), ("h200-node", 8, "ring"),
        ("b200-node", 8, "NCCL"), ("b200-node", 32, "NCCL"),
    }  # fmt: skip
    assert all(abs(each.error) < 0.005 for each in told if each.use == FITTED)


# Predictions by hand.


def test_a_ring_within_a_node(find):
    """8 A100, 1 MiB: 14 us for the call, 14 hops of 1.9 us, 2 x 7/8 S at 78.3 % of 300 GB/s."""
    seconds = 14e-6 + 14 * 1.9e-6 + 1.75 * 2**20 / (0.783 * 300e9)
    each = find(machine="a100-node", bytes=1 << 20)
    assert each.predicted == pytest.approx(seconds)
    assert each.measured == 101.9e-6
    assert each.error == pytest.approx(-0.525, abs=1e-3)


def test_switches_that_add(find):
    """8 H200, 16 MiB: the call, 11.5 us up and down, S at 61.2 % of 450 GB/s; measured as busbw
    219.89 GB/s = 7/4 S / t."""
    each = find(machine="h200-node", bytes=1 << 24)
    assert each.predicted == pytest.approx(14e-6 + 23e-6 + 2**24 / (0.612 * 450e9))
    assert each.measured == pytest.approx(1.75 * 2**24 / 219.89e9)
    assert each.error == pytest.approx(-0.267, abs=1e-3)


def test_a_ring_over_four_nodes(find):
    """32 B200, 16 GiB: 62 rounds of S/32 over the eight rails of a node, 95.45 % of 400 GB/s."""
    rounds = 62 * (4e-6 + 2**34 / 32 / (0.9545 * 400e9))
    assert find(machine="b200-node", ranks=32, bytes=1 << 34).predicted == pytest.approx(
        14e-6 + rounds
    )


def test_accumulation_by_hand(find):
    """0.50 = compute + e, 0.41 = compute + e/4 on one machine; 2.00 = compute + f on two."""
    one, alone, two = (Fraction(each) for each in ("0.50", "0.41", "2.00"))
    compute = one - (one - alone) * Fraction(4, 3)
    each = find(subject="accumulation", nodes=2, note="no_sync")
    assert each.predicted == pytest.approx(float(compute + (two - compute) / 4))
    assert each.error == pytest.approx(-0.137, abs=1e-3)


def test_what_a_bucket_costs():
    """0.3 % of 100 ms, for 35 buckets instead of 4 (PyTorch's own count; docs/dataparallel.md)."""
    assert steps.per_bucket() == pytest.approx(0.003 * 0.100 / 31)


def test_a_late_rank_delays_all():
    assert steps.delays(0.2) == pytest.approx((0.2, 0.2))


# How far off: what the page says.


def test_errors_are_as_stated(told):
    found = {each.title: each for each in groups(told)}
    summed = [each for group in found.values() for each in group.rows]
    assert {id(each) for each in summed} == {id(each) for each in told if each.use == PREDICTED}
    most = {"below 1 MiB": 0.35, "1 to 64 MiB": 0.45, "64 MiB to 1 GiB": 0.15,
            "1 GiB and more": 0.02}  # fmt: skip
    for size, error in most.items():
        assert found[f"all-reduce, {size}"].median < error
    assert abs(found["all-reduce, 1 GiB and more"].worst.error) < 0.15
    assert found["all-reduce, 1 to 64 MiB"].bias < -0.25  # too fast


def test_resnet_scales_as_measured_where_the_network_was_as_told(find):
    assert abs(find(source="horovod/horovod#779", ranks=32).error) < 0.05
    assert 0.1 < find(source="horovod/horovod#871", ranks=32).error < 0.2
    assert find(source="horovod/horovod#396", ranks=32).error > 1
    rate, others = calibrated()
    assert 4e9 < rate * 8 < 6e9
    assert [each.row.nodes for each in others] == [4, 8]
    assert all(abs(each.error) < 0.1 for each in others)


def test_small_buckets_cost_and_the_sign_is_right(told):
    """Without interference, wrong; with what 25 MiB shows of it, right and too small."""
    rows = [each for each in told if each.row.quantity == "slowdown" and each.use == PREDICTED]
    assert [each.row.ranks for each in rows] == [2, 4, 8, 16]
    for each in rows:
        assert steps.slowed(each.row) < 0 < each.predicted < each.measured
        assert abs(each.error) < 0.5
        most = steps.slowed(each.row, 1e6, steps.per_bucket())
        assert each.predicted < most < each.measured  # nor would standing still explain it


def test_compressing_takes_time_that_nobody_told(told):
    rows = [each for each in told if each.row.subject == "PowerSGD"]
    assert [each.row.ranks for each in rows] == [4, 6, 8, 8]
    assert all(each.measured < each.predicted < each.row.ranks for each in rows)
    assert rows[-1].predicted > rows[-2].predicted


def test_what_two_tables_show_together(told):
    sizes = {each.nbytes: each for each in ratios(told) if "B200" in each.title}
    assert sizes[1 << 20].measured == pytest.approx(36.06 / 5.37 * (62 / 32) / 1.75)
    assert sizes[1 << 34].measured == pytest.approx(845.67 / 381.80 * (62 / 32) / 1.75)
    assert abs(sizes[1 << 34].predicted / sizes[1 << 34].measured - 1) < 0.02
    (sharp,) = (each for each in ratios(told) if "SHARP" in each.title)
    assert sharp.measured == pytest.approx(473.1 / 365.6)
    assert abs(sharp.predicted / sharp.measured - 1) < 0.05


def test_measurements_differ_from_each_other(told):
    """1.44 and 3.15 GB/s at 32 KiB on 8 H200."""
    first = next(repeated(told))
    assert (first.machine, first.nbytes) == ("h200-node", 1 << 15)
    assert first.second / first.first == pytest.approx(1.44 / 3.15)


def test_busbw_declines_with_nodes():
    nodes, chosen, ring = zip(*decline(), strict=True)
    assert (nodes[0], nodes[-1]) == (4, 512)
    assert list(chosen) == sorted(chosen, reverse=True)
    assert ring[-1] < 0.05 * ring[0]
    assert chosen[-1] > 0.5 * chosen[0]


def test_what_cannot_be_told_says_why(told):
    beyond = {each.row.subject for each in told if each.use == BEYOND}
    assert beyond == {"BERT", "straggler", "DDP bucket 1 MB against 25 MB"}


# Tables told by themselves.


def measured(name, ranks=8):
    (found,) = (
        each
        for each in presets()[name].tables
        if len(each.points) > 4 and each.ranks == ranks and each.nodes == ranks // 8
    )
    return found


def by_method(table):
    return {each.method: each for each in held_out(table)}


def test_points_left_out_by_hand():
    """8 A100: at 8 MiB the mean of its neighbours on log paper; at 2 MiB the line through the
    two sizes below."""
    found = list(by_method(measured("a100-node")).values())
    between, above = found[0], found[1]
    assert between.worst == (1 << 23, pytest.approx(sqrt(101.5 * 276.6) / 133.5 - 1))
    line = 101.9 + 2 * (101.9 - 80.4)
    assert above.worst == (1 << 21, pytest.approx(line / 101.4 - 1))


def test_a_straight_line_is_told_exactly_by_alpha_beta_alone():
    line = Table(
        collective="all_reduce", algorithm="NCCL", ranks=8, nodes=1,
        points=tuple((1 << k, 5e-5 + (1 << k) / 2e11) for k in range(10, 30)),
    )  # fmt: skip
    errors = {method: abs(each.worst[1]) for method, each in by_method(line).items()}
    assert len(errors) == len(METHODS)
    inside = errors.pop(next(iter(METHODS)))
    assert 0.01 < inside < 0.1  # a line is no power
    assert all(error < 1e-6 for error in errors.values())


def test_alpha_beta_is_the_best_line():
    points = [(2**k, Fraction(3) + Fraction(2**k, 7)) for k in range(8)]
    assert alpha_beta(points) == (3, Fraction(1, 7))
    assert alpha_beta([(1, 1.0), (2, 2.5), (4, 6.0)])[0] == 0.0  # never below 0
    assert alpha_beta([(1, 3.0), (2, 2.0), (4, 1.0)])[1] == 0.0


@pytest.mark.parametrize(
    ("name", "ranks"), [("a100-node", 8), ("h200-node", 8), ("b200-node", 8), ("b200-node", 32)]
)
def test_held_out_errors_are_as_stated(name, ranks):
    inside, octave, four, upper, lower, in_sample = by_method(measured(name, ranks)).values()
    assert inside.median < 0.07
    assert abs(inside.worst[1]) < 0.3
    assert octave.median < 0.07
    assert abs(octave.worst[1]) < 0.5
    assert four.median > 0.2
    assert in_sample.median < 0.13 < upper.median
    assert in_sample.median < lower.median
