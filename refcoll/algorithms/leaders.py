"""Hierarchical, leaders: one rank of each node speaks for it.

Binomial reduce to the first rank of each node, ring all-reduce among those, binomial
broadcast within each node.  Simpler than rails, but only one rank a node uses the network.

        node 0:  1 -> 0                    1 <- 0
        node 1:  3 -> 2    0 = = 2 = = 4   3 <- 2
        node 2:  5 -> 4                    5 <- 4

With K nodes a rank sends S for each link in its node's tree, and a leader 2(K-1)/K S more.
Size 4 on two nodes: 1 > 0 and 3 > 2 everything; 0 - 2 all-reduce it; 0 > 1 and 2 > 3.

*Three levels.*  Binomial reduce within nodes, then among the first ranks of a switch's nodes,
ring all-reduce among the switches' first, and the broadcasts back.

Nodes and switches may be of any sizes.  Both need a commutative operator.
(MPICH's SMP-aware collectives.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from refcoll.algorithms.declaration import ONE, Algorithm, Lengths, Traffic, When, log2_ceiling
from refcoll.algorithms.ring import all_reduce_received, all_reduce_sent, ring_all_reduce
from refcoll.algorithms.shares import K, K_switches, equal, home, largest, log2_k, log2_m
from refcoll.algorithms.symbols import (
    S,
    alpha,
    alpha_inter,
    alpha_switch,
    beta,
    beta_inter,
    beta_switch,
    gamma,
)
from refcoll.algorithms.tree import binomial_broadcast, binomial_reduce, links
from refcoll.schedule import Schedule, on_chunks, on_ranks, padded, then
from refcoll.topology import Nodes


def leaders_all_reduce(rank: int, size: int, nodes: Nodes) -> Schedule:
    """Binomial reduce within nodes, ring all-reduce among their first ranks, broadcast.

    Chunks: K.  Depth: 2 ceil(log2 m) + 2(K-1) for K nodes of at most m ranks.  Sent and
    received: S per link in my node's tree, 2(K-1)/K S more by a leader.
    Proved for all nodes: leaders_all_reduces in proofs/LeadersResult.v.
    """
    trees = [(nodes[home(rank, nodes)], log2_ceiling(largest(nodes)))]
    return leaders_over(rank, trees, [each[0] for each in nodes])


def three_level_leaders_all_reduce(rank: int, size: int, nodes: Nodes, switches: Nodes) -> Schedule:
    """Binomial reduces up to one rank per switch, ring all-reduce, binomial broadcasts.

    Chunks: K.  Depth: 2 ceil(log2 m) + 2 ceil(log2 k) + 2(K-1).  Sent and received: S per
    link in the trees, 2(K-1)/K S more by a switch's leader.
    """
    rounds = log2_ceiling(largest(nodes)), log2_ceiling(largest(switches))
    trees = list(zip(_groups(rank, nodes, switches), rounds, strict=True))
    return leaders_over(rank, trees, _firsts(nodes, switches))


def leaders_over(
    rank: int, trees: Sequence[tuple[Sequence[int], int]], leaders: Sequence[int]
) -> Schedule:
    """Up binomial trees, round a ring of ``leaders``, and down again.

    ``trees`` has, from the inner to the outer, the ranks of each that this rank may be in, and
    the rounds that the largest of its kind takes.
    """

    def each(tree: Callable[[int, int], Schedule]) -> list[Schedule]:
        whole = (0, len(leaders))
        return [
            padded(on_chunks(whole, on_ranks(group, tree, rank)), rounds) for group, rounds in trees
        ]

    across = padded(on_ranks(leaders, ring_all_reduce, rank), 2 * (len(leaders) - 1))
    return then(*each(binomial_reduce), across, *reversed(each(binomial_broadcast)))


def _groups(rank: int, nodes: Nodes, switches: Nodes) -> tuple[list[int], list[int]]:
    """The ranks of my node, and the first ranks of the nodes of my switch."""
    node = home(rank, nodes)
    switch = switches[home(node, switches)]
    return list(nodes[node]), [nodes[each][0] for each in switch]


def _firsts(nodes: Nodes, switches: Nodes) -> list[int]:
    """The first rank of each switch."""
    return [nodes[switch[0]][0] for switch in switches]


# ---- claims ----------------------------------------------------------------------------


def _traffic(rank: int, nodes: Nodes, lengths: Lengths, ring: Traffic) -> int:
    """The whole vector up and down the tree, and for a leader a ring between nodes."""
    mine = home(rank, nodes)
    node = nodes[mine]
    place = node.index(rank)
    between = ring(mine, lengths) if place == 0 else 0
    return links(place, len(node)) * sum(lengths) + between


def _steps(rank: int, size: int, nodes: Nodes) -> int:
    node = nodes[home(rank, nodes)]
    place = node.index(rank)
    return 2 * links(place, len(node)) + (place == 0) * 2 * (len(nodes) - 1)


def _links(rank: int, nodes: Nodes, switches: Nodes) -> int:
    """Links in both trees."""
    node, leaders = _groups(rank, nodes, switches)
    found = links(node.index(rank), len(node))
    if rank in leaders:
        found += links(leaders.index(rank), len(leaders))
    return found


def _steps_of_three(rank: int, size: int, nodes: Nodes, switches: Nodes) -> int:
    leading = rank in _firsts(nodes, switches)
    return 2 * _links(rank, nodes, switches) + leading * 2 * (len(switches) - 1)


def _depth_of_three(size: int, nodes: Nodes, switches: Nodes) -> int:
    trees = log2_ceiling(largest(nodes)) + log2_ceiling(largest(switches))
    return 2 * trees + 2 * (len(switches) - 1)


def _traffic_of_three(
    rank: int, nodes: Nodes, switches: Nodes, lengths: Lengths, ring: Traffic
) -> int:
    leaders = _firsts(nodes, switches)
    across = ring(leaders.index(rank), lengths) if rank in leaders else 0
    return _links(rank, nodes, switches) * sum(lengths) + across


_TREES = log2_m * (2 * alpha + S * (2 * beta + gamma))
_RING = 2 * (K - 1) * alpha_inter + (K - 1) / K * S * (2 * beta_inter + gamma)
_TREES_OF_THREE = _TREES + log2_k * (2 * alpha_inter + S * (2 * beta_inter + gamma))
_RING_OF_THREE = 2 * (K_switches - 1) * alpha_switch + (K_switches - 1) / K_switches * S * (
    2 * beta_switch + gamma
)
ALGORITHMS = (
    Algorithm(
        name="hierarchical_leaders",
        collective="all_reduce",
        schedule=leaders_all_reduce,
        chunks=lambda size, nodes: len(nodes),
        options=("nodes",),
        steps=_steps,
        depth=lambda size, nodes: 2 * log2_ceiling(largest(nodes)) + 2 * (len(nodes) - 1),
        sent=lambda rank, size, c, nodes: _traffic(rank, nodes, c, all_reduce_sent),
        received=lambda rank, size, c, nodes: _traffic(rank, nodes, c, all_reduce_received),
        time=_TREES + _RING,
        bandwidth_optimal=When(
            "N <= 2, or one rank on each node", lambda size, nodes: size in (1, 2, len(nodes))
        ),
        latency_optimal=ONE,
        source="MPICH SMP-aware collectives",
        proved="LeadersResult.leaders_all_reduces",
        also_known_as={"MPICH": "smp", "SMPI": "smp_rsag"},
    ),
    Algorithm(
        name="three_level_leaders",
        collective="all_reduce",
        schedule=three_level_leaders_all_reduce,
        chunks=lambda size, nodes, switches: len(switches),
        options=("nodes", "switches"),
        steps=_steps_of_three,
        depth=_depth_of_three,
        bounds=("depth",),
        sent=lambda rank, size, c, nodes, switches: _traffic_of_three(
            rank, nodes, switches, c, all_reduce_sent
        ),
        received=lambda rank, size, c, nodes, switches: _traffic_of_three(
            rank, nodes, switches, c, all_reduce_received
        ),
        time=_TREES_OF_THREE + _RING_OF_THREE,
        time_exact=When("nodes of equal size", lambda size, nodes, switches: equal(nodes)),
        bandwidth_optimal=When(
            "N <= 2, or one rank on each switch",
            lambda size, nodes, switches: size in (1, 2, len(switches)),
        ),
        latency_optimal=ONE,
        source="MPICH SMP-aware collectives, one level more",
    ),
)
