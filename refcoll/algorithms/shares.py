"""Who owns what, where nodes of any sizes share a vector: what rails and leaders build on.

        node 0, two ranks:     |   rank 0    |   rank 1    |       cuts at all j/m:
        node 1, three ranks:   | rank 2 | rank 3  | rank 4 |       0, 1/3, 1/2, 2/3, 1
        pieces:                | 0      |1 |2 | 3          |

Node k cuts the vector at all j/m_k, a share for each of its m_k ranks.  The *pieces* lie
between neighbouring cuts of the union; each has one owner in every node.  Size 4 on nodes of
one and three: pieces of a third each, owned by 0 and 1, by 0 and 2, by 0 and 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from math import lcm

from refcoll.algorithms.declaration import log2_ceiling
from refcoll.algorithms.symbols import Count
from refcoll.topology import Nodes


@lru_cache
def _cuts(nodes: Nodes) -> tuple[Fraction, ...]:
    """All j/m over the nodes' sizes m, in order: where some node cuts the vector."""
    return tuple(sorted({Fraction(j, len(node)) for node in nodes for j in range(len(node) + 1)}))


@lru_cache
def _places(nodes: Nodes) -> dict[Fraction, int]:
    """The number of each cut."""
    return {cut: place for place, cut in enumerate(_cuts(nodes))}


def owners(nodes: Nodes) -> list[list[int]]:
    """For each piece, the rank of each node in whose share it lies."""
    return [[node[int(cut * len(node))] for node in nodes] for cut in _cuts(nodes)[:-1]]


def shares(ranks: int, nodes: Nodes, chunks: int) -> list[int]:
    """The first chunk of each of a node's ``ranks`` shares, and the end; ``chunks`` a piece."""
    places = _places(nodes)
    return [places[Fraction(j, ranks)] * chunks for j in range(ranks + 1)]


def weights_over(nodes: Nodes, inner: Sequence[int]) -> tuple[int, ...]:
    """Relative lengths of the chunks: the inner ones, times the piece's width."""
    widths = [stop - start for start, stop in pairwise(_cuts(nodes))]
    unit = lcm(*(width.denominator for width in widths))
    return tuple(int(width * unit) * weight for width in widths for weight in inner)


def home(rank: int, nodes: Nodes) -> int:
    """The number of a rank's node."""
    return _homes(nodes)[rank]


@lru_cache
def _homes(nodes: Nodes) -> dict[int, int]:
    return {rank: k for k, node in enumerate(nodes) for rank in node}


# ---- how many: for claims ------------------------------------------------------------------


def largest(nodes: Nodes) -> int:
    """Ranks on the largest node."""
    return max(len(node) for node in nodes)


def smallest(nodes: Nodes) -> int:
    """Ranks on the smallest node."""
    return min(len(node) for node in nodes)


def equal(nodes: Nodes) -> bool:
    """Whether all nodes have equally many ranks."""
    return len({len(node) for node in nodes}) == 1


def pieces(nodes: Nodes) -> int:
    """Into how many pieces the union of all cuts divides a rank's share, at most."""
    if equal(nodes):
        return 1
    sizes = {len(node) for node in nodes}
    cuts = ([_places(nodes)[Fraction(j, size)] for j in range(size + 1)] for size in sizes)
    return max(stop - start for each in cuts for start, stop in pairwise(each))


m = Count("m", "ranks on the largest node", lambda nodes, **_: largest(nodes))
m_min = Count("m_min", "ranks on the smallest node", lambda nodes, **_: smallest(nodes))
P = Count("P", "pieces of a rank's share: 1 where nodes are of equal size",
          lambda nodes, **_: pieces(nodes))  # fmt: skip
r = Count("r", "2, but 1 where nodes are of equal size", lambda nodes, **_: min(2, pieces(nodes)))
K = Count("K", "nodes", lambda nodes, **_: len(nodes))
log2_m = Count("log2 m", "m being the ranks on the largest node; rounded up",
               lambda nodes, **_: log2_ceiling(largest(nodes)))  # fmt: skip

# The same, one level up: switches hold nodes as nodes hold ranks.
k = Count("k", "nodes on the largest switch", lambda switches, **_: largest(switches))
k_min = Count("k_min", "nodes on the smallest switch", lambda switches, **_: smallest(switches))
Q = Count("Q", "pieces of a node's share: 1 where switches are of equal size",
          lambda switches, **_: pieces(switches))  # fmt: skip
R = Count("R", "2, but 1 where nodes, and switches, are of equal size",
          lambda nodes, switches, **_: min(2, pieces(nodes) * pieces(switches)))  # fmt: skip
K_switches = Count("K", "switches", lambda switches, **_: len(switches))
log2_k = Count("log2 k", "k being the nodes on the largest switch; rounded up",
               lambda switches, **_: log2_ceiling(largest(switches)))  # fmt: skip
