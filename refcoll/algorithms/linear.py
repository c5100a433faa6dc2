"""Linear: the root talks to everyone at once.

        scatter, broadcast           gather, reduce
              0                            0
            / | \\  one step              / | \\  one step: in rank order, so the
           1  2  3                       1  2  3        operator need not commute

Size 4: rank 0 sends, or gets, three messages; the others one.  One step whatever N, but
N-1 messages through one link: good for few ranks, and the baseline for trees.  The
all-reduce is the reduce, then the broadcast; the all-gather the gather, then the broadcast.
(Open MPI's coll/basic and coll/base, "basic_linear".)
"""

from __future__ import annotations

from refcoll.algorithms.declaration import (
    ALWAYS,
    ONE,
    UP_TO_2,
    UP_TO_3,
    Algorithm,
    Lengths,
    by_others,
    chunk_per_rank,
    mirrored,
    one_chunk,
)
from refcoll.algorithms.ring import all_but
from refcoll.algorithms.symbols import N, S, alpha, beta, gamma
from refcoll.schedule import Chunks, Copy, Reduce, Schedule, Send, reverse, then

_SOURCE = "Open MPI coll/basic"


def _from_root(rank: int, size: int, whole: Chunks) -> Schedule:
    if size > 1 and rank == 0:
        yield tuple(Send(whole, other) for other in range(1, size))
    elif size > 1:
        yield (Copy(whole, 0),)


def linear_broadcast(rank: int, size: int) -> Schedule:
    """Chunks: 1.  Steps: 1.  Sent: (N-1) S by rank 0.  Received: S by the others."""
    return _from_root(rank, size, 0)


def linear_reduce(rank: int, size: int) -> Schedule:
    """Chunks: 1.  Steps: 1.  Sent: S by all but rank 0, which receives (N-1) S."""
    if size > 1 and rank == 0:
        # Rank 0 merges 1, 2, ... in this order.
        yield tuple(Reduce(0, other) for other in range(1, size))
    elif size > 1:
        yield (Send(0, 0),)


def linear_all_reduce(rank: int, size: int) -> Schedule:
    """Chunks: 1.  Steps: 2.  Sent, received: (N-1) S by rank 0, S by others."""
    return then(linear_reduce(rank, size), linear_broadcast(rank, size))


def linear_scatter(rank: int, size: int) -> Schedule:
    """Chunks: N.  Steps: 1.  Sent: S - |c_0| by rank 0.  Received: |c_r| by the others."""
    if size > 1 and rank == 0:
        yield tuple(Send(other, other) for other in range(1, size))
    elif size > 1:
        yield (Copy(rank, 0),)


def linear_gather(rank: int, size: int) -> Schedule:
    """The scatter backwards; sent and received swap."""
    return reverse(linear_scatter(rank, size), into=Copy)


def linear_all_gather(rank: int, size: int) -> Schedule:
    """Chunks: N.  Steps: 2.  Sent: (N-1) S by rank 0, |c_r| by others; these receive S."""
    return then(linear_gather(rank, size), _from_root(rank, size, range(size)))


def once(rank: int, size: int) -> int:
    """Steps of a rank of any number of ranks but one."""
    return int(size > 1)


def _twice(rank: int, size: int) -> int:
    return 2 * (size > 1)


def _hub(rank: int, size: int, lengths: Lengths) -> int:
    """Every other rank's whole vector through rank 0's link, one through each other's."""
    return ((size - 1) if rank == 0 else size > 1) * sum(lengths)


def _root(rank: int, size: int, lengths: Lengths) -> int:
    return (rank == 0) * (size - 1) * sum(lengths)


def _piece(rank: int, size: int, lengths: Lengths) -> int:
    return (rank > 0) * lengths[rank]


def _pieces(rank: int, size: int, lengths: Lengths) -> int:
    return (rank == 0) * all_but(0, lengths)


_SCATTER = Algorithm(
    name="linear",
    collective="scatter",
    schedule=linear_scatter,
    chunks=chunk_per_rank,
    steps=once,
    depth=lambda size: int(size > 1),
    sent=_pieces,
    received=_piece,
    time=alpha + (N - 1) / N * S * beta,
    one_port=(N - 1) * (alpha + S / N * beta),
    bandwidth_optimal=ALWAYS,
    latency_optimal=UP_TO_3,
    source=_SOURCE,
    also_known_as={"Open MPI": "1 basic_linear", "MPICH": "linear"},
)
_BROADCAST = Algorithm(
    name="linear",
    collective="broadcast",
    schedule=linear_broadcast,
    chunks=one_chunk,
    steps=once,
    depth=lambda size: int(size > 1),
    sent=_root,
    received=by_others,
    time=alpha + (N - 1) * S * beta,
    one_port=(N - 1) * (alpha + S * beta),
    bandwidth_optimal=UP_TO_2,
    latency_optimal=UP_TO_3,
    source=_SOURCE,
    also_known_as={"Open MPI": "1 basic_linear"},
)
ALGORITHMS = (
    _BROADCAST,
    mirrored(
        _BROADCAST,
        "reduce",
        schedule=linear_reduce,
        in_rank_order=True,
        also_known_as={"Open MPI": "1 linear"},
    ),
    Algorithm(
        name="linear",
        collective="all_reduce",
        schedule=linear_all_reduce,
        chunks=one_chunk,
        steps=_twice,
        depth=lambda size: 2 * (size > 1),
        sent=_hub,
        received=_hub,
        time=2 * alpha + 2 * (N - 1) * S * beta + (N - 1) * S * gamma,
        one_port=2 * (N - 1) * (alpha + S * beta) + (N - 1) * S * gamma,
        in_rank_order=True,
        bandwidth_optimal=UP_TO_2,
        latency_optimal=ONE,
        source=_SOURCE,
        also_known_as={"Open MPI": "1 basic_linear"},
    ),
    _SCATTER,
    mirrored(
        _SCATTER,
        "gather",
        schedule=linear_gather,
        also_known_as={"Open MPI": "1 basic_linear", "MPICH": "linear"},
    ),
    Algorithm(
        name="linear",
        collective="all_gather",
        schedule=linear_all_gather,
        chunks=chunk_per_rank,
        steps=_twice,
        depth=lambda size: 2 * (size > 1),
        sent=lambda rank, size, c: _piece(rank, size, c) + _root(rank, size, c),
        received=lambda rank, size, c: _pieces(rank, size, c) + by_others(rank, size, c),
        time=2 * alpha + (N - 1) * (1 + 1 / N) * S * beta,
        one_port=(N - 1) * (2 * alpha + (1 + 1 / N) * S * beta),
        bandwidth_optimal=ONE,
        latency_optimal=ONE,
        source=_SOURCE,
        also_known_as={"Open MPI": "1 linear"},
    ),
)
