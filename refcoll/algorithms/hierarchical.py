"""Hierarchical: keep the traffic within the node, and little between nodes.

*Rails.*  Reduce-scatter within each node; then, on every rail, all-reduce between the
nodes' owners of the same piece; then all-gather within each node.

        node 0:  0 -- 1         rail of the first half:    0 = = 2 = = 4
        node 1:  2 -- 3         rail of the second half:   1 = = 3 = = 5
        node 2:  4 -- 5

With m ranks on each of K nodes, a rank sends 2(m-1)/m S within its node and 2(K-1)/K S/m
out of it.  Size 4 on two nodes: 0 > 1 half and 1 > 0 half; then 0 - 2 and 1 - 3 each
all-reduce their half; then the halves go round within the nodes.

Nodes may hold unequal numbers of ranks: node k cuts the vector at all j/m_k, and the rails
run between the union of all cuts.  Each piece between two cuts has one owner per node, and
is cut again into K chunks for the ring between the nodes.

*Leaders.*  Binomial reduce to the first rank of each node, ring all-reduce among those,
binomial broadcast within each node.  Simpler, but only one rank a node uses the network.

Rails and leaders are compositions of the flat algorithms; both need a commutative operator.
(Rails: Cho et al., BlueConnect, 2019; leaders: MPICH's SMP-aware collectives.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from math import lcm
from typing import TypeAlias

from refcoll.algorithms.declaration import ONE, Algorithm, Lengths, When, log2_ceiling
from refcoll.algorithms.ring import (
    all_reduce_received,
    all_reduce_sent,
    ring_all_gather,
    ring_all_reduce,
    ring_reduce_scatter,
)
from refcoll.algorithms.symbols import Count, S, alpha, alpha_inter, beta, beta_inter, gamma
from refcoll.algorithms.tree import binomial_broadcast, binomial_reduce, links
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


def leaders_all_reduce(rank: int, size: int, nodes: Nodes) -> Schedule:
    """Binomial reduce within nodes, ring all-reduce among their first ranks, broadcast.

    Chunks: K.  Depth: 2 ceil(log2 m) + 2(K-1) for K nodes of at most m ranks.  Sent and
    received: S per link in my node's tree, 2(K-1)/K S more by a leader.
    Proved for all nodes: leaders_all_reduces in proofs/LeadersResult.v.
    """
    trees = [(nodes[home(rank, nodes)], log2_ceiling(largest(nodes)))]
    return leaders_over(rank, trees, [each[0] for each in nodes])


def leaders_over(
    rank: int, trees: Sequence[tuple[Sequence[int], int]], leaders: Sequence[int]
) -> Schedule:
    """Up binomial trees, round a ring of ``leaders``, and down again.

    ``trees`` has, from the inner to the outer, the ranks of each that this rank may be in, and
    the rounds that the largest of its kind takes.
    """

    def each(tree: AllReduce) -> list[Schedule]:
        whole = (0, len(leaders))
        return [
            padded(on_chunks(whole, on_ranks(group, tree, rank)), rounds) for group, rounds in trees
        ]

    across = padded(on_ranks(leaders, ring_all_reduce, rank), 2 * (len(leaders) - 1))
    return then(*each(binomial_reduce), across, *reversed(each(binomial_broadcast)))


def _rails(rank: int, nodes: Nodes, inner: AllReduce, chunks: int) -> Iterator[Schedule]:
    """One all-reduce between the nodes for every piece of the vector that ``rank`` owns."""
    for piece, owners in enumerate(_owners(nodes)):
        if rank in owners:
            cuts = range(piece * chunks, (piece + 1) * chunks + 1)
            yield on_chunks(cuts, on_ranks(owners, inner, rank))


# ---- who owns what: pieces lie between neighbouring cuts, and are cut again for the rails ---


@lru_cache
def _cuts(nodes: Nodes) -> tuple[Fraction, ...]:
    """All j/m over the nodes' sizes m, in order: where some node cuts the vector."""
    return tuple(sorted({Fraction(j, len(node)) for node in nodes for j in range(len(node) + 1)}))


@lru_cache
def _places(nodes: Nodes) -> dict[Fraction, int]:
    """The number of each cut."""
    return {cut: place for place, cut in enumerate(_cuts(nodes))}


def _owners(nodes: Nodes) -> list[list[int]]:
    """For each piece, the rank of each node in whose share it lies."""
    return [[node[int(cut * len(node))] for node in nodes] for cut in _cuts(nodes)[:-1]]


def shares(ranks: int, nodes: Nodes, chunks: int) -> list[int]:
    """The first chunk of each of a node's ``ranks`` shares, and the end."""
    places = _places(nodes)
    return [places[Fraction(j, ranks)] * chunks for j in range(ranks + 1)]


def weights_over(nodes: Nodes, inner: Sequence[int]) -> tuple[int, ...]:
    """Relative lengths of the chunks: the inner ones, times the piece's width."""
    widths = [stop - start for start, stop in pairwise(_cuts(nodes))]
    unit = lcm(*(width.denominator for width in widths))
    pieces = [int(width * unit) for width in widths]
    return tuple(piece * weight for piece in pieces for weight in inner)


@lru_cache(maxsize=8)
def _weights(size: int, nodes: Nodes) -> tuple[int, ...]:
    return weights_over(nodes, [1] * len(nodes))


def home(rank: int, nodes: Nodes) -> int:
    """The number of a rank's node."""
    return _homes(nodes)[rank]


@lru_cache
def _homes(nodes: Nodes) -> dict[int, int]:
    return {rank: k for k, node in enumerate(nodes) for rank in node}


# ---- claims ----------------------------------------------------------------------------


def _rails_steps(rank: int, size: int, nodes: Nodes) -> int:
    return 2 * (len(nodes[home(rank, nodes)]) - 1) + 2 * (len(nodes) - 1)


Traffic: TypeAlias = Callable[[int, Lengths], int]
"""What a rank sends, or receives, in an all-reduce, for given lengths."""


def rails_traffic(
    rank: int, nodes: Nodes, lengths: Lengths, ring: Traffic, inner: Traffic, chunks: int
) -> int:
    """A ring within the node over its shares, and the inner one between nodes per piece.

    (A reduce-scatter and an all-gather within the node move what an all-reduce does.)
    """
    mine = home(rank, nodes)
    node = nodes[mine]
    place, cuts = node.index(rank), shares(len(node), nodes, chunks)
    within = [sum(lengths[start:stop]) for start, stop in pairwise(cuts)]
    firsts = range(cuts[place], cuts[place + 1], chunks)
    pieces = [lengths[first : first + chunks] for first in firsts]
    return ring(place, within) + sum(inner(mine, piece) for piece in pieces)


def _rails_traffic(rank: int, nodes: Nodes, lengths: Lengths, ring: Traffic) -> int:
    return rails_traffic(rank, nodes, lengths, ring, ring, len(nodes))


def _leaders_traffic(rank: int, nodes: Nodes, lengths: Lengths, ring: Traffic) -> int:
    """The whole vector up and down the tree, and for a leader a ring between nodes."""
    mine = home(rank, nodes)
    node = nodes[mine]
    place = node.index(rank)
    between = ring(mine, lengths) if place == 0 else 0
    return links(place, len(node)) * sum(lengths) + between


def _leaders_steps(rank: int, size: int, nodes: Nodes) -> int:
    node = nodes[home(rank, nodes)]
    place = node.index(rank)
    return 2 * links(place, len(node)) + (place == 0) * 2 * (len(nodes) - 1)


def largest(nodes: Nodes) -> int:
    """Ranks on the largest node."""
    return max(len(node) for node in nodes)


def smallest(nodes: Nodes) -> int:
    """Ranks on the smallest node."""
    return min(len(node) for node in nodes)


def pieces(nodes: Nodes) -> int:
    """Into how many pieces the union of all cuts divides a rank's share, at most."""
    sizes = {len(node) for node in nodes}
    if len(sizes) == 1:
        return 1
    cuts = ([_places(nodes)[Fraction(j, size)] for j in range(size + 1)] for size in sizes)
    return max(stop - start for each in cuts for start, stop in pairwise(each))


m = Count("m", "ranks on the largest node", lambda nodes, **_: largest(nodes))
m_min = Count("m_min", "ranks on the smallest node", lambda nodes, **_: smallest(nodes))
P = Count("P", "pieces of a rank's share: 1 where nodes are of equal size",
          lambda nodes, **_: pieces(nodes))  # fmt: skip
r = Count("r", "2, but 1 where nodes are of equal size", lambda nodes, **_: min(2, pieces(nodes)))
_K = Count("K", "nodes", lambda nodes, **_: len(nodes))
LEVELS_OF_TREE = Count("log2 m", "m being the ranks on the largest node; rounded up",
                       lambda nodes, **_: log2_ceiling(largest(nodes)))  # fmt: skip
# Phases follow one another, and in each no rank takes more than this: on the largest node the most
# steps, on the smallest the longest share.  One by one, P pieces come from P ranks, each of whom
# may send it last: P alpha to the last arrival, and P - 1 more to take in the others.
_RAIL = S / (_K * m_min)
_IN_NODES = 2 * (m - 1) * (alpha + S / m * beta)
_MERGING = ((m - 1) / m + (_K - 1) / (_K * m_min)) * S * gamma
_RING = 2 * (_K - 1) * alpha_inter + (_K - 1) / _K * S * (2 * beta_inter + gamma)
_EQUAL = When("nodes of equal size", lambda size, nodes: len(set(map(len, nodes))) == 1)
_SINGLE = When("N <= 2, or one rank on each node", lambda size, nodes: size in (1, 2, len(nodes)))
ALGORITHMS = (
    Algorithm(
        name="hierarchical_rails",
        collective="all_reduce",
        schedule=rails_all_reduce,
        chunks=lambda size, nodes: len(_weights(size, nodes)),
        weights=_weights,
        options=("nodes",),
        steps=_rails_steps,
        depth=lambda size, nodes: 2 * (largest(nodes) - 1) + 2 * (len(nodes) - 1),
        sent=lambda rank, size, c, nodes: _rails_traffic(rank, nodes, c, all_reduce_sent),
        received=lambda rank, size, c, nodes: _rails_traffic(rank, nodes, c, all_reduce_received),
        time=_IN_NODES + 2 * (_K - 1) * (alpha_inter + _RAIL * beta_inter) + _MERGING,
        one_port=_IN_NODES
        + 2 * (_K - 1) * ((2 * P - 1) * alpha_inter + r * _RAIL * beta_inter)
        + _MERGING,
        time_exact=_EQUAL,
        bandwidth_optimal=_EQUAL,
        latency_optimal=ONE,
        source="Cho et al., BlueConnect (2019)",
        proved="RailsResult.rails_all_reduces",
    ),
    Algorithm(
        name="hierarchical_leaders",
        collective="all_reduce",
        schedule=leaders_all_reduce,
        chunks=lambda size, nodes: len(nodes),
        options=("nodes",),
        steps=_leaders_steps,
        depth=lambda size, nodes: 2 * log2_ceiling(largest(nodes)) + 2 * (len(nodes) - 1),
        sent=lambda rank, size, c, nodes: _leaders_traffic(rank, nodes, c, all_reduce_sent),
        received=lambda rank, size, c, nodes: _leaders_traffic(rank, nodes, c, all_reduce_received),
        time=LEVELS_OF_TREE * (2 * alpha + S * (2 * beta + gamma)) + _RING,
        bandwidth_optimal=_SINGLE,
        latency_optimal=ONE,
        source="MPICH SMP-aware collectives",
        proved="LeadersResult.leaders_all_reduces",
        also_known_as={"MPICH": "smp", "SMPI": "smp_rsag"},
    ),
)
