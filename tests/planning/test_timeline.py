"""A step's timeline: by hand, by the closed form, event by event, and what others measured."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction

import pytest

from refcoll.dataparallel.shapes import parameter_shapes
from refcoll.dataparallel.tensors import Tensor
from refcoll.errors import ArgumentError
from refcoll.planning.machine import NODE, Link, Machine
from refcoll.planning.presets import preset
from refcoll.planning.published import published
from refcoll.planning.timeline import calls, step, timed
from refcoll.planning.timeline_overlap import reduced
from refcoll.planning.timeline_playing import difference, events, played_step
from refcoll.planning.timeline_sweeps import MIB, sweep
from refcoll.planning.timeline_training import Training, work

FOUR = tuple(Tensor(name, (count,)) for name, count in zip("abcd", (10, 20, 30, 40), strict=True))
FLAT = Machine(name="flat", links={NODE: Link(latency=0.0, bandwidth=1e9)}, ranks_per_node=2)
"""Two ranks: an all-reduce of S bytes takes S / 1e9 s by any good algorithm."""


def training(**changes):
    return Training(**{"model": FOUR, "backward": 1.0, "rule": "single", **changes})


def spans(found):
    return [(each.ready, each.start, each.end) for each in found]


# By hand, in exact numbers.


def test_a_queue_by_hand():
    """Ready at 2, 3, 6; lengths 3, 1, 5: the second waits for the first, the third does not."""
    found, last = reduced(
        [Fraction(2), Fraction(1), Fraction(3)],
        [Fraction(3), Fraction(1), Fraction(5)],
        after=Fraction(1),
    )
    assert spans(found) == [(2, 2, 5), (3, 5, 6), (6, 6, 11)]
    assert last == 7


def test_interference_by_hand():
    """Twice as slow from 1 to 4, so 3/2 of the next 2 seconds of work are done there; then
    busy from 9/2 to 11/2, which stretches the last second of work by half."""
    found, last = reduced(
        [Fraction(1), Fraction(2)],
        [Fraction(3), Fraction(1)],
        slowdown=Fraction(2),
        after=Fraction(1),
    )
    assert spans(found) == [(1, 1, 4), (Fraction(9, 2), Fraction(9, 2), Fraction(11, 2))]
    assert last == Fraction(11, 2) + Fraction(1, 2)


def test_work_that_ends_with_a_reduction():
    found, last = reduced(
        [Fraction(1), Fraction(3, 2)], [Fraction(3), Fraction(1)], slowdown=Fraction(2)
    )
    assert spans(found) == [(1, 1, 4), (4, 4, 5)]
    assert last == 4


@pytest.mark.parametrize("seed", range(20))
def test_the_closed_form_and_the_events_agree_exactly(seed):
    draw = random.Random(seed)
    count = draw.randint(1, 8)

    def numbers():
        return [Fraction(draw.randint(0, 20), draw.randint(1, 6)) for _ in range(count)]

    lengths, needed, after = numbers(), numbers(), Fraction(draw.randint(0, 5))
    late, slowdown = Fraction(draw.randint(0, 9), 4), Fraction(draw.randint(4, 12), 4)
    found, last = reduced(needed, lengths, begin=late, slowdown=slowdown, after=after)
    played, marks = events(needed, lengths, [Fraction(0), Fraction(0), late], slowdown, after)
    assert [(each.start, each.end) for each in found] == played
    assert [*(each.ready for each in found), last] == marks[-1]
    plain = reduced(needed, lengths, after=after)[0]
    ready = [sum(needed[: place + 1]) for place in range(count)]
    for place, each in enumerate(plain):  # the formula of timeline_overlap's first lines
        ends = (ready[j] + sum(lengths[j : place + 1]) for j in range(place + 1))
        assert each.end == max(ends)


def test_a_rank_on_time_agrees_with_the_events():
    trained = training(late=0.3, interference=1.5)
    lengths = [0.2, 0.1, 0.4, 0.3]
    on_time, late = timed(trained, 3, lengths).timelines
    played, marks = events(work(trained), lengths, [0.0, 0.0, 0.3], 1.5)
    assert [each.start for each in on_time.buckets] == pytest.approx([start for start, _ in played])
    assert [each.end for each in on_time.buckets] == pytest.approx([end for _, end in played])
    for told, mark in ((on_time, marks[0]), (late, marks[2])):
        assert [each.ready for each in told.buckets] == pytest.approx(mark[:-1])
        assert told.backward_end == pytest.approx(mark[-1])
    assert on_time.wait_end == late.wait_end


# From a model to a step.


def test_gradients_come_last_parameter_first_by_elements():
    assert work(training()) == pytest.approx([0.4, 0.3, 0.2, 0.1])
    one = training(rule=[["a", "d"], ["b", "c"]])  # as told: the first is ready with a, at last
    assert work(one) == pytest.approx([1.0, 0.0])
    assert work(training(rule="whole")) == [1.0]


def test_bytes_over_a_link_by_hand():
    """Buckets of 160, 120, 80 and 40 bytes at 1 GB/s, ready at 0.4, 0.7, 0.9 and 1 us."""
    made = step(training(backward=1e-6, algorithm="ring"), FLAT).timelines[0]
    ends = [each.end * 1e6 for each in made.buckets]
    assert ends == pytest.approx([0.56, 0.82, 0.98, 1.04])
    assert made.total_exposed == pytest.approx(0.04e-6)
    assert made.hidden == pytest.approx(0.9)


def test_a_step_is_its_parts():
    told = training(backward=1e-6, forward=3e-6, algorithm="ring")
    assert step(told, FLAT).seconds == pytest.approx(4.04e-6)
    assert step(replace(told, accumulate=5), FLAT).seconds == pytest.approx(20.04e-6)
    everyone = step(replace(told, accumulate=5, reduce_all=True), FLAT)
    assert everyone.seconds == pytest.approx(5 * 4.04e-6)
    assert everyone.efficiency == pytest.approx(4 / 4.04)
    assert training().forward_seconds == 0.5


def test_compression_and_zero2_move_fewer_bytes():
    """A quarter of the bytes; a reduce-scatter half of an all-reduce's, as is the gather."""
    told = training(backward=1e-6, algorithm="ring")
    assert [each.nbytes for each in calls(replace(told, compress=4.0), FLAT).buckets] == [
        40, 30, 20, 10,
    ]  # fmt: skip
    sharded = calls(replace(told, zero2=True, compress=4.0), FLAT)
    assert [each.seconds for each in sharded.buckets] == pytest.approx([20e-9, 15e-9, 1e-8, 5e-9])
    assert [each.nbytes for each in sharded.gathers] == [160, 120, 80, 40]
    made = step(replace(told, zero2=True), FLAT)
    assert made.gather == pytest.approx(200e-9)
    assert made.seconds == pytest.approx((0.5 + 1 + 0.02 + 0.2) * 1e-6)


# Predicted and played.


@pytest.mark.parametrize(
    ("algorithm", "within"), [("ring", 1e-9), ("hierarchical_rails", 1e-9), ("NCCL", 5e-3)]
)
def test_a_step_agrees_with_schedules_played_event_by_event(algorithm, within):
    """docs/planning.md: double trees are up to 5 % from above; few buckets of these take one."""
    told = Training(
        model=parameter_shapes("resnet50"), backward=0.05, cap_bytes=10 * MIB, late=0.003,
        algorithm=algorithm, interference=1.2,
    )  # fmt: skip
    machine = preset("p3.16xlarge").shaped(nodes=2, ranks_per_node=4)
    played = played_step(told, machine)
    assert abs(difference(step(told, machine), played)) < within


def test_16384_ranks():
    told = Training(model=parameter_shapes("gpt-7b", "bfloat16"), backward=0.2)
    machine = preset("h100-node").shaped(nodes=2048)
    made = step(told, machine)
    assert made.ranks == 16_384
    floor = 2 * 16383 / 16384 * sum(each.nbytes for each in told.model) / 450e9
    assert made.timelines[0].communication > floor


# What others measured.


def test_a_straggler_costs_every_rank_its_delay():
    """traceml#252: one of 4 ranks 200 ms late, every rank's step takes 292.5 ms."""
    (row,) = published(subject="straggler")
    told = training(backward=0.0600, forward=0.0325, algorithm="ring")
    machine = replace(FLAT, ranks_per_node=4)
    alone, late = step(told, machine), step(replace(told, late=0.2), machine)
    assert late.seconds - alone.seconds == pytest.approx(0.2)
    assert late.seconds == pytest.approx(row.value, abs=1e-3)
    on_time, last = late.timelines
    assert on_time.total_exposed == pytest.approx(last.total_exposed + 0.2)


# Sweeps.


def test_buckets_have_an_optimum_between_latency_and_waiting():
    told = Training(model=parameter_shapes("resnet50"), backward=0.064, algorithm="ring")
    made = sweep("bucket", told, preset("p3.16xlarge").shaped(nodes=4))
    times = [each.per_micro_batch for _, each in made.points]
    best = times.index(min(times))
    assert 0 < best < len(times) - 1
    assert made.best[0] == made.points[best][0]
    assert len(made.points[-1][1].timelines[0].buckets) == 1
    values = [value for value, _ in made.points]  # MiB; 25,557,032 parameters of 4 bytes
    assert values == [0.25, 0.5, 1, 2, 5, 10, 20, 50, 25_557_032 * 4 / 2**20]
    assert times[:best] == sorted(times[:best], reverse=True)


@pytest.mark.parametrize("kind", ["accumulate", "compress", "rails"])
def test_more_is_never_slower(kind):
    told = Training(model=parameter_shapes("resnet50"), backward=0.02, algorithm="ring")
    made = sweep(kind, told, preset("p3.16xlarge").shaped(nodes=4))
    times = [each.per_micro_batch for _, each in made.points]
    assert times == sorted(times, reverse=True)
    close = [value for value, each in made.points if each.per_micro_batch <= 1.01 * min(times)]
    assert made.enough[0] == min(close)


@pytest.mark.parametrize("zero2", [False, True])
def test_algorithms_that_can_run(zero2):
    told = Training(model=parameter_shapes("resnet50"), backward=0.02, zero2=zero2)
    names = [value for value, _ in sweep("algorithm", told, preset("a100-cluster")).points]
    assert names[0] == "NCCL"
    assert {"ring", "bruck" if zero2 else "hierarchical_rails"} <= set(names)


# Bad usage.


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"backward": 0.0}, "backward=0.0 must be seconds, above 0"),
        ({"forward": -1.0}, "forward=-1.0 must be seconds, 0 or more"),
        ({"interference": 0.5}, "interference=0.5 must be 1 or more"),
        ({"compress": 0.5}, "compress=0.5 must be 1 or more"),
        ({"late": -1.0}, "late=-1.0 must be seconds, 0 or more"),
        ({"accumulate": 0}, "accumulate=0"),
        ({"model": ()}, "has no elements"),
    ],
)
def test_bad_training(changes, said):
    with pytest.raises(ArgumentError, match=said):
        training(**changes)


def test_bad_sweep():
    with pytest.raises(ArgumentError, match="sweep='x' is not known: use one of bucket, "):
        sweep("x", training(), FLAT)
