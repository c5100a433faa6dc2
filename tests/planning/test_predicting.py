"""Predictions: published figures, textbook figures, break-even sizes, measured tables."""

from __future__ import annotations

from dataclasses import replace

import pytest

from refcoll import ArgumentError
from refcoll.planning.machine import NETWORK, NODE, Link, Machine
from refcoll.planning.playing import played
from refcoll.planning.predicting import planner, predict, predictions
from refcoll.planning.presets import presets

S = 14 * 10**9
WIRE = Machine(
    name="wire",
    links={NODE: Link(latency=0.0, bandwidth=450e9), NETWORK: Link(latency=0.0, bandwidth=50e9)},
)


def test_seven_billion_gradients_of_two_bytes_on_8_ranks():
    """24.5 GB a GPU; 54.4 ms at 450 GB/s; 0.49 s at 50 GB/s on one rail."""
    ring = predict(WIRE, "all_reduce", S, "ring")
    assert (ring.sent, ring.received) == (24_500_000_000, 24_500_000_000)
    assert ring.seconds == pytest.approx(24.5 / 450)
    assert ring.busbw == pytest.approx(450e9)
    assert ring.algbw == pytest.approx(450e9 * 8 / 14)
    apart = predict(WIRE.shaped(nodes=8, ranks_per_node=1), "all_reduce", S, "ring")
    assert apart.seconds == pytest.approx(0.49)


def test_what_eight_rails_make_of_it():
    """32 ranks on 4 nodes: 27.125 GB over 50 GB/s, and over 8 times that."""
    cluster = WIRE.shaped(nodes=4)
    assert predict(cluster, "all_reduce", S, "ring").seconds == pytest.approx(27.125 / 50)
    wide = predict(cluster.shaped(rails=8), "all_reduce", S, "ring")
    assert wide.seconds == pytest.approx(27.125 / 400)
    assert wide.busbw == pytest.approx(400e9)


def test_32_b200_took_71_ms_and_are_predicted_to():
    """busbw 377 to 382 GB/s was measured from 4 GiB up (published.tsv)."""
    measured, *_ = predictions(presets()["b200-cluster"], "all_reduce", S)
    assert (measured.algorithm, measured.basis) == ("NCCL", "measured")
    assert measured.seconds == pytest.approx(0.0711, rel=0.01)
    assert measured.busbw == pytest.approx(381e9, rel=0.01)
    ring = predict(presets()["b200-cluster"], "all_reduce", S, "ring")
    assert ring.seconds == pytest.approx(measured.seconds, rel=0.01)


def test_latency_wins_at_4096_ranks_until_trees_and_switches_help():
    """A ring's 2(N-1) alpha are 8190 x 4 us; a tree's are of log N; switches' do not grow."""
    machine = presets()["h100-node"].shaped(nodes=512)
    ring = predict(machine, "all_reduce", 1_000_000, "ring")
    assert ring.latency == pytest.approx(machine.overhead + 8190 * 4e-6)
    assert ring.latency / ring.seconds > 0.999
    tree = predict(machine, "all_reduce", 1_000_000, "double_binary_tree")
    rails = predict(machine, "all_reduce", 1_000_000, "hierarchical_rails")
    switches = predict(machine, "all_reduce", 1_000_000, "in_network")
    assert switches.seconds < tree.seconds < rails.seconds < ring.seconds / 7
    few = presets()["h100-node"].shaped(nodes=4)
    assert switches.latency == predict(few, "all_reduce", 1, "in_network").latency


def test_sixteen_thousand_ranks():
    """2(N-1) rounds of alpha and S/N over all rails; and a ring within, and between, nodes."""
    machine = replace(
        WIRE.shaped(nodes=2048, rails=8),
        links={**WIRE.links, NETWORK: Link(latency=5e-6, bandwidth=50e9)},
    )
    n, k = 16_384, 2048
    ring = predict(machine, "all_reduce", S, "ring").seconds
    assert ring == pytest.approx(2 * (n - 1) * (5e-6 + S / n / 400e9))
    rails = predict(machine, "all_reduce", S, "hierarchical_rails").seconds
    within, between = 2 * 7 / 8 * S / 450e9, 2 * (k - 1) * (5e-6 + S / k / 400e9)
    assert rails == pytest.approx(within + between)


def test_switches_add_while_the_vector_streams_through():
    """37 us and S at 275 GB/s in one node (8 H200, NVLink SHARP: busbw 482 GB/s)."""
    machine = presets()["h200-node"]
    found = predict(machine, "all_reduce", 1 << 34, "in_network")
    assert found.seconds == pytest.approx(14e-6 + 2 * 11.5e-6 + 2**34 / (450e9 * 0.612))
    assert found.busbw == pytest.approx(482.26e9, rel=0.005)
    assert (found.sent, found.received) == (1 << 34, 1 << 34)


def test_the_slowest_stage_sets_the_pace():
    """A node's switch takes S at 100 GB/s, its 2 rails together at 80: neither waits."""
    stages = {
        NODE: Link(latency=1e-6, bandwidth=100e9),
        NETWORK: Link(latency=3e-6, bandwidth=40e9),
    }
    machine = replace(WIRE.shaped(nodes=4, rails=2), in_network=stages)
    found = predict(machine, "all_reduce", S, "in_network")
    assert found.seconds == pytest.approx(2 * (1e-6 + 3e-6) + S / 80e9)
    wide = predict(machine.shaped(rails=4), "all_reduce", S, "in_network")
    assert wide.seconds == pytest.approx(2 * (1e-6 + 3e-6) + S / 100e9)


def test_where_only_the_network_adds_the_node_does_its_part_first():
    far = Link(latency=10e-6, bandwidth=50e9)
    machine = replace(WIRE.shaped(nodes=4, rails=8), in_network={NETWORK: far})
    found = predict(machine, "all_reduce", S, "in_network")
    assert found.seconds == pytest.approx(2 * 10e-6 + 2 * 7 / 8 * S / 450e9 + S / 400e9)
    late = predict(replace(machine, overhead=0.5), "all_reduce", S, "in_network").seconds
    assert late == pytest.approx(0.5 + found.seconds)  # a call is one call
    alone = predictions(machine.shaped(nodes=1), "all_reduce", S)
    assert "in_network" not in {each.algorithm for each in alone}


def test_options_are_chosen_for_the_size():
    plans = planner(presets()["h100-node"].shaped(nodes=4), "all_reduce")
    few = plans.of("double_binary_tree", 1000).options["segments"]
    many = plans.of("double_binary_tree", 10**10).options["segments"]
    assert few < many


def test_a_pair_and_a_collective_that_only_the_schedule_tells():
    machine = presets()["a100-cluster"]
    pair = predict(machine, "all_reduce", S, "ring+ring")
    assert pair.seconds == pytest.approx(predict(machine, "all_reduce", S, "ring").seconds)
    assert pair.basis == "rounds"
    parts = (
        predict(machine, "reduce_scatter", S, "ring"),
        predict(machine, "all_gather", S, "bruck"),
    )
    mixed = predict(machine, "all_reduce", S, "ring+bruck").seconds + machine.overhead
    assert mixed == pytest.approx(sum(each.seconds for each in parts))
    tree = predict(machine, "broadcast", 32_000, "binomial")
    assert tree.basis == "schedule"
    # 2 of 5 rounds leave the node: one rank's message over all 8 rails.
    near, far = machine.links[NODE], machine.links[NETWORK]
    hand = 3 * (near.latency + 32_000 / near.rate) + 2 * (far.latency + 32_000 / (8 * far.rate))
    assert tree.seconds == pytest.approx(machine.overhead + hand)


def test_beyond_64_ranks_a_formula_bounds_it():
    machine = presets()["a100-node"].shaped(nodes=16)
    found = predict(machine, "broadcast", 32_000, "binomial")
    far = machine.links[NETWORK]
    hand = 7 * (far.latency + 32_000 * 8 / (8 * far.rate))
    assert found.basis == "bound"
    assert found.seconds == pytest.approx(machine.overhead + hand)


def test_a_bound_counts_messages_one_by_one_and_the_fullest_rail():
    """71 messages from the root; 3 ranks a node over 2 rails, each its own: 2 on one of them."""
    far = Link(latency=1e-6, bandwidth=10e9)
    machine = replace(
        WIRE, nodes=24, ranks_per_node=3, rails=2, striped=False, links={**WIRE.links, NETWORK: far}
    )
    found = predict(machine, "broadcast", 32_000, "linear")
    assert (found.basis, found.sent, found.received) == ("bound", 71 * 32_000, 32_000)
    assert found.seconds == pytest.approx(71 * (1e-6 + 2 * 32_000 / 10e9))


def test_what_does_not_exist_is_said():
    machine = presets()["a100-node"]
    with pytest.raises(ArgumentError, match="algorithm='rings' does not exist for all_reduce"):
        predict(machine, "all_reduce", 1, "rings")
    with pytest.raises(ArgumentError, match="algorithm='in_network' cannot run on a100-node"):
        predict(machine, "all_reduce", 1, "in_network")
    with pytest.raises(ArgumentError, match="nbytes=-1 must not be negative"):
        predict(machine, "all_reduce", -1)
    with pytest.raises(ArgumentError, match=r"nbytes=10{39} must be at most 4611686018427387904"):
        predict(machine, "all_reduce", 10**400, "ring")
    with pytest.raises(ArgumentError, match="collective"):
        predict(machine, "all_reduces", 1)


def test_why_an_algorithm_cannot_run_there_is_said():
    three = presets()["a100-node"].shaped(ranks_per_node=3)
    with pytest.raises(ArgumentError, match="1 node of 3 ranks: it is for N a power of two; see"):
        predict(three, "all_reduce", 1, "bine")
    with pytest.raises(ArgumentError, match="1 node of 3 ranks: it needs switches that add, or"):
        predict(three, "all_reduce", 1, "in_network")
    with pytest.raises(ArgumentError, match=r"algorithm='NCCL' cannot run .* or nothing is known"):
        predict(three, "scan", 1, "NCCL")


@pytest.mark.parametrize(
    ("collective", "factor"),
    [  # nccl-tests: doc/PERFORMANCE.md; src/gather.cu and src/scatter.cu
        ("all_reduce", 14 / 8), ("reduce_scatter", 7 / 8), ("all_gather", 7 / 8),
        ("broadcast", 1), ("reduce", 1), ("all_to_all", 7 / 8), ("gather", 7 / 8),
        ("scatter", 7 / 8), ("scan", None), ("barrier", None),
    ],
)  # fmt: skip
def test_busbw_is_that_of_nccl_tests(collective, factor):
    found = predict(WIRE, collective, S)
    assert found.busbw == (factor and pytest.approx(S / found.seconds * factor))


def test_nccl_takes_pat_on_one_rank_a_node_alone():
    """``ncclPatEnable``: PAT only where there are as many nodes as ranks."""
    shared = presets()["h100-node"].shaped(nodes=8)
    single = shared.shaped(nodes=64, ranks_per_node=1)
    for collective in ("all_gather", "reduce_scatter"):
        assert predict(shared, collective, 64_000, "NCCL").algorithm == "ring"
        assert predict(single, collective, 64_000, "NCCL").algorithm == "pat"


def test_nccl_is_its_table_or_else_its_own_algorithms():
    assert predict(presets()["a100-node"], "all_reduce", 1 << 20, "NCCL").seconds == 101.9e-6
    model = predict(presets()["h100-node"], "all_reduce", 1 << 34, "NCCL")
    assert (model.algorithm, model.measured) == ("in_network", False)
    wide = predict(presets()["h100-cluster"], "all_reduce", 1 << 34, "NCCL")
    assert wide.algorithm == "ring"  # SHARP between nodes is off unless it is asked for


def test_what_was_measured_of_one_algorithm_stands_at_the_end():
    """8 H200 with the ring forced: 367.61 GB/s at 16 GiB; nothing was measured at 1 MiB."""
    *_, last = predictions(presets()["h200-node"], "all_reduce", 1 << 34)
    assert (last.algorithm, last.basis) == ("ring", "measured")
    assert last.busbw == pytest.approx(367.61e9)
    few = predictions(presets()["h200-node"], "all_reduce", 1 << 20)
    assert [each.algorithm for each in few if each.measured] == ["NCCL"]


@pytest.mark.parametrize(
    ("first", "last", "least", "most"),
    [  # docs/planning.md
        (1 << 30, 1 << 35, -0.14, 0.01), (64 << 20, 1 << 30, -0.41, -0.03),
        (1 << 20, 64 << 20, -0.84, -0.10), (0, 1 << 20, -0.46, 0.03),
    ],
)  # fmt: skip
def test_the_error_of_the_model_is_as_stated(first, last, least, most):
    errors = []
    for machine in (presets()[n] for n in ("a100-node", "h200-node", "b200-node", "b200-cluster")):
        bare = replace(machine, tables=())
        for table in machine.tables:
            own = (table.algorithm, table.ranks) == ("NCCL", machine.ranks)
            errors += [
                predict(bare, "all_reduce", size, "NCCL").seconds / taken - 1
                for size, taken in table.points
                if own and first <= size < last
            ]
    assert len(errors) > 10
    assert least < min(errors) < least + 0.02
    assert most - 0.02 < max(errors) < most


def test_played_beside_predicted():
    machine = presets()["a100-node"].shaped(nodes=2)
    shown = [predict(machine, "all_reduce", 16 << 20, name) for name in ("ring", "rabenseifner")]
    times = played(machine, shown)
    for each in shown:
        assert times[each.algorithm] == pytest.approx(each.seconds, rel=1e-6)
    assert played(presets()["h100-node"], predictions(presets()["h100-node"], "all_reduce", 8))
