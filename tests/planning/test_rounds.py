"""Rounds seen from above: closed forms by hand, and the schedules themselves under the clock."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import partial
from math import lcm

import numpy as np
import pytest

from refcoll import ArgumentError, algorithms, node_shape, program
from refcoll.interpreters.clock import finish_times
from refcoll.planning.above import pattern
from refcoll.planning.candidates import candidates
from refcoll.planning.machine import NETWORK, NODE, SPINE, Link, Machine
from refcoll.planning.rounds import Shape, Timed, carried, everyone
from refcoll.planning.simulating import rates, simulated
from refcoll.rates import Rates
from refcoll.registry import find
from samples import named

LINKS = {
    NODE: Link(latency=2e-6, bandwidth=200e9, achieved=0.5, gap=0.5e-6),
    NETWORK: Link(latency=5e-6, bandwidth=20e9, achieved=0.5, gap=1e-6),
    SPINE: Link(latency=11e-6, bandwidth=3e9, gap=2e-6),
}
KINDS = ("all_reduce", "reduce_scatter", "all_gather", "all_to_all")
SEEN = [
    each for kind in KINDS for each in algorithms(kind) if pattern(kind, each.name, 8) is not None
]
OPTIONS = {"segments": 3, "radix": 3, "shards": 2}


def cluster(nodes, ranks, rails=1, **more):
    more = {"reduce_bandwidth": 50e9, "overhead": 7e-6} | more
    return Machine(
        name="c", links=LINKS, nodes=nodes, ranks_per_node=ranks, rails=rails, **more
    )  # fmt: skip


def both(each, machine):
    """Seconds by rounds, and by the clock, of a vector whose chunks are equal."""
    options = {key: value for key, value in OPTIONS.items() if key in each.options}
    made = program(
        each.collective, each.name, machine.ranks, nodes=machine.topology(), **options
    )  # fmt: skip
    nbytes = lcm(made.chunks, machine.ranks, 64) * 1000
    seen = pattern(each.collective, each.name, machine.ranks)
    rounds = Timed(machine, seen(Shape.of(machine), **options)).seconds(nbytes)
    return rounds, simulated(machine, made, nbytes)


def test_most_of_the_library_is_seen_from_above():
    missing = {each.name for each in algorithms("all_reduce")} - {each.name for each in SEEN}
    assert missing == {"parameter_server_alone", "in_network"}
    assert len(SEEN) == 31


FLAT = [cluster(1, ranks) for ranks in (1, 2, 3, 5, 8, 13)]
EQUAL = [
    cluster(2, 2), cluster(4, 4, 2), cluster(2, 8, 4), cluster(8, 1), cluster(3, 4, 3),
    cluster(4, 4, 2, striped=False), cluster(2, 4, 3, striped=False),
    cluster(4, 2, 2, nodes_per_switch=2),
]  # fmt: skip
NEAR_ENOUGH = {
    "swing": 1.45, "swing_latency": 1.45, "bine": 1.45, "double_binary_tree": 1.05,
    "recursive_multiplying": 1.5, "bcube": 1.5,
}  # fmt: skip
"""Of what does not do alike on all ranks of several nodes: partners that swing across the edge
of a node, and groups of 3 on nodes of 4, wait only for whom they meet; rounds for everyone."""


def runs(each, machine):
    size = machine.ranks
    return each.sizes.holds(size) and pattern(each.collective, each.name, size) is not None


@pytest.mark.parametrize("each", SEEN, ids=named)
def test_rounds_are_what_the_schedule_takes(each):
    for machine in filter(partial(runs, each), [*FLAT, *EQUAL]):
        rounds, clock = both(each, machine)
        most = NEAR_ENOUGH.get(each.name, 1.0) if machine.nodes > 1 else 1.0
        assert clock * (1 - 1e-9) <= rounds <= clock * most * (1 + 1e-9), machine.title


@pytest.mark.parametrize("each", SEEN, ids=named)
def test_rounds_are_never_below_the_schedule_where_nodes_fit_badly(each):
    machine = cluster(6, 3, 2, nodes_per_switch=2)
    if runs(each, machine):
        rounds, clock = both(each, machine)
        assert clock * (1 - 1e-9) <= rounds <= 1.5 * clock


@pytest.mark.parametrize("each", SEEN, ids=named)
def test_the_algorithms_formula_says_the_same_within_a_node(each):
    """Two derivations: the formula that an algorithm declares, and its rounds."""
    for size in (2, 6, 8, 16):
        if not each.sizes.holds(size) or not pattern(each.collective, each.name, size):
            continue
        options = {key: value for key, value in OPTIONS.items() if key in each.options}
        made = program(each.collective, each.name, size, **options)
        claimed, exact = made.claims.time, "time" not in made.claims.bounds
        free = replace(LINKS[NODE], gap=0.0)
        alone = Machine(name="n", links={NODE: free}, ranks_per_node=size, reduce_bandwidth=50e9)
        rounds = Timed(alone, pattern(each.collective, each.name, size)(Shape.of(alone), **options))
        for nbytes in (0, 10**9):
            wanted = claimed(nbytes, Rates(2e-6, 1 / 100e9, 1 / 50e9))
            if exact:
                assert rounds.seconds(nbytes) == pytest.approx(wanted, rel=1e-9)
            assert rounds.seconds(nbytes) <= wanted * (1 + 1e-9)


# ---- by hand -----------------------------------------------------------------------------

ALPHA, BETA = Fraction(5, 10**6), Fraction(1, 10**10)  # between nodes: 5 us, 10 GB/s achieved
NEAR = Fraction(2, 10**6), Fraction(1, 10**11)  # within: 2 us, 100 GB/s achieved
GAMMA, START = Fraction(1, 5 * 10**10), Fraction(7, 10**6)
S = 2**20 * 3**3


def seconds(name, machine, nbytes=S, collective="all_reduce"):
    (found,) = candidates(machine, find(collective, name))
    return found.clock.seconds(nbytes)


def test_a_ring_through_nodes_that_share_rails():
    """2(N-1) rounds, each as slow as the one message that leaves a node, over both rails."""
    n = 32
    hand = (
        START + 2 * (n - 1) * (ALPHA + Fraction(S, n) * BETA / 2) + (n - 1) * Fraction(S, n) * GAMMA
    )
    assert seconds("ring", cluster(4, 8, 2)) == pytest.approx(float(hand), rel=1e-12)
    alone = START + 2 * (n - 1) * (ALPHA + Fraction(S, n) * BETA) + (n - 1) * Fraction(S, n) * GAMMA
    one_rail = cluster(4, 8, 2, striped=False)
    assert seconds("ring", one_rail) == pytest.approx(float(alone), rel=1e-12)


@pytest.mark.parametrize("striped", [True, False])
def test_rails_between_nodes_carry_the_whole_vector_once(striped):
    """m ranks, S/m each, on R rails: 2(K-1) rounds in which a rail carries S/(K R)."""
    k, m, r = 4, 8, 2
    within = 2 * (m - 1) * (NEAR[0] + Fraction(S, m) * NEAR[1])
    between = 2 * (k - 1) * (ALPHA + Fraction(S, k * r) * BETA)
    merged = ((m - 1) * Fraction(S, m) + (k - 1) * Fraction(S, k * m)) * GAMMA
    machine = cluster(k, m, r, striped=striped)
    hand = START + within + between + merged
    assert seconds("hierarchical_rails", machine) == pytest.approx(float(hand), rel=1e-12)


def test_recursive_doubling_crowds_the_rails_once_it_leaves_the_node():
    """3 rounds within a node of 8, then 2 in which all 8 ranks send S over one rail."""
    hand = START + 3 * (NEAR[0] + S * NEAR[1]) + 2 * (ALPHA + 8 * S * BETA) + 5 * S * GAMMA
    assert seconds("recursive_doubling", cluster(4, 8)) == pytest.approx(float(hand), rel=1e-12)


def test_everyone_to_everyone_stands_in_its_own_way():
    """24 messages beyond the node and 7 within: gaps of 1 us and 0.5 us after the first."""
    share, m, far = Fraction(S, 32), 8, 24
    near = NEAR[0] + 6 * Fraction(1, 2 * 10**6) + 7 * share * NEAR[1]
    beyond = ALPHA + 23 * Fraction(1, 10**6) + m * far * share * BETA / 4
    hand = START + 2 * max(near, beyond) + 31 * share * GAMMA
    assert seconds("two_shot", cluster(4, 8, 4)) == pytest.approx(float(hand), rel=1e-12)


def test_loads_of_everyone_on_switches():
    within, network, spine = everyone(Shape(4, 2, 2, False, 2), 0.125)
    assert within == (0.125, 1)
    assert network == (2 * 0.125, 2)  # 2 ranks of the other node, each rank its own rail
    assert spine == (4 * 0.125, 4)


@pytest.mark.parametrize("striped", [True, False])
@pytest.mark.parametrize("uplinks", [0, 3])
def test_everyone_is_every_message_told_one_by_one(striped, uplinks):
    shape = Shape(6, 3, 2, striped, 2, uplinks)
    source, to = np.divmod(np.arange(18 * 18), 18)
    for one, other in zip(carried(shape, source, to, 0.5), everyone(shape, 0.5), strict=True):
        assert one == pytest.approx(other)


# ---- the clock itself --------------------------------------------------------------------


def direct(nodes, rails, gaps=None):
    """How long a direct all-gather takes: 1 s a message, 1 s an element on its link."""
    made = program("all_gather", "direct", 4, nodes=node_shape(nodes))
    one = Fraction(1)
    rates = Rates(one, Fraction(0), far={NETWORK: (one, one)}, rails=rails, gaps=gaps or {})
    return max(finish_times(made, made.layout(4), rates))


def test_ranks_of_a_node_share_a_link():
    """2 nodes of 2: each rank sends its element to the 2 of the other node, over the node's
    one link, over two, or over its own."""
    assert direct((2, 2), {NETWORK: 1}) == 1 + 4
    assert direct((2, 2), {NETWORK: 2}) == 1 + 2
    assert direct((2, 2), {NETWORK: 7}) == 1 + 2
    assert direct((2, 2), {}) == 1 + 2
    assert direct((3, 1), {NETWORK: 1}) == 1 + 3  # in at one rank, out at one rank
    assert direct((3, 1), {NETWORK: 2}) == 1 + 3  # ranks 0 and 2 share; rank 3's one takes 3


def test_messages_wait_for_one_another():
    assert direct((2, 2), {}, {NETWORK: Fraction(5)}) == 1 + 5 + 2
    assert direct((3, 1), {}, {NETWORK: Fraction(5)}) == 1 + 2 * 5 + 3  # rank 3 sends 3
    assert direct((2, 2), {}, {NETWORK: Fraction(5, 3)}) == Fraction(14, 3)


def test_a_uniform_schedule_is_played_without_its_steps(monkeypatch):
    """256 ranks on 32 nodes; what takes long, the table of all steps, is not made."""
    monkeypatch.setattr("refcoll.interpreters.clock.table", None)
    machine = cluster(32, 8, 4)
    made = program("all_reduce", "ring", 256, nodes=machine.topology())
    nbytes = 256 * 1000
    assert simulated(machine, made, nbytes) == pytest.approx(
        seconds("ring", machine, nbytes), rel=1e-9
    )


@pytest.mark.parametrize("name", ["ring", "bruck", "pat"])
def test_unequal_chunks_are_played_alike_with_and_without_steps(name, monkeypatch):
    machine = cluster(4, 4, 2)
    made = program("all_gather", name, 16, nodes=machine.topology())
    layout = made.layout(16 * 5 + 7)
    at_once = finish_times(made, layout, rates(machine))
    monkeypatch.setattr("refcoll.interpreters.clock.uniform", lambda program: None)
    assert at_once == pytest.approx(finish_times(made, layout, rates(machine)), rel=1e-12)


def test_rails_need_rounds():
    from refcoll import Copy, Send, cost, from_steps

    late = from_steps("broadcast", [[(), (Send(0, 1),)], [(Copy(0, 0),)]], 1)
    with pytest.raises(ArgumentError, match=r"rails=.* need rounds"):
        cost(late, 8, latency=1e-6, bandwidth=1e9, rails={NETWORK: 1})


def test_the_machine_in_the_clocks_terms():
    striped, apart = cluster(2, 4, 4), cluster(2, 4, 4, striped=False)
    assert rates(striped).far[NETWORK] == pytest.approx((5e-6, 1 / 40e9))
    assert rates(striped).rails == {NETWORK: 1, SPINE: 1}
    assert rates(apart).far[NETWORK] == pytest.approx((5e-6, 1 / 10e9))
    assert rates(apart).rails == {NETWORK: 4, SPINE: 4}
