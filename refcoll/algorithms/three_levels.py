"""Three levels: within nodes, between the nodes of a switch, between switches.

        switch 0:   node 0:  0 -- 1     a rail of the first half: 0 = 2 within switch 0,
                    node 1:  2 -- 3     4 = 6 within switch 1, and between them
        switch 1:   node 2:  4 -- 5     0 = 4, 2 = 6, a quarter of the vector each
                    node 3:  6 -- 7

*Rails*: those of ``hierarchical``, whose all-reduces between nodes are rails again: the
nodes of a switch take the place of the ranks of a node.  With m ranks on a node, k nodes on
a switch and K switches a rank sends 2(m-1)/m S within its node, 2(k-1)/k S/m within its
switch and 2(K-1)/K S/(mk) between switches.  Size 4, one rank on each node, two nodes on
each of two switches: 0 and 1 swap halves, 0 - 2 and 1 - 3 all-reduce theirs, 0 and 1 share.

*Leaders*: binomial reduce within nodes, then among the first ranks of a switch's nodes, ring
all-reduce among the switches' first, and the broadcasts back.

Nodes and switches may be of any sizes.  Both need a commutative operator.
(The three-level form of BlueConnect, Cho et al. 2019.)
"""

from __future__ import annotations

from functools import lru_cache

from refcoll.algorithms.declaration import ONE, Algorithm, Lengths, When, log2_ceiling
from refcoll.algorithms.hierarchical import (
    LEVELS_OF_TREE,
    P,
    Traffic,
    home,
    largest,
    leaders_over,
    m,
    m_min,
    pieces,
    r,
    rails_over,
    rails_traffic,
    smallest,
    weights_over,
)
from refcoll.algorithms.ring import all_reduce_received, all_reduce_sent, ring_all_reduce
from refcoll.algorithms.symbols import (
    Count,
    S,
    alpha,
    alpha_inter,
    alpha_switch,
    beta,
    beta_inter,
    beta_switch,
    gamma,
)
from refcoll.algorithms.tree import links
from refcoll.schedule import Schedule
from refcoll.topology import Nodes


def three_level_rails_all_reduce(rank: int, size: int, nodes: Nodes, switches: Nodes) -> Schedule:
    """Rails within and between nodes, whose inner all-reduces are rails between switches.

    Chunks: per piece of the nodes, those of the rails over the switches.  Steps: 2(m-1) +
    2(k-1) + 2(K-1).  Sent and received: as above, where shares are equal.
    """

    def between_nodes(node: int, count: int) -> Schedule:
        return rails_over(node, switches, ring_all_reduce, len(switches))

    return rails_over(rank, nodes, between_nodes, len(_inner_weights(switches)))


def three_level_leaders_all_reduce(rank: int, size: int, nodes: Nodes, switches: Nodes) -> Schedule:
    """Binomial reduces up to one rank per switch, ring all-reduce, binomial broadcasts.

    Chunks: K.  Depth: 2 ceil(log2 m) + 2 ceil(log2 k) + 2(K-1).  Sent and received: S per
    link in the trees, 2(K-1)/K S more by a switch's leader.
    """
    rounds = log2_ceiling(largest(nodes)), log2_ceiling(largest(switches))
    trees = list(zip(_groups(rank, nodes, switches), rounds, strict=True))
    return leaders_over(rank, trees, _leaders(nodes, switches))


def _groups(rank: int, nodes: Nodes, switches: Nodes) -> tuple[list[int], list[int]]:
    """The ranks of my node, and the first ranks of the nodes of my switch."""
    node = home(rank, nodes)
    switch = switches[home(node, switches)]
    return list(nodes[node]), [nodes[each][0] for each in switch]


def _leaders(nodes: Nodes, switches: Nodes) -> list[int]:
    """The first rank of each switch."""
    return [nodes[switch[0]][0] for switch in switches]


@lru_cache(maxsize=8)
def _inner_weights(switches: Nodes) -> tuple[int, ...]:
    return weights_over(switches, [1] * len(switches))


@lru_cache(maxsize=8)
def _weights(size: int, nodes: Nodes, switches: Nodes) -> tuple[int, ...]:
    return weights_over(nodes, _inner_weights(switches))


# ---- claims ----------------------------------------------------------------------------


def _rails_steps(rank: int, size: int, nodes: Nodes, switches: Nodes) -> int:
    node = home(rank, nodes)
    around = len(nodes[node]), len(switches[home(node, switches)]), len(switches)
    return sum(2 * (ranks - 1) for ranks in around)


def _rails_depth(size: int, nodes: Nodes, switches: Nodes) -> int:
    """Reached where all nodes, and all switches, are of one size; else at most."""
    return 2 * (largest(nodes) + largest(switches) + len(switches) - 3)


def _rails_traffic(
    rank: int, nodes: Nodes, switches: Nodes, lengths: Lengths, ring: Traffic
) -> int:
    def inner(node: int, piece: Lengths) -> int:
        return rails_traffic(node, switches, piece, ring, ring, len(switches))

    return rails_traffic(rank, nodes, lengths, ring, inner, len(_inner_weights(switches)))


def _links(rank: int, nodes: Nodes, switches: Nodes) -> int:
    """Links in both trees."""
    node, leaders = _groups(rank, nodes, switches)
    found = links(node.index(rank), len(node))
    if rank in leaders:
        found += links(leaders.index(rank), len(leaders))
    return found


def _leaders_steps(rank: int, size: int, nodes: Nodes, switches: Nodes) -> int:
    leading = rank in _leaders(nodes, switches)
    return 2 * _links(rank, nodes, switches) + leading * 2 * (len(switches) - 1)


def _leaders_depth(size: int, nodes: Nodes, switches: Nodes) -> int:
    trees = log2_ceiling(largest(nodes)) + log2_ceiling(largest(switches))
    return 2 * trees + 2 * (len(switches) - 1)


def _leaders_traffic(
    rank: int, nodes: Nodes, switches: Nodes, lengths: Lengths, ring: Traffic
) -> int:
    leaders = _leaders(nodes, switches)
    across = ring(leaders.index(rank), lengths) if rank in leaders else 0
    return _links(rank, nodes, switches) * sum(lengths) + across


def _balanced(size: int, nodes: Nodes, switches: Nodes) -> bool:
    """Whether no rank moves more than 2 (N-1)/N of the vector."""
    lengths = [weight * size for weight in _weights(size, nodes, switches)]
    most = max(
        _rails_traffic(rank, nodes, switches, lengths, ring)
        for rank in range(size)
        for ring in (all_reduce_sent, all_reduce_received)
    )
    return most * size == 2 * (size - 1) * sum(lengths)


_k = Count("k", "nodes on the largest switch", lambda switches, **_: largest(switches))
_k_min = Count("k_min", "nodes on the smallest switch", lambda switches, **_: smallest(switches))
_K = Count("K", "switches", lambda switches, **_: len(switches))
_Q = Count("Q", "pieces of a node's share: 1 where switches are of equal size",
           lambda switches, **_: pieces(switches))  # fmt: skip
_R = Count("R", "2, but 1 where nodes, and switches, are of equal size",
           lambda nodes, switches, **_: min(2, pieces(nodes) * pieces(switches)))  # fmt: skip
_LOG_K = Count("log2 k", "k being the nodes on the largest switch; rounded up",
               lambda switches, **_: log2_ceiling(largest(switches)))  # fmt: skip
_RAIL, _LONG = S / (_k * m_min), S / (_K * _k_min * m_min)
_IN_NODES = 2 * (m - 1) * (alpha + S / m * beta)
_MERGING = ((m - 1) / m + (_k - 1) / (_k * m_min) + (_K - 1) / (_K * _k_min * m_min)) * S * gamma
_TREES = LEVELS_OF_TREE * (2 * alpha + S * (2 * beta + gamma)) + _LOG_K * (
    2 * alpha_inter + S * (2 * beta_inter + gamma)
)
_RING = 2 * (_K - 1) * alpha_switch + (_K - 1) / _K * S * (2 * beta_switch + gamma)
_ALIKE = When(
    "nodes, and switches, of equal size",
    lambda size, nodes, switches: len({*map(len, nodes)}) == len({*map(len, switches)}) == 1,
)
_EQUAL_NODES = When(
    "nodes of equal size", lambda size, nodes, switches: len({*map(len, nodes)}) == 1
)
_EQUAL = When("nodes, and switches, of equal size, and where shares happen to be", _balanced)
_SINGLE = When(
    "N <= 2, or one rank on each switch",
    lambda size, nodes, switches: size in (1, 2, len(switches)),
)
ALGORITHMS = (
    Algorithm(
        name="three_level_rails",
        collective="all_reduce",
        schedule=three_level_rails_all_reduce,
        chunks=lambda size, nodes, switches: len(_weights(size, nodes, switches)),
        weights=_weights,
        options=("nodes", "switches"),
        steps=_rails_steps,
        depth=_rails_depth,
        bounds=("depth",),
        sent=lambda rank, size, c, nodes, switches: _rails_traffic(
            rank, nodes, switches, c, all_reduce_sent
        ),
        received=lambda rank, size, c, nodes, switches: _rails_traffic(
            rank, nodes, switches, c, all_reduce_received
        ),
        time=_IN_NODES
        + 2 * (_k - 1) * (alpha_inter + _RAIL * beta_inter)
        + 2 * (_K - 1) * (alpha_switch + _LONG * beta_switch)
        + _MERGING,
        one_port=_IN_NODES
        + 2 * (_k - 1) * ((2 * P - 1) * alpha_inter + r * _RAIL * beta_inter)
        + 2 * (_K - 1) * ((2 * P * _Q - 1) * alpha_switch + _R * _LONG * beta_switch)
        + _MERGING,
        time_exact=_ALIKE,
        bandwidth_optimal=_EQUAL,
        latency_optimal=ONE,
        source="Cho et al., BlueConnect (2019)",
    ),
    Algorithm(
        name="three_level_leaders",
        collective="all_reduce",
        schedule=three_level_leaders_all_reduce,
        chunks=lambda size, nodes, switches: len(switches),
        options=("nodes", "switches"),
        steps=_leaders_steps,
        depth=_leaders_depth,
        bounds=("depth",),
        sent=lambda rank, size, c, nodes, switches: _leaders_traffic(
            rank, nodes, switches, c, all_reduce_sent
        ),
        received=lambda rank, size, c, nodes, switches: _leaders_traffic(
            rank, nodes, switches, c, all_reduce_received
        ),
        time=_TREES + _RING,
        time_exact=_EQUAL_NODES,
        bandwidth_optimal=_SINGLE,
        latency_optimal=ONE,
        source="MPICH SMP-aware collectives, one level more",
    ),
)
