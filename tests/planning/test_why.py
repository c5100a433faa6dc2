"""What several nodes lose, and what changes bring."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import pytest

from refcoll.dataparallel.tensors import Tensor
from refcoll.errors import ArgumentError
from refcoll.planning.machine import NETWORK, NODE, Link, Machine
from refcoll.planning.published import published
from refcoll.planning.timeline_sweeps import MIB
from refcoll.planning.timeline_training import Training
from refcoll.planning.why import CAUSES, Change, Setup, Why
from refcoll.planning.why_example import example


@pytest.fixture(scope="module")
def told():
    return example()


def test_the_two_results_of_the_story(told):
    before, after = (row.value for row in published(subject="one node to four"))
    assert round(told.scaling(told.setup), 1) == before == 2.3
    assert round(told.scaling(told.changed), 1) == after == 3.6


def test_only_the_three_named_things_change(told):
    first, last = told.setup, told.changed
    assert last.machine == first.machine
    assert last.training == replace(
        first.training, cap_bytes=25 * MIB, accumulate=2, algorithm="hierarchical_rails"
    )


def test_a_waterfall_falls_from_the_ideal_to_the_scaling(told):
    for setup in (told.setup, told.changed):
        causes, here, there, after = zip(*told.waterfall(setup), strict=True)
        assert causes == CAUSES
        assert after[0] == 4
        assert after[-1] == pytest.approx(told.scaling(setup))
        assert sum(here) == pytest.approx(told.one_node.step.per_micro_batch)
        assert sum(there) == pytest.approx(setup.step.per_micro_batch)
        assert min(here) >= 0
        assert min(there) >= 0


def test_causes_by_hand():
    """Two nodes of one rank: a ring of S = 400 bytes takes 2 alpha + S beta, all exposed."""
    links = {NETWORK: Link(latency=0.05, bandwidth=1e3)}
    machine = Machine(name="two", links=links, nodes=2, ranks_per_node=1)
    told = Training(
        model=(Tensor("a", (100,)),), backward=1.0, algorithm="ring", late=0.25, interference=1.5
    )
    made = Why(Setup(told, machine))
    expected = {
        "compute": 1.5, "bandwidth": 0.4, "latency": 0.1, "interference": 0.0, "straggler": 0.25,
    }  # fmt: skip
    assert made.setup.causes == pytest.approx(expected)
    assert made.scaling(made.setup) == pytest.approx(2 * 1.5 / 2.25)


def test_gains_add_up(told):
    whole = told.scaling(told.changed) - told.scaling(told.setup)
    assert sum(each.in_turn for each in told.gains) == pytest.approx(whole)
    assert sum(each.mean for each in told.gains) == pytest.approx(whole)
    assert all(each.alone > 0 and each.mean > 0 for each in told.gains)


def test_the_mean_is_over_all_orders(told):
    """Of the last change, over the six orders of the three."""
    change, found = told.changes[2], []
    for order in permutations(told.changes):
        before = Why(told.setup, order[: order.index(change)])
        after = Why(told.setup, order[: order.index(change) + 1])
        found.append(after.scaling(after.changed) - before.scaling(before.changed))
    assert told.gains[2].mean == pytest.approx(sum(found) / 6)
    assert told.gains[2].alone == pytest.approx(found[-1])  # it comes first there


def test_without_interference_and_stragglers_a_fast_network_saturates(told):
    """Measured latencies and rates alone bring nearly all of 4."""
    quiet = replace(told.changed.training, interference=1.0, late=0.0, accumulate=8)
    fast = Setup(quiet, told.setup.machine.shaped(rails=8))
    made = Why(fast)
    assert 3.98 < made.scaling(fast) <= 4
    loud = Why(Setup(replace(quiet, late=0.096), fast.machine))  # a micro-batch in eight
    assert loud.scaling(loud.setup) == pytest.approx(4 * 8 / 9, rel=5e-3)


def test_more_nodes_are_a_change_too():
    """Over links that cost nothing 2 nodes are twice as fast as one, and 8 are 8 times."""
    free = Link(latency=0.0, bandwidth=1e30)
    machine = Machine(name="free", links={NODE: free, NETWORK: free}, nodes=2)
    trained = Training(model=(Tensor("a", (10,)),), backward=1.0)
    why = Why(Setup(trained, machine), [Change("6 nodes more", machine={"nodes": 8})])
    assert why.scaling(why.setup) == pytest.approx(2)
    assert why.scaling(why.changed) == pytest.approx(8)
    assert why.gains[0].alone == pytest.approx(6)
    assert [scaling for *_, scaling in why.waterfall(why.changed)] == pytest.approx([8] * 5)


def test_bad_questions(told):
    with pytest.raises(ArgumentError, match="nodes=1 must be at least 2"):
        Why(told.one_node)
    with pytest.raises(ArgumentError, match="changes=7 are too many: use at most 6"):
        Why(told.setup, [Change("nothing")] * 7)
