"""What a transport says of itself, and of parts of its ranks."""

from __future__ import annotations

import hashlib
from itertools import chain

import numpy as np

from refcoll.testing.conformance.delivering import delivers_to_everyone
from refcoll.testing.conformance.talking import require, run
from refcoll.transport import Incoming, Outgoing, Transport


def describes_itself(transport: Transport) -> None:
    """All that the contract names is there and makes sense; each rank stands on one node."""
    rank, size, nodes = transport.rank, transport.size, transport.nodes
    require(0 <= rank < size, f"rank={rank} is none of size={size}")
    require(sorted(chain(*nodes)) == [*range(size)], f"nodes={nodes} must name each rank once")
    hash(nodes)  # raises TypeError for lists
    for name, kind in (("name", str), ("threads", bool)):
        found = getattr(transport, name, None)
        require(isinstance(found, kind), f"{name}={found!r} must be a {kind.__name__}")
    doing = transport.doing()
    require(isinstance(doing, str), f"doing() must say in words what the rank does, not {doing!r}")
    for peer in range(transport.size):
        if peer != transport.rank:
            limit = transport.segment_bytes(peer)
            require(limit is None or limit > 0, f"segment_bytes({peer}) gives {limit}")


def agrees_on_nodes(transport: Transport) -> None:
    """All ranks give the same nodes."""
    mine = np.frombuffer(hashlib.sha256(repr(transport.nodes).encode()).digest(), np.uint8)
    others = [r for r in range(transport.size) if r != transport.rank]
    sends = [Outgoing(transport.arrays.from_host(mine), other) for other in others]
    receives = [Incoming(mine.nbytes, other) for other in others]
    for other, came in zip(others, run(transport, sends, receives, 1), strict=True):
        require(np.array_equal(came, mine), f"rank {other} has other nodes")


def makes_subgroups(transport: Transport) -> None:
    """Even and odd ranks, in reverse order, talk among themselves."""
    ranks = [r for r in range(transport.size) if r % 2 == transport.rank % 2][::-1]
    group = transport.subgroup(ranks, channel=5)
    placed = (group.size, group.rank) == (len(ranks), ranks.index(transport.rank))
    require(placed, f"the subgroup {ranks} has rank {group.rank} of {group.size} here")
    delivers_to_everyone(group)
    delivers_to_everyone(transport)
    group.close()
