"""All-to-all: chunk d of rank s's vector becomes chunk s of rank d's result.

        before, size 3           after            a transposition of blocks
        0: 00 01 02         0: 00 10 20
        1: 10 11 12         1: 01 11 21
        2: 20 21 22         2: 02 12 22

*Linear*: all messages at once.  *Pairwise*: in step k = 1, ..., N-1 rank r sends to r + k
and gets from r - k.  Either moves (N-1)/N S, which is least.

*Bruck*: ceil(log2 N) steps.  The block for the rank i further on travels i in powers of
two: in round k, of distance 2^k, everyone passes on all blocks whose i has bit k.

        size 4, rank 0:   round 0: its blocks of i = 1 and 3 go to rank 1
                          round 1: its own of i = 2 and rank 3's of i = 3 go to rank 2

The input is area 0, the result area 1.  Bruck's blocks rest in area 2 and area 0 in turn,
so that no round copies into what it sends, and make their last hop into area 1.
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
)
from refcoll.algorithms.linear import once
from refcoll.algorithms.ring import all_but
from refcoll.algorithms.symbols import Count, L, N, S, alpha, beta
from refcoll.schedule import Copy, Schedule, Send


def linear_all_to_all(rank: int, size: int) -> Schedule:
    """Everyone sends every chunk to its rank at once.

    Chunks: N, of equal length.  Steps: 1.  Sent and received: (N-1)/N S."""
    ranks = [(rank + i) % size for i in range(size)]
    yield *(Send(to, to) for to in ranks), *(Copy(size + source, source) for source in ranks)


def pairwise_all_to_all(rank: int, size: int) -> Schedule:
    """One chunk out and one in a step, to and from ever further ranks.

    Chunks: N, of equal length.  Steps: N-1.  Sent and received: (N-1)/N S."""
    for k in range(size):
        # Before step k, I have the blocks of the k ranks r - k + 1, ..., r.
        to, source = (rank + k) % size, (rank - k) % size
        yield Send(to, to), Copy(size + source, source)


def bruck_all_to_all(rank: int, size: int) -> Schedule:
    """Blocks travel in hops of 1, 2, 4, ... ranks, many in one message.

    Chunks: N, of equal length.  Steps: ceil(log2 N).

    Sent and received: S/N for every i < N and every bit of it, about S/2 log2 N.
    """
    yield Send(rank, rank), Copy(size + rank, rank)
    for k in range(log2_ceiling(size)):
        # Before round k, the block at distance i has gone i mod 2^k of its way.
        distance = 1 << k
        moving = [i for i in range(1, size) if i & distance]
        yield (
            Send(tuple(_lies(rank, size, i, k) for i in moving), (rank + distance) % size),
            Copy(tuple(_lies(rank, size, i, k + 1) for i in moving), (rank - distance) % size),
        )


def _lies(rank: int, size: int, i: int, rounds: int) -> int:
    """The index of the block at distance i on the rank that it has reached in some rounds."""
    hops = (i & ((1 << rounds) - 1)).bit_count()
    if hops == i.bit_count():
        return size + (rank - i) % size  # arrived: it comes from rank - i
    return (2 * size if hops % 2 else 0) + (rank + i) % size


def _moved(size: int) -> int:
    """Chunks that a rank passes on: in round k, the numbers below N that have bit k."""
    return sum(
        (size >> (k + 1) << k) + max(0, size % (2 << k) - (1 << k))
        for k in range(log2_ceiling(size))
    )


def _bruck_traffic(rank: int, size: int, lengths: Lengths) -> int:
    return _moved(size) * lengths[rank]


def _direct_traffic(rank: int, size: int, lengths: Lengths) -> int:
    return all_but(rank, lengths)


_b = Count("b", "ones in all numbers below N in binary, N/2 log2 N for powers of 2",
           lambda size, **_: _moved(size))  # fmt: skip
ALGORITHMS = (
    Algorithm(
        name="linear",
        collective="all_to_all",
        schedule=linear_all_to_all,
        chunks=chunk_per_rank,
        areas=lambda size: 2,
        result_area=1,
        steps=once,
        depth=lambda size: int(size > 1),
        sent=_direct_traffic,
        received=_direct_traffic,
        time=alpha + (N - 1) / N * S * beta,
        one_port=(N - 1) * (alpha + S / N * beta),
        bandwidth_optimal=ALWAYS,
        latency_optimal=UP_TO_3,
        source="Open MPI coll/base, alltoall basic_linear",
        also_known_as={"Open MPI": "1 linear", "MPICH": "scattered"},
    ),
    Algorithm(
        name="pairwise",
        collective="all_to_all",
        schedule=pairwise_all_to_all,
        chunks=chunk_per_rank,
        areas=lambda size: 2,
        result_area=1,
        steps=lambda rank, size: size - 1,
        depth=lambda size: size - 1,
        sent=_direct_traffic,
        received=_direct_traffic,
        time=(N - 1) * (alpha + S / N * beta),
        bandwidth_optimal=ALWAYS,
        latency_optimal=UP_TO_3,
        source="Thakur, Rabenseifner and Gropp 2005",
        also_known_as={"Open MPI": "2 pairwise", "MPICH": "pairwise"},
    ),
    Algorithm(
        name="bruck",
        collective="all_to_all",
        schedule=bruck_all_to_all,
        chunks=chunk_per_rank,
        areas=lambda size: 3,
        result_area=1,
        steps=lambda rank, size: log2_ceiling(size),
        depth=log2_ceiling,
        sent=_bruck_traffic,
        received=_bruck_traffic,
        time=L * alpha + _b / N * S * beta,
        bandwidth_optimal=UP_TO_3,
        latency_optimal=ALWAYS,
        source="Bruck et al. 1997",
        also_known_as={"Open MPI": "3 modified_bruck", "MPICH": "brucks"},
    ),
)
