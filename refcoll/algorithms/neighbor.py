"""Neighbor exchange: an all-gather that only ever talks to the two neighbours, even N.

        round 0       0-1  2-3  4-5        everyone swaps chunks with one neighbour;
        round 1       1-2  3-4  5-0        then, in turn with the other and with the first,
        round 2       0-1  2-3  4-5        the two chunks that came last

Pairs (2p, 2p+1) of chunks travel together.  Let s = -1 for even ranks and +1 for odd ones:
the neighbour of round 0 is r - s, and of round t >= 1 it is r + s for odd t, r - s for even
t.  The pair that round t brings is r//2 + s (t+1)/2 for odd t, r//2 - s t/2 for even t, and
what round t passes on is the pair that round t - 1 brought (all mod N/2).

Size 4, rank 1: swaps with 0, then gives 0, 1 to rank 2 and gets 2, 3.  N/2 rounds, half
those of the ring, and (N-1)/N S.
(Chen et al., Performance evaluation of allgather algorithms on terascale Linux cluster with
fast Ethernet, 2005.)
"""

from __future__ import annotations

from refcoll.algorithms.declaration import ALWAYS, EVEN, Algorithm, Lengths, When, chunk_per_rank
from refcoll.algorithms.ring import all_but
from refcoll.algorithms.symbols import N, S, alpha, beta
from refcoll.schedule import Copy, Schedule, Send


def neighbor_exchange_all_gather(rank: int, size: int) -> Schedule:
    """Chunks: N, even.  Steps: N/2.  Sent: |c_r| + S less the last pair gained.

    Received: S - |c_r|.
    """
    if size == 1:
        return
    side = 1 if rank % 2 else -1
    near = rank - side
    yield Send(rank, near), Copy(near, near)
    for t in range(1, size // 2):
        # Before round t, I have the t pairs gained in the rounds 0, ..., t - 1.
        other = (rank + side if t % 2 else near) % size
        yield (
            Send(_pair(_gained(rank, t - 1, size)), other),
            Copy(_pair(_gained(rank, t, size)), other),
        )


def _gained(rank: int, t: int, size: int) -> int:
    """The number of the pair that round t brings; that of round 0 is my own."""
    side = 1 if rank % 2 else -1
    return (rank // 2 + (side if t % 2 else -side) * ((t + 1) // 2)) % (size // 2)


def _pair(number: int) -> range:
    return range(2 * number, 2 * number + 2)


def _sent(rank: int, size: int, lengths: Lengths) -> int:
    """My chunk, and every pair that I gain but the last."""
    if size == 1:
        return 0
    last = _pair(_gained(rank, size // 2 - 1, size))
    return lengths[rank] + sum(lengths) - sum(lengths[i] for i in last)


_QUARTER = When("N = 1, 2, 4 or 6", lambda size: size in (1, 2, 4, 6))
ALGORITHMS = (
    Algorithm(
        name="neighbor_exchange",
        collective="all_gather",
        schedule=neighbor_exchange_all_gather,
        chunks=chunk_per_rank,
        sizes=EVEN,
        steps=lambda rank, size: size // 2,
        depth=lambda size: size // 2,
        sent=_sent,
        received=lambda rank, size, c: all_but(rank, c),
        time=N / 2 * alpha + (N - 1) / N * S * beta,
        time_source="Chen et al. 2005",
        bandwidth_optimal=ALWAYS,
        latency_optimal=_QUARTER,
        source="Chen et al. 2005",
        also_known_as={"Open MPI": "5 neighbor"},
    ),
)
