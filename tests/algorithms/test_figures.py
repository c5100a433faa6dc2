"""Figures that stand in papers, or follow from one line of arithmetic."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, inf, lcm, log2

import pytest

from refcoll import cost, count, node_shape, program

SIZES = [1, 2, 3, 4, 5, 7, 8, 13, 16, 32, 33]
POWERS = [2, 4, 8, 16, 32, 64]


def all_reduce(name, size, **options):
    return program("all_reduce", name, size, **options)


# ---- ring ----------------------------------------------------------------------------------


@pytest.mark.parametrize("size", SIZES[1:])
@pytest.mark.parametrize("elements", [0, 1, 5, 64, 1000, 1001])
def test_ring_all_reduce_traffic_of_every_rank(size, elements):
    """All chunks but one in each phase: 2n - |c_r| - |c_(r+1)| sent by rank r."""
    lengths = [elements // size + (i < elements % size) for i in range(size)]
    for rank, counts in enumerate(count(all_reduce("ring", size), elements).ranks):
        assert counts.sent == 2 * elements - lengths[rank] - lengths[(rank + 1) % size]
        assert counts.received == 2 * elements - lengths[rank] - lengths[rank - 1]


@pytest.mark.parametrize("size", SIZES)
def test_ring_all_reduce_takes_2_n_minus_1_steps_of_an_nth(size):
    """Patarasuk and Yuan 2009: 2(N-1) steps, 2(N-1)/N S, which is the least there is."""
    counts = count(all_reduce("ring", size), 30 * size)
    for rank in counts.ranks:
        assert rank.steps == rank.messages_sent == rank.messages_received == 2 * (size - 1)
        assert rank.sent == rank.received == 2 * (size - 1) * 30
    assert counts.depth == counts.rounds == 2 * (size - 1)
    assert counts.least == 2 * (size - 1) * 30
    assert counts.bandwidth_optimal


@pytest.mark.parametrize("size", SIZES[1:])
def test_ring_sends_to_the_right_only(size):
    links = count(all_reduce("ring", size), 30 * size).links
    assert set(links) == {(r, (r + 1) % size) for r in range(size)}


def test_gradients_of_7_billion_parameters_on_8_gpus():
    """7e9 bfloat16 are 14 GB; a ring of 8 moves 2 * 7/8 of that, 24.5 GB, per rank."""
    made = all_reduce("ring", 8)
    sent = count(made, 7 * 10**9).sent * 2
    assert sent == 24_500_000_000
    alpha = 10e-6
    fast = cost(made, 14 * 10**9, latency=alpha, bandwidth=450e9)
    assert fast == pytest.approx(24.5 / 450 + 14 * alpha, rel=1e-9)
    assert fast - 14 * alpha == pytest.approx(54.4e-3, abs=0.05e-3)
    slow = cost(made, 14 * 10**9, latency=0, bandwidth=50e9)
    assert slow == pytest.approx(0.49, rel=1e-9)


@pytest.mark.parametrize("size", [2, 3, 8, 17])
@pytest.mark.parametrize("ports", ["one", "several"])
def test_the_ring_costs_what_its_formula_says(size, ports):
    """2(N-1) alpha + 2(N-1)/N S beta + (N-1)/N S gamma (Thakur et al. 2005, section 4.5)."""
    made, nbytes, alpha, bandwidth, merging = (
        all_reduce("ring", size),
        size * 10**6,
        3e-6,
        7e9,
        4e10,
    )
    share = (size - 1) * nbytes / size
    seconds = cost(
        made, nbytes, latency=alpha, bandwidth=bandwidth, reduce_bandwidth=merging, ports=ports
    )
    expected = 2 * (size - 1) * alpha + 2 * share / bandwidth + share / merging
    assert seconds == pytest.approx(expected)


def test_the_figures_that_people_know_for_the_ring():
    """In units of the vector: 1 on 2 ranks, 1.5 on 4, 1.75 on 8, 1.875 on 16; never 2."""
    for size, factor in [(2, 1), (4, 1.5), (8, 1.75), (16, 1.875)]:
        assert count(all_reduce("ring", size), 1600).sent == factor * 1600


@pytest.mark.parametrize("latency", [0, 1])
def test_an_endless_bandwidth_costs_latency_alone(latency):
    assert cost(all_reduce("ring", 5), 10**9, latency=latency, bandwidth=inf) == 8 * latency


# ---- trees ---------------------------------------------------------------------------------


@pytest.mark.parametrize("size", SIZES)
def test_binomial(size):
    rounds = ceil(log2(size))
    both = count(all_reduce("binomial", size), 1000)
    assert both.depth == 2 * rounds
    assert both.ranks[0].sent == both.ranks[0].received == 1000 * rounds
    for collective in ("broadcast", "reduce"):
        one = count(program(collective, "binomial", size), 1000)
        assert one.depth == one.rounds == rounds
    assert count(program("broadcast", "binomial", size), 1000).ranks[0].sent == 1000 * rounds


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("segments", [1, 2, 8])
def test_a_chain_is_a_pipeline(size, segments):
    """M segments over N - 1 links: the last leaves after M - 1 and takes N - 1 more rounds."""
    expected = segments + size - 2 if size > 1 else 0
    for collective in ("broadcast", "reduce"):
        counts = count(program(collective, "chain", size, segments=segments), 1000)
        assert counts.depth == expected
        assert counts.sent == counts.received == (1000 if size > 1 else 0)


@pytest.mark.parametrize("size", range(1, 65))
@pytest.mark.parametrize("segments", [1, 4])
def test_in_the_double_tree_no_rank_sends_more_than_twice_its_vector(size, segments):
    """Sanders, Speck and Traff 2009: full bandwidth, up and down; depth M + 2D - 1."""
    counts = count(all_reduce("double_binary_tree", size, segments=segments), 80)
    assert counts.sent <= 2 * 80
    assert counts.received <= 2 * 80
    if size > 1:
        assert counts.depth == segments + 2 * ceil(log2(size)) - 1


# ---- recursive -----------------------------------------------------------------------------


@pytest.mark.parametrize("size", POWERS)
def test_recursive_algorithms_at_powers_of_two(size):
    """Thakur, Rabenseifner and Gropp 2005, sections 4.5 and 4.6."""
    bits = size.bit_length() - 1
    doubling = count(all_reduce("recursive_doubling", size), 1000)
    assert [doubling.depth, doubling.steps, doubling.rounds] == [bits, bits, bits]
    assert {rank.sent for rank in doubling.ranks} == {1000 * bits}
    halving = count(all_reduce("rabenseifner", size), 10 * size)
    assert [halving.depth, halving.steps, halving.rounds] == [2 * bits] * 3
    assert {rank.sent for rank in halving.ranks} == {2 * (size - 1) * 10}
    assert {rank.received for rank in halving.ranks} == {2 * (size - 1) * 10}
    assert halving.bandwidth_optimal


@pytest.mark.parametrize("size", [3, 5, 6, 7, 9, 48])
def test_folding_costs_two_more_steps(size):
    bits = size.bit_length() - 1
    assert count(all_reduce("recursive_doubling", size), 1000).depth == bits + 2
    assert count(all_reduce("rabenseifner", size), 1024).depth == 2 * bits + 2


# ---- parameter server ----------------------------------------------------------------------


@pytest.mark.parametrize("size", [2, 3, 8, 16, 64])
def test_the_link_of_a_parameter_server_carries_it_all(size):
    hosted = count(all_reduce("parameter_server", size), 1000).ranks[0]
    assert (hosted.sent, hosted.received) == ((size - 1) * 1000, (size - 1) * 1000)
    alone = count(all_reduce("parameter_server_alone", size), 1000).ranks[size]
    assert (alone.sent, alone.received) == (size * 1000, size * 1000)
    assert count(all_reduce("parameter_server", size), 1000).depth == 2


@pytest.mark.parametrize(("ports", "alphas"), [("several", 2), ("one", 30)])
def test_the_latency_of_a_parameter_server_is_counted_either_way(ports, alphas):
    """15 workers one after another in, then out: 2 * 15."""
    made = all_reduce("parameter_server", 16)
    assert cost(made, 1000, latency=1, bandwidth=1e30, ports=ports) == pytest.approx(alphas)


def test_rounds_at_one_message_a_round():
    assert count(all_reduce("parameter_server", 16), 1000).rounds == 30
    assert count(all_reduce("parameter_server_alone", 16), 1000).rounds == 32


@pytest.mark.parametrize("size", [2, 5, 16])
def test_the_bandwidth_of_a_parameter_server(size):
    """(N-1) S through one link, in and then out, and (N-1) S merged."""
    made, nbytes = all_reduce("parameter_server", size), 10**9
    through = (size - 1) * nbytes
    assert cost(made, nbytes, latency=0, bandwidth=1e9) == pytest.approx(2 * through / 1e9)
    assert cost(made, nbytes, latency=0, bandwidth=1e9, reduce_bandwidth=1e10) == pytest.approx(
        2 * through / 1e9 + through / 1e10
    )


# ---- hierarchical --------------------------------------------------------------------------


@pytest.mark.parametrize(("nodes", "ranks"), [(4, 8), (2, 4), (8, 2), (3, 5)])
def test_rails_send_little_between_nodes(nodes, ranks):
    """Per rank 2 (S/m) (K-1)/K leaves the node, and 2 S (m-1)/m stays within."""
    elements, size = 10 * nodes * ranks, nodes * ranks
    made = all_reduce("hierarchical_rails", size, nodes=node_shape([ranks] * nodes))
    links = count(made, elements).links
    for rank in range(size):
        mine = {to: sent for (source, to), sent in links.items() if source == rank}
        between = sum(sent for to, sent in mine.items() if to // ranks != rank // ranks)
        within = sum(sent for to, sent in mine.items() if to // ranks == rank // ranks)
        assert between == 2 * Fraction(elements, ranks) * (nodes - 1) / nodes
        assert within == 2 * Fraction(elements) * (ranks - 1) / ranks


def test_rails_on_4_nodes_of_8():
    """S = 320: 2 * (320/8) * 3/4 = 60 elements of each rank leave its node."""
    links = count(all_reduce("hierarchical_rails", 32, nodes=node_shape([8] * 4)), 320).links
    out = [sum(n for (a, b), n in links.items() if a == r and b // 8 != r // 8) for r in range(32)]
    assert out == [60] * 32


@pytest.mark.parametrize("nodes", [(2, 3), (3, 1), (1, 2, 3), (4, 6), (2, 3, 2)])
def test_rails_share_fairly_on_nodes_of_unequal_size(nodes):
    """A rank of a node of m owns S/m, whatever the other nodes' sizes: the same formula."""
    size, k = sum(nodes), len(nodes)
    elements = 2 * lcm(*nodes) * k
    made = all_reduce("hierarchical_rails", size, nodes=node_shape(nodes))
    counted = iter(count(made, elements).ranks)
    for m in nodes:
        for rank in (next(counted) for _ in range(m)):
            share = Fraction(elements, m)
            assert rank.sent == 2 * (m - 1) * share + 2 * share * (k - 1) / k
            assert rank.received == rank.sent


def test_only_leaders_talk_between_nodes():
    nodes = ((0, 1, 2), (3, 4), (5, 6, 7, 8))
    links = count(all_reduce("hierarchical_leaders", 9, nodes=nodes), 900).links
    home = {rank: k for k, node in enumerate(nodes) for rank in node}
    between = {link: sent for link, sent in links.items() if home[link[0]] != home[link[1]]}
    assert between == {(0, 3): 1200, (3, 5): 1200, (5, 0): 1200}  # 2 * 2/3 * 900 round the ring


# ---- barrier -------------------------------------------------------------------------------


@pytest.mark.parametrize("size", range(1, 65))
def test_dissemination_takes_logarithmically_many_rounds(size):
    """Hensgen, Finkel and Manber 1988."""
    counts = count(program("barrier", "dissemination", size), 0)
    assert counts.steps == counts.depth == counts.rounds == ceil(log2(size))
    assert counts.sent == counts.received == 0
