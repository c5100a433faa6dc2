"""Rails on three levels: within nodes, between the nodes of a switch, between switches.

        switch 0:   node 0:  0 -- 1     a rail of the first half: 0 = 2 within switch 0,
                    node 1:  2 -- 3     4 = 6 within switch 1, and between them
        switch 1:   node 2:  4 -- 5     0 = 4, 2 = 6, a quarter of the vector each
                    node 3:  6 -- 7

The all-reduces between nodes are rails again: the nodes of a switch take the place of the
ranks of a node.  With m ranks on a node, k nodes on a switch and K switches a rank sends
2(m-1)/m S within its node, 2(k-1)/k S/m within its switch and 2(K-1)/K S/(mk) between
switches.  Size 4, one rank on each node, two nodes on each of two switches: 0 and 1 swap
halves, and 2 and 3; 0 - 2 and 1 - 3 all-reduce theirs; then each pair shares.

Nodes and switches may be of any sizes.  It needs a commutative operator.
(The three-level form of BlueConnect, Cho et al. 2019.)
"""

from __future__ import annotations

from functools import lru_cache

from refcoll.algorithms.declaration import ONE, Algorithm, Lengths, Traffic, When
from refcoll.algorithms.rails import IN_NODES, rails_over, rails_traffic
from refcoll.algorithms.ring import all_reduce_received, all_reduce_sent, ring_all_reduce
from refcoll.algorithms.shares import (
    K_switches,
    P,
    Q,
    R,
    equal,
    home,
    k,
    k_min,
    largest,
    m,
    m_min,
    r,
    weights_over,
)
from refcoll.algorithms.symbols import S, alpha_inter, alpha_switch, beta_inter, beta_switch, gamma
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


@lru_cache(maxsize=8)
def _inner_weights(switches: Nodes) -> tuple[int, ...]:
    return weights_over(switches, [1] * len(switches))


@lru_cache(maxsize=8)
def _weights(size: int, nodes: Nodes, switches: Nodes) -> tuple[int, ...]:
    return weights_over(nodes, _inner_weights(switches))


# ---- claims ----------------------------------------------------------------------------


def _steps(rank: int, size: int, nodes: Nodes, switches: Nodes) -> int:
    node = home(rank, nodes)
    around = len(nodes[node]), len(switches[home(node, switches)]), len(switches)
    return sum(2 * (ranks - 1) for ranks in around)


def _depth(size: int, nodes: Nodes, switches: Nodes) -> int:
    """Reached where all nodes, and all switches, are of one size; else at most."""
    return 2 * (largest(nodes) + largest(switches) + len(switches) - 3)


def _traffic(rank: int, nodes: Nodes, switches: Nodes, lengths: Lengths, ring: Traffic) -> int:
    def inner(node: int, piece: Lengths) -> int:
        return rails_traffic(node, switches, piece, ring, ring, len(switches))

    return rails_traffic(rank, nodes, lengths, ring, inner, len(_inner_weights(switches)))


def _balanced(size: int, nodes: Nodes, switches: Nodes) -> bool:
    """Whether no rank moves more than 2 (N-1)/N of the vector."""
    lengths = [weight * size for weight in _weights(size, nodes, switches)]
    most = max(
        _traffic(rank, nodes, switches, lengths, ring)
        for rank in range(size)
        for ring in (all_reduce_sent, all_reduce_received)
    )
    return most * size == 2 * (size - 1) * sum(lengths)


_K = K_switches
_RAIL, _LONG = S / (k * m_min), S / (_K * k_min * m_min)
_MERGING = ((m - 1) / m + (k - 1) / (k * m_min) + (_K - 1) / (_K * k_min * m_min)) * S * gamma
_ALIKE = When(
    "nodes, and switches, of equal size",
    lambda size, nodes, switches: equal(nodes) and equal(switches),
)
_EQUAL = When("nodes, and switches, of equal size, and where shares happen to be", _balanced)
ALGORITHMS = (
    Algorithm(
        name="three_level_rails",
        collective="all_reduce",
        schedule=three_level_rails_all_reduce,
        chunks=lambda size, nodes, switches: len(_weights(size, nodes, switches)),
        weights=_weights,
        options=("nodes", "switches"),
        steps=_steps,
        depth=_depth,
        bounds=("depth",),
        sent=lambda rank, size, c, nodes, switches: _traffic(
            rank, nodes, switches, c, all_reduce_sent
        ),
        received=lambda rank, size, c, nodes, switches: _traffic(
            rank, nodes, switches, c, all_reduce_received
        ),
        time=IN_NODES
        + 2 * (k - 1) * (alpha_inter + _RAIL * beta_inter)
        + 2 * (_K - 1) * (alpha_switch + _LONG * beta_switch)
        + _MERGING,
        one_port=IN_NODES
        + 2 * (k - 1) * ((2 * P - 1) * alpha_inter + r * _RAIL * beta_inter)
        + 2 * (_K - 1) * ((2 * P * Q - 1) * alpha_switch + R * _LONG * beta_switch)
        + _MERGING,
        time_exact=_ALIKE,
        bandwidth_optimal=_EQUAL,
        latency_optimal=ONE,
        source="Cho et al., BlueConnect (2019)",
    ),
)
