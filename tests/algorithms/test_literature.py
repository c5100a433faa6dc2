"""The table of counts, in literal figures, each from a paper, a manual or a line of arithmetic.

``bytes`` are the most that one rank sends, for a vector of ``S`` elements.
"""

from __future__ import annotations

from math import ceil, log2

import pytest

from refcoll import check, count, node_shape, program

S = 55_440
"""Divided by all numbers to 12, and by 16 x 3465."""
TABLE = [
    # collective, algorithm, N, options, depth, bytes sent, source of the figures
    ("all_reduce", "ring", 8, {}, 14, 97_020, "2 (N-1) steps, 2 (7/8) S: Patarasuk & Yuan 2009"),
    ("all_reduce", "segmented_ring", 4, {"segments": 5}, 18, 83_160, "(M + 1)(N - 1), 2 (3/4) S"),
    # p = 4: fold 1, 2 log2 4 = 4, unfold 1; a folded survivor sends 2 (3/4) S and S.
    ("all_reduce", "rabenseifner", 6, {}, 6, 138_600, "Thakur et al. 2005, p = 4, r = 2: 2.5 S"),
    ("all_reduce", "rabenseifner", 8, {}, 6, 97_020, "Thakur et al. 2005: 2 log2 N, 2 (7/8) S"),
    # Halves in, the merged half over, at the end all back: 2 (3/4) S + S/2 + S.
    ("all_reduce", "rabenseifner_half_folding", 6, {}, 7, 166_320, "Open MPI: 3 S, 7 steps"),
    ("all_reduce", "recursive_doubling", 16, {}, 4, 221_760, "Thakur et al. 2005: S log2 N"),
    ("all_reduce", "recursive_doubling", 6, {}, 4, 166_320, "log2 4 + 2 steps, 2 S and S"),
    ("all_reduce", "recursive_multiplying", 9, {"radix": 3}, 2, 221_760, "S (k-1) log_k N"),
    ("all_reduce", "bcube", 9, {"radix": 3}, 4, 98_560, "2 log_k N steps, 2 (8/9) S"),
    ("all_reduce", "binomial", 8, {}, 6, 166_320, "2 log2 N steps, S log2 N by the root"),
    ("all_reduce", "linear", 8, {}, 2, 388_080, "(N-1) S through the root"),
    ("all_reduce", "one_shot", 8, {}, 1, 388_080, "(N-1) S by everyone"),
    ("all_reduce", "two_shot", 8, {}, 2, 97_020, "2 (7/8) S in two steps"),
    ("all_reduce", "double_binary_tree", 8, {"segments": 4}, 9, 110_880,
     "Sanders et al. 2009: 2 S; M + 2 log2 N - 1"),
    ("all_reduce", "swing", 8, {}, 6, 97_020, "De Sensi et al. 2024: as Rabenseifner"),
    ("all_reduce", "swing_latency", 8, {}, 3, 166_320, "De Sensi et al. 2024: S log2 N"),
    ("all_reduce", "bine", 8, {}, 6, 97_020, "De Sensi et al. 2025: as Rabenseifner"),
    ("all_reduce", "parameter_server", 8, {}, 2, 388_080, "(N-1) S by the server"),
    ("all_reduce", "parameter_server", 8, {"shards": 8}, 2, 97_020, "2 (7/8) S, a shard a rank"),
    ("all_reduce", "parameter_server", 8, {"shards": 2}, 2, 221_760, "S/2 out, 7 S/2 as server"),
    ("all_reduce", "parameter_server_alone", 8, {}, 2, 443_520, "N S by the server"),
    ("all_reduce", "parameter_server_alone", 8, {"shards": 4}, 2, 110_880, "N S/4 by each"),
    ("all_reduce", "in_network", 8, {"radix": 8}, 2, 443_520, "one switch multicasts to 8"),
    ("reduce_scatter", "ring", 8, {}, 7, 48_510, "(7/8) S: half of an all-reduce, as ZeRO-2"),
    ("reduce_scatter", "recursive_halving", 8, {}, 3, 48_510, "Thakur et al. 2005: (7/8) S"),
    ("reduce_scatter", "recursive_halving", 6, {}, 4, 55_440, "folded: S by those that sit out"),
    ("reduce_scatter", "recursive_doubling", 8, {}, 3, 117_810,
     "Thakur et al. 2005: S (log2 N - (N-1)/N) = 17/8 S"),
    ("reduce_scatter", "butterfly", 8, {}, 4, 55_440, "Traff 2005: (7/8) S, and the chunk itself"),
    ("reduce_scatter", "pat", 8, {}, 3, 48_510, "Jeaugey 2025: log2 N rounds, (7/8) S"),
    ("all_gather", "bruck", 5, {}, 3, 44_352, "Bruck et al. 1997: ceil(log2 5) rounds, (4/5) S"),
    ("all_gather", "recursive_doubling", 8, {}, 3, 48_510, "Thakur et al. 2005"),
    ("all_gather", "neighbor_exchange", 8, {}, 4, 48_510, "Chen et al. 2005: N/2 rounds"),
    ("all_gather", "sparbit", 6, {}, 3, 46_200, "Loch & Koslovski 2021: ceil(log2 6) rounds"),
    ("broadcast", "binomial", 8, {}, 3, 166_320, "the root sends S log2 N"),
    ("broadcast", "knomial", 16, {"radix": 4}, 2, 332_640, "2 levels of 3 children"),
    ("broadcast", "binary_tree", 8, {"segments": 5}, 7, 110_880, "M + log2 N - 1, 2 S"),
    ("broadcast", "split_binary_tree", 7, {"segments": 5}, 7, 83_160, "M + D, D = 2; 3/2 S"),
    ("broadcast", "circulant", 11, {"segments": 5}, 8, None, "Traff 2024: L + M - 1"),
    ("broadcast", "chain", 8, {"segments": 5}, 11, 55_440, "M + N - 2, S"),
    ("broadcast", "scatter_all_gather", 8, {}, 10, 97_020, "log2 N + N - 1, 2 (7/8) S by the root"),
    ("broadcast", "scatter_doubling", 8, {}, 6, 97_020, "2 log2 N, 2 (7/8) S by the root"),
    ("reduce", "halving_gather", 8, {}, 6, 76_230, "Thakur et al. 2005: (7/8) S, and rank 4's S/2"),
    ("broadcast", "bine", 8, {}, 3, 166_320, "De Sensi et al. 2025: as binomial"),
    ("scatter", "binomial", 8, {}, 3, 48_510, "the root sends all but its chunk, (7/8) S"),
    ("gather", "linear", 8, {}, 1, 6_930, "S/8 by each"),
    ("all_to_all", "pairwise", 8, {}, 7, 48_510, "N - 1 steps, (7/8) S"),
    ("all_to_all", "bruck", 8, {}, 3, 83_160, "Bruck et al. 1997: S/2 log2 N"),
    ("all_to_all", "bruck", 5, {}, 3, 55_440, "bits below 5: 2 + 2 + 1 blocks of S/5"),
    ("scan", "linear", 8, {}, 7, 55_440, "N - 1 deep, S"),
    ("scan", "simultaneous", 8, {}, 3, 166_320, "Hillis & Steele 1986: rank 0 sends S log2 N"),
    ("exscan", "recursive_doubling", 8, {}, 3, 166_320, "S log2 N"),
    ("barrier", "dissemination", 9, {}, 4, 0, "Hensgen et al. 1988: ceil(log2 N)"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("collective", "algorithm", "size", "options", "depth", "sent", "source"),
    TABLE,
    ids=lambda value: str(value) if not isinstance(value, dict) else "",
)
def test_the_count_is_the_figure(collective, algorithm, size, options, depth, sent, source):
    counts = count(program(collective, algorithm, size, **options), S)
    assert counts.depth == depth, source
    if sent is not None:
        assert counts.sent == sent, source


# ---- figures of more than one number ---------------------------------------------------------


def test_rails_on_4_nodes_of_8_per_link():
    """2 (S/8) (3/4) of each rank between nodes, 2 S (7/8) within (S = 55 440)."""
    made = program("all_reduce", "hierarchical_rails", 32, nodes=node_shape([8] * 4))
    links = count(made, S).links
    between = sum(n for (a, b), n in links.items() if a // 8 != b // 8)
    within = sum(n for (a, b), n in links.items() if a // 8 == b // 8)
    assert between == 32 * 10_395
    assert within == 32 * 97_020


def test_three_levels_on_2_switches_of_3_nodes_of_4():
    """2 S (3/4) within nodes, 2 (S/4)(2/3) within switches, 2 (S/12)(1/2) between switches."""
    nodes = node_shape([4] * 6)
    made = program("all_reduce", "three_level_rails", 24, nodes=[nodes[:3], nodes[3:]])
    links = count(made, S).links
    sent = {"node": 0, "switch": 0, "fabric": 0}
    for (a, b), n in links.items():
        where = "node" if a // 4 == b // 4 else "switch" if a // 12 == b // 12 else "fabric"
        sent[where] += n
    assert sent == {"node": 24 * 83_160, "switch": 24 * 18_480, "fabric": 24 * 4_620}


def test_a_worker_of_in_network_reduction_sends_and_receives_its_vector_once():
    """Half of what ranks alone must: Graham et al. 2016."""
    counts = count(program("all_reduce", "in_network", 16, radix=4), S)
    assert {(rank.sent, rank.received) for rank in counts.ranks[:16]} == {(S, S)}
    assert counts.depth == 4
    assert len(counts.ranks) == 16 + 4 + 1


@pytest.mark.parametrize("size", [2, 3, 5, 8, 13, 21, 64])
@pytest.mark.parametrize("segments", [1, 2, 3, 8, 20])
def test_the_circulant_broadcast_is_round_optimal(size, segments):
    """L + M - 1 rounds of one message in and one out, for every N and M: Traff 2024."""
    for collective in ("broadcast", "reduce"):
        counts = count(program(collective, "circulant", size, segments=segments), 1000)
        assert counts.rounds == counts.depth == ceil(log2(size)) + segments - 1


def test_swing_in_the_order_of_the_paper_does_not_round_alike():
    """On 8 ranks the rounds from k = 0 on merge other groups on neighbouring ranks."""
    from refcoll import Reduce, Send, from_steps
    from refcoll.algorithms.swing import partner

    def published(rank, size):
        for k in range(size.bit_length() - 1):
            yield Send(0, partner(rank, k, size)), Reduce(0, partner(rank, k, size))

    for size in (2, 4):
        assert check(from_steps("all_reduce", [published(r, size) for r in range(size)], 1)).ok
    report = check(from_steps("all_reduce", [published(r, 8) for r in range(8)], 1))
    assert {failure.verdict for failure in report.failures} == {"agreement"}


def test_bine_distances_are_shorter_than_binomial_ones():
    """De Sensi et al. 2025: powers of -2 added up, about a third shorter than powers of 2."""
    size = 1024

    def distance(name):
        links = count(program("broadcast", name, size), 1).links
        return sum(min((b - a) % size, (a - b) % size) for a, b in links)

    # One of distance 512, two of 256, ...: 10 x 512; 341 + 2 x 171 + 4 x 85 + ... for bine.
    assert distance("binomial") == 10 * 512
    distances = [341, 171, 85, 43, 21, 11, 5, 3, 1, 1]
    assert distance("bine") == sum(d << i for i, d in enumerate(distances))
    assert distance("bine") < 0.7 * distance("binomial")
