"""All-gathers beside the ring, and the reduce-scatters that they are backwards in time.

*Bruck*, ceil(log2 N) steps: before round k rank r has the chunks r, ..., r + 2^k - 1; it
passes them (in the last round, as many as are still missing) to rank r - 2^k.

        size 5    round 0: r gains r+1     round 1: r+2, r+3     round 2: r+4     (mod 5)

*Direct*, one step: everyone sends its chunk to everyone at once, in N-1 messages.  Size 4:
rank 0 sends chunk 0 to 1, 2 and 3 and gets the chunks 1, 2 and 3.

Backwards, sends and receives change places and copies become merges: rank r ends with
chunk r, merged over all ranks.  Either way a rank moves (N-1)/N S where chunks are equal.
(Bruck et al., Efficient algorithms for all-to-all communications in multiport
message-passing systems, 1997.)
"""

from __future__ import annotations

from refcoll.algorithms.declaration import (
    ALWAYS,
    UP_TO_3,
    Algorithm,
    Lengths,
    chunk_per_rank,
    log2_ceiling,
    mirrored,
)
from refcoll.algorithms.ring import all_but
from refcoll.algorithms.symbols import L, N, S, alpha, beta
from refcoll.schedule import Copy, Reduce, Schedule, Send, reverse


def bruck_all_gather(rank: int, size: int) -> Schedule:
    """Chunks: N.  Steps: ceil(log2 N).  Sent: (N-1)/N S where chunks are equal.

    Received: S - |c_r|.
    """
    for k in range(log2_ceiling(size)):
        # Before round k, I have the 2^k chunks r, r + 1, ...
        have = 1 << k
        more = range(min(have, size - have))
        passed = tuple((rank + i) % size for i in more)
        gained = tuple((rank + have + i) % size for i in more)
        yield Send(passed, (rank - have) % size), Copy(gained, (rank + have) % size)


def bruck_reduce_scatter(rank: int, size: int) -> Schedule:
    """Bruck's all-gather backwards; sent and received swap."""
    return reverse(bruck_all_gather(rank, size), into=Reduce)


def direct_all_gather(rank: int, size: int) -> Schedule:
    """Chunks: N.  Steps: 1.  Sent: (N-1) |c_r|.  Received: S - |c_r|."""
    others = [(rank + i) % size for i in range(1, size)]
    yield *(Send(rank, other) for other in others), *(Copy(other, other) for other in others)


def direct_reduce_scatter(rank: int, size: int) -> Schedule:
    """The direct all-gather backwards, merging outwards from me: so rank order is kept.

    Chunks: N.  Steps: 1.  Sent: S - |c_r|.  Received: (N-1) |c_r|.
    """
    others = [(rank + i) % size for i in range(1, size)]
    outwards = [*range(rank + 1, size), *reversed(range(rank))]
    yield *(Send(other, other) for other in others), *(Reduce(rank, other) for other in outwards)


def _passed_on(rank: int, size: int, lengths: Lengths) -> int:
    """What Bruck's all-gather sends: chunk r + i in each round k whose share it is part of.

    Those are the rounds with i < 2^k, of which the last has only N - 2^k chunks to pass.
    """
    rounds = log2_ceiling(size)
    last = size - (1 << rounds >> 1)
    return sum(
        lengths[(rank + i) % size] * (max(0, rounds - 1 - i.bit_length()) + (i < last))
        for i in range(size - 1)
    )


_DIRECT = Algorithm(
    name="direct",
    collective="all_gather",
    schedule=direct_all_gather,
    chunks=chunk_per_rank,
    steps=lambda rank, size: int(size > 1),
    depth=lambda size: int(size > 1),
    sent=lambda rank, size, c: (size - 1) * c[rank],
    received=lambda rank, size, c: all_but(rank, c),
    time=alpha + (N - 1) / N * S * beta,
    one_port=(N - 1) * (alpha + S / N * beta),
    bandwidth_optimal=ALWAYS,
    latency_optimal=UP_TO_3,
    source="Open MPI coll/base, allgather direct-messaging",
    also_known_as={"Open MPI": "8 direct-messaging"},
)
_BRUCK = Algorithm(
    name="bruck",
    collective="all_gather",
    schedule=bruck_all_gather,
    chunks=chunk_per_rank,
    steps=lambda rank, size: log2_ceiling(size),
    depth=log2_ceiling,
    sent=_passed_on,
    received=lambda rank, size, c: all_but(rank, c),
    time=L * alpha + (N - 1) / N * S * beta,
    time_source="Thakur, Rabenseifner and Gropp 2005",
    bandwidth_optimal=ALWAYS,
    latency_optimal=ALWAYS,
    source="Bruck et al. 1997",
    also_known_as={"Open MPI": "2 bruck", "MPICH": "brucks"},
)
ALGORITHMS = (
    _BRUCK,
    mirrored(
        _BRUCK,
        "reduce_scatter",
        schedule=bruck_reduce_scatter,
        source="Bruck et al. 1997, backwards in time",
    ),
    _DIRECT,
    mirrored(
        _DIRECT,
        "reduce_scatter",
        schedule=direct_reduce_scatter,
        in_rank_order=True,
        source="the direct all-gather, backwards in time",
    ),
)
