"""What a transport says of itself, and of parts of its ranks."""

from __future__ import annotations

import hashlib

import numpy as np

from refcoll.testing.conformance.delivering import delivers_to_everyone
from refcoll.testing.conformance.talking import run
from refcoll.transport import Incoming, Outgoing, Transport


def describes_itself(transport: Transport) -> None:
    """Rank, size and nodes make sense: each rank stands on exactly one node."""
    assert 0 <= transport.rank < transport.size
    ranks = sorted(rank for node in transport.nodes for rank in node)
    assert ranks == list(range(transport.size)), transport.nodes
    for peer in range(transport.size):
        if peer != transport.rank:
            limit = transport.segment_bytes(peer)
            assert limit is None or limit > 0


def agrees_on_nodes(transport: Transport) -> None:
    """All ranks give the same nodes."""
    mine = np.frombuffer(hashlib.sha256(repr(transport.nodes).encode()).digest(), np.uint8)
    others = [r for r in range(transport.size) if r != transport.rank]
    sends = [Outgoing(transport.arrays.from_host(mine), other) for other in others]
    receives = [Incoming(mine.nbytes, other) for other in others]
    for other, came in zip(others, run(transport, sends, receives, 1), strict=True):
        assert np.array_equal(came, mine), f"rank {other} has other nodes"


def makes_subgroups(transport: Transport) -> None:
    """Even and odd ranks, in reverse order, talk among themselves."""
    ranks = [r for r in range(transport.size) if r % 2 == transport.rank % 2][::-1]
    group = transport.subgroup(ranks, channel=5)
    assert (group.size, ranks[group.rank]) == (len(ranks), transport.rank)
    delivers_to_everyone(group)
    delivers_to_everyone(transport)
    group.close()
