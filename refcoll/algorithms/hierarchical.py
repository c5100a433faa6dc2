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
(Rails: the BlueConnect of Cho et al., 2019, and NCCL's rail-aligned rings; leaders: MPICH's
SMP-aware collectives.)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from math import lcm

from refcoll.algorithms.declaration import Algorithm, Lengths, Nodes, log2_ceiling
from refcoll.algorithms.ring import (
    all_but,
    ring_all_gather,
    ring_all_reduce,
    ring_reduce_scatter,
)
from refcoll.algorithms.tree import binomial_broadcast, binomial_reduce, links
from refcoll.schedule import Schedule, on_chunks, on_ranks, padded, then, together


def rails_all_reduce(rank: int, size: int, nodes: Nodes) -> Schedule:
    """Ring reduce-scatter within nodes, ring all-reduce on each rail, ring all-gather.

    Chunks: K per piece.  Steps: 2(m-1) within my node of m, 2(K-1) between K nodes.
    """
    node = nodes[_home(rank, nodes)]
    shares = _shares(len(node), nodes)
    longest = max(len(each) for each in nodes) - 1
    return then(
        padded(on_chunks(shares, on_ranks(node, ring_reduce_scatter, rank)), longest),
        together(*_rails(rank, nodes)),
        padded(on_chunks(shares, on_ranks(node, ring_all_gather, rank)), longest),
    )


def leaders_all_reduce(rank: int, size: int, nodes: Nodes) -> Schedule:
    """Binomial reduce within nodes, ring all-reduce among their first ranks, broadcast.

    Chunks: K.  Depth: 2 ceil(log2 m) + 2(K-1) for K nodes of at most m ranks.
    """
    node, leaders = nodes[_home(rank, nodes)], [each[0] for each in nodes]
    longest = max(log2_ceiling(len(each)) for each in nodes)
    whole = (0, len(nodes))
    up = on_chunks(whole, on_ranks(node, binomial_reduce, rank))
    across = on_ranks(leaders, ring_all_reduce, rank)
    down = on_chunks(whole, on_ranks(node, binomial_broadcast, rank))
    return then(padded(up, longest), padded(across, 2 * (len(nodes) - 1)), padded(down, longest))


def _rails(rank: int, nodes: Nodes) -> Iterator[Schedule]:
    """One ring between the nodes for every piece of the vector that ``rank`` owns."""
    for piece, owners in enumerate(_owners(nodes)):
        if rank in owners:
            first = piece * len(nodes)
            inner = range(first, first + len(nodes) + 1)
            yield on_chunks(inner, on_ranks(owners, ring_all_reduce, rank))


# ---- who owns what: pieces lie between neighbouring cuts, chunks are K to a piece ---------


@lru_cache
def _cuts(nodes: Nodes) -> tuple[Fraction, ...]:
    """All j/m over the nodes' sizes m, in order: where some node cuts the vector."""
    return tuple(sorted({Fraction(j, len(node)) for node in nodes for j in range(len(node) + 1)}))


def _owners(nodes: Nodes) -> list[list[int]]:
    """For each piece, the rank of each node in whose share it lies."""
    return [[node[int(cut * len(node))] for node in nodes] for cut in _cuts(nodes)[:-1]]


def _shares(ranks: int, nodes: Nodes) -> list[int]:
    """The first chunk of each of a node's ``ranks`` shares, and the end."""
    cuts = _cuts(nodes)
    return [cuts.index(Fraction(j, ranks)) * len(nodes) for j in range(ranks + 1)]


def _weights(size: int, nodes: Nodes) -> tuple[int, ...]:
    """Relative lengths of the chunks: a piece's width, K times."""
    widths = [stop - start for start, stop in pairwise(_cuts(nodes))]
    unit = lcm(*(width.denominator for width in widths))
    return tuple(int(width * unit) for width in widths for _ in nodes)


def _home(rank: int, nodes: Nodes) -> int:
    return next(k for k, node in enumerate(nodes) if rank in node)


# ---- claims ----------------------------------------------------------------------------


def _rails_steps(rank: int, size: int, nodes: Nodes) -> int:
    return 2 * (len(nodes[_home(rank, nodes)]) - 1) + 2 * (len(nodes) - 1)


def _rails_traffic(rank: int, nodes: Nodes, lengths: Lengths, ahead: int) -> int:
    """Two rings: within the node over its shares, and between nodes over each piece.

    ``ahead`` is 1 for what is sent, which spares the next rank's chunk in the all-gather,
    and -1 for what is received, which spares the previous one's in the reduce-scatter.
    """
    home = _home(rank, nodes)
    node, k = nodes[home], len(nodes)
    place, shares = node.index(rank), _shares(len(node), nodes)
    mine = range(shares[place], shares[place + 1], k)
    within = [sum(lengths[start:stop]) for start, stop in pairwise(shares)]
    pieces = [lengths[first : first + k] for first in mine]
    return _two_rings(place, within, ahead) + sum(_two_rings(home, p, ahead) for p in pieces)


def _two_rings(place: int, lengths: Sequence[int], ahead: int) -> int:
    return all_but(place, lengths) + all_but(place + ahead, lengths)


def _leaders_traffic(rank: int, size: int, nodes: Nodes, lengths: Lengths, ahead: int) -> int:
    home = _home(rank, nodes)
    node = nodes[home]
    place = node.index(rank)
    ring = _two_rings(home, lengths, ahead) if place == 0 else 0
    return links(place, len(node)) * sum(lengths) + ring


def _leaders_steps(rank: int, size: int, nodes: Nodes) -> int:
    node = nodes[_home(rank, nodes)]
    place = node.index(rank)
    return 2 * links(place, len(node)) + (place == 0) * 2 * (len(nodes) - 1)


def _largest(nodes: Nodes) -> int:
    return max(len(node) for node in nodes)


ALGORITHMS = (
    Algorithm(
        name="hierarchical_rails",
        collective="all_reduce",
        schedule=rails_all_reduce,
        chunks=lambda size, nodes: len(_weights(size, nodes)),
        weights=_weights,
        options=("nodes",),
        steps=_rails_steps,
        depth=lambda size, nodes: 2 * (_largest(nodes) - 1) + 2 * (len(nodes) - 1),
        sent=lambda rank, size, c, nodes: _rails_traffic(rank, nodes, c, ahead=1),
        received=lambda rank, size, c, nodes: _rails_traffic(rank, nodes, c, ahead=-1),
        bandwidth_optimal="nodes of equal size",
        source="Cho et al., BlueConnect (2019)",
    ),
    Algorithm(
        name="hierarchical_leaders",
        collective="all_reduce",
        schedule=leaders_all_reduce,
        chunks=lambda size, nodes: len(nodes),
        options=("nodes",),
        steps=_leaders_steps,
        depth=lambda size, nodes: 2 * log2_ceiling(_largest(nodes)) + 2 * (len(nodes) - 1),
        sent=lambda rank, size, c, nodes: _leaders_traffic(rank, size, nodes, c, ahead=1),
        received=lambda rank, size, c, nodes: _leaders_traffic(rank, size, nodes, c, ahead=-1),
        bandwidth_optimal="one rank on each node",
        source="MPICH SMP-aware collectives",
        also_known_as={"MPICH": "smp", "SMPI": "smp_rsag"},
    ),
)
