"""Hierarchical, rails: every rank takes a share of the vector from its node to the others.

Reduce-scatter within each node; then, on every rail, all-reduce between the nodes' owners of
the same piece; then all-gather within each node.

        node 0:  0 -- 1         rail of the first half:    0 = = 2 = = 4
        node 1:  2 -- 3         rail of the second half:   1 = = 3 = = 5
        node 2:  4 -- 5

With m ranks on each of K nodes, a rank sends 2(m-1)/m S within its node and 2(K-1)/K S/m
out of it.  Size 4 on two nodes: 0 > 1 half and 1 > 0 half; then 0 - 2 and 1 - 3 each
all-reduce their half; then the halves go round within the nodes.  Where nodes hold unequal
numbers of ranks, each piece (``shares``) has its rail, and is cut into K chunks for it.

A composition of the ring; it needs a commutative operator.  (Cho et al., BlueConnect, 2019.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import pairwise
from typing import TypeAlias

from refcoll.algorithms.declaration import ONE, Algorithm, Lengths, Traffic, When
from refcoll.algorithms.ring import (
    all_reduce_received,
    all_reduce_sent,
    ring_all_gather,
    ring_all_reduce,
    ring_reduce_scatter,
)
from refcoll.algorithms.shares import (
    K,
    P,
    equal,
    home,
    largest,
    m,
    m_min,
    owners,
    r,
    shares,
    weights_over,
)
from refcoll.algorithms.symbols import S, alpha, alpha_inter, beta, beta_inter, gamma
from refcoll.schedule import Schedule, on_chunks, on_ranks, padded, then, together
from refcoll.topology import Nodes

AllReduce: TypeAlias = Callable[[int, int], Schedule]


def rails_all_reduce(rank: int, size: int, nodes: Nodes) -> Schedule:
    """Ring reduce-scatter within nodes, ring all-reduce on each rail, ring all-gather.

    Chunks: K per piece.  Steps: 2(m-1) within my node of m, 2(K-1) between K nodes.  Sent
    and received: 2(m-1)/m S within, 2(K-1)/K S/m between, where shares are equal.
    Proved for all nodes: rails_all_reduces in proofs/RailsResult.v.
    """
    return rails_over(rank, nodes, ring_all_reduce, len(nodes))


def rails_over(rank: int, nodes: Nodes, inner: AllReduce, chunks: int) -> Schedule:
    """The same with any all-reduce, of so many ``chunks``, between the nodes."""
    node = nodes[home(rank, nodes)]
    cuts = shares(len(node), nodes, chunks)
    longest = max(len(each) for each in nodes) - 1
    return then(
        padded(on_chunks(cuts, on_ranks(node, ring_reduce_scatter, rank)), longest),
        together(*_rails(rank, nodes, inner, chunks)),
        padded(on_chunks(cuts, on_ranks(node, ring_all_gather, rank)), longest),
    )


def _rails(rank: int, nodes: Nodes, inner: AllReduce, chunks: int) -> Iterator[Schedule]:
    """One all-reduce between the nodes for every piece of the vector that ``rank`` owns."""
    for piece, of_it in enumerate(owners(nodes)):
        if rank in of_it:
            cuts = range(piece * chunks, (piece + 1) * chunks + 1)
            yield on_chunks(cuts, on_ranks(of_it, inner, rank))


@lru_cache(maxsize=8)
def _weights(size: int, nodes: Nodes) -> tuple[int, ...]:
    return weights_over(nodes, [1] * len(nodes))


# ---- claims ----------------------------------------------------------------------------


def rails_traffic(
    rank: int, nodes: Nodes, lengths: Lengths, ring: Traffic, inner: Traffic, chunks: int
) -> int:
    """A ring within the node over its shares, and the inner all-reduce for each piece.

    (A reduce-scatter and an all-gather within the node move what an all-reduce does.)
    """
    mine = home(rank, nodes)
    node = nodes[mine]
    place, cuts = node.index(rank), shares(len(node), nodes, chunks)
    within = [sum(lengths[start:stop]) for start, stop in pairwise(cuts)]
    firsts = range(cuts[place], cuts[place + 1], chunks)
    pieces = [lengths[first : first + chunks] for first in firsts]
    return ring(place, within) + sum(inner(mine, piece) for piece in pieces)


def _traffic(rank: int, nodes: Nodes, lengths: Lengths, ring: Traffic) -> int:
    return rails_traffic(rank, nodes, lengths, ring, ring, len(nodes))


def _steps(rank: int, size: int, nodes: Nodes) -> int:
    return 2 * (len(nodes[home(rank, nodes)]) - 1) + 2 * (len(nodes) - 1)


# Phases follow one another, and in each no rank takes more than this: on the largest node the most
# steps, on the smallest the longest share.  One by one, P pieces come from P ranks, each of whom
# may send it last: P alpha to the last arrival, and P - 1 more to take in the others.
_RAIL = S / (K * m_min)
IN_NODES = 2 * (m - 1) * (alpha + S / m * beta)
_MERGING = ((m - 1) / m + (K - 1) / (K * m_min)) * S * gamma
_EQUAL = When("nodes of equal size", lambda size, nodes: equal(nodes))
ALGORITHMS = (
    Algorithm(
        name="hierarchical_rails",
        collective="all_reduce",
        schedule=rails_all_reduce,
        chunks=lambda size, nodes: len(_weights(size, nodes)),
        weights=_weights,
        options=("nodes",),
        steps=_steps,
        depth=lambda size, nodes: 2 * (largest(nodes) - 1) + 2 * (len(nodes) - 1),
        sent=lambda rank, size, c, nodes: _traffic(rank, nodes, c, all_reduce_sent),
        received=lambda rank, size, c, nodes: _traffic(rank, nodes, c, all_reduce_received),
        time=IN_NODES + 2 * (K - 1) * (alpha_inter + _RAIL * beta_inter) + _MERGING,
        one_port=IN_NODES
        + 2 * (K - 1) * ((2 * P - 1) * alpha_inter + r * _RAIL * beta_inter)
        + _MERGING,
        time_exact=_EQUAL,
        bandwidth_optimal=_EQUAL,
        latency_optimal=ONE,
        source="Cho et al., BlueConnect (2019)",
        proved="RailsResult.rails_all_reduces",
    ),
)
