"""Nodes on several switches: what each rail has beyond, and uplinks that nodes share."""

from __future__ import annotations

from dataclasses import replace

import pytest

from refcoll.planning.machine import NETWORK, NODE, SPINE, Link, Machine
from refcoll.planning.playing import played
from refcoll.planning.predicting import predict
from refcoll.planning.presets import presets

S = 14 * 10**9
NEAR, RAIL = Link(latency=0.0, bandwidth=450e9), Link(latency=0.0, bandwidth=50e9)
LEAVES = Machine(
    name="leaves", links={NODE: NEAR, NETWORK: RAIL, SPINE: RAIL}, nodes=8, rails=8,
    nodes_per_switch=4,
)  # fmt: skip
"""8 nodes on 2 switches; each rail has 50 GB/s to the other switch."""
CROWDED = replace(LEAVES, uplinks=8)
"""4:1: the 32 rails of a switch share 8 uplinks of 50 GB/s."""


def test_a_ring_leaves_a_switch_with_one_node_whose_rails_the_uplinks_match():
    full, crowded = (predict(each, "all_reduce", S, "ring") for each in (LEAVES, CROWDED))
    assert full.seconds == crowded.seconds == pytest.approx(2 * 63 / 64 * S / 400e9)
    few = predict(replace(CROWDED, uplinks=2), "all_reduce", S, "ring").seconds
    assert few == pytest.approx(2 * 63 / 64 * S / 100e9)
    wide = predict(replace(CROWDED, uplinks=64), "all_reduce", S, "ring").seconds
    assert wide == full.seconds  # a node still has no more than its rails


def test_oversubscribed_switches_by_hand():
    """Of a node's vector a quarter leaves the switch, half of it at once each way: S/8 a node
    at 8 x 50 GB/s, but 4 S/8 of all four nodes over 8 uplinks."""
    near, on = 2 * 7 / 8 * S / 450e9, 2 * 3 / 4 * S / 400e9
    full = predict(LEAVES, "all_reduce", S, "three_level_rails").seconds
    assert full == pytest.approx(near + on + 2 * S / 8 / 400e9)
    crowded = predict(CROWDED, "all_reduce", S, "three_level_rails").seconds
    assert crowded == pytest.approx(near + on + 2 * 4 * S / 8 / 400e9)
    uneven = replace(LEAVES, links={**LEAVES.links, SPINE: replace(RAIL, bandwidth=12.5e9)})
    by_rail = predict(uneven, "all_reduce", S, "three_level_rails").seconds
    assert by_rail == pytest.approx(crowded)  # all nodes cross: a quarter each, either way


def test_everyone_to_everyone_over_uplinks_by_hand():
    """32 ranks of a switch send S/64 to each of 32 beyond: 16 S over 8 uplinks, twice; over a
    node's rails go 8 x 56 messages; and 1024 messages a switch keep rank by rank 32."""
    direct = predict(CROWDED, "all_reduce", S, "two_shot").seconds
    assert direct == pytest.approx(2 * 16 * S / 400e9)
    wide = predict(replace(CROWDED, uplinks=1000), "all_reduce", S, "two_shot").seconds
    assert wide == pytest.approx(2 * 8 * 56 / 64 * S / 400e9)


def test_a_mixture_of_experts_exchange_by_hand():
    """All-to-all of S on each of 1024 ranks, 128 nodes of 8: 1016/1024 of it leaves the node,
    from 8 ranks over 8 rails of 50 GB/s; 1 ms of gaps at 1 us a message, and 4 us."""
    machine = replace(presets()["h100-node"].shaped(nodes=128), overhead=0.0)
    found = predict(machine, "all_to_all", 1 << 30, "linear")
    rate = machine.links[NETWORK].rate
    assert found.basis == "rounds"
    assert found.seconds == pytest.approx(4e-6 + 1015e-6 + 2**30 * 1016 / 1024 / rate)
    crowded = predict(CROWDED, "all_to_all", S, "linear").seconds
    assert crowded == pytest.approx(32 * 32 * S / 64 / 400e9)


def test_what_has_no_rounds_is_bounded_where_uplinks_are_shared():
    """A binomial broadcast of 64 ranks, as if all 32 ranks of a switch sent S at once: 6 rounds;
    and the clock, which knows no uplinks, plays nothing."""
    found = predict(CROWDED, "broadcast", S, "binomial")
    assert found.basis == "bound"
    assert found.seconds == pytest.approx(6 * 32 * S / 400e9)
    assert predict(replace(CROWDED, uplinks=1000), "broadcast", S, "binomial").seconds == (
        pytest.approx(6 * 8 * S / 400e9)
    )
    assert predict(LEAVES, "broadcast", S, "binomial").basis == "schedule"
    ring = [predict(CROWDED, "all_reduce", S, "ring")]
    assert not played(CROWDED, ring)
    assert played(
        CROWDED.shaped(nodes=4), [predict(CROWDED.shaped(nodes=4), "all_reduce", S, "ring")]
    )


def test_few_nodes_of_a_machine_with_switches_are_on_one():
    for nodes in (1, 2, 4):
        few, alone = LEAVES.shaped(nodes=nodes), replace(LEAVES, nodes=nodes, nodes_per_switch=None)
        for name in ("ring", "three_level_rails", "three_level_leaders", "two_shot"):
            found = predict(few, "all_reduce", S, name).seconds
            assert found == predict(alone, "all_reduce", S, name).seconds
