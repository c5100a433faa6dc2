"""Scatter, gather, and what they make: a broadcast of long vectors, and the reduce like it.

        scatter, size 4:   0 --chunks 2,3--> 2        then a ring all-gather
                           0 --chunk 1--> 1           of the four chunks
                           2 --chunk 3--> 3

The *binomial scatter* hands chunks down a tree: in the round of distance d a rank r that 2d
divides passes the chunks r + d, ..., r + 2d - 1 to r + d, and so rank r ends with chunk r.
Backwards in time it is the *binomial gather*.

For a *broadcast* the root cuts its vector into N chunks and scatters them; an all-gather,
round a ring or by recursive doubling, does the rest.  The root sends about 2 S, where the
binomial broadcast has it send S log2 N.  The *reduce* is a reduce-scatter, by a ring
or by recursive halving, and a gather.
(Barnett et al., Interprocessor collective communication library, 1994; Thakur, Rabenseifner
and Gropp 2005.)
"""

from __future__ import annotations

from refcoll.algorithms.declaration import (
    ALWAYS,
    ONE,
    POWERS_OF_TWO,
    UP_TO_2,
    Algorithm,
    Lengths,
    chunk_per_rank,
    log2_ceiling,
    mirrored,
)
from refcoll.algorithms.doubling_gather import gathered, recursive_doubling_all_gather
from refcoll.algorithms.recursive_halving import (
    HALVING_TIME,
    halving_depth,
    halving_received,
    halving_sent,
    halving_steps,
    recursive_halving_reduce_scatter,
)
from refcoll.algorithms.ring import all_but, ring_all_gather, ring_reduce_scatter
from refcoll.algorithms.symbols import LOG2_N, L, N, S, alpha, beta, gamma
from refcoll.algorithms.tree import links
from refcoll.schedule import IDLE, Copy, Schedule, Send, reverse, then

_PAPER = "Thakur, Rabenseifner and Gropp 2005"


def binomial_scatter(rank: int, size: int) -> Schedule:
    """Rank 0's chunk r to rank r.

    Chunks: N.  Depth: ceil(log2 N).  Received: my subtree's chunks.  Sent: those but mine.
    """
    for k in reversed(range(log2_ceiling(size))):
        distance = 1 << k
        # Before this round the ranks that 2 distance divides have their 2 distance chunks.
        if rank % (2 * distance) == 0 and rank + distance < size:
            child = rank + distance
            yield (Send(range(child, min(child + distance, size)), child),)
        elif rank % (2 * distance) == distance:
            yield (Copy(range(rank, min(rank + distance, size)), rank - distance),)
        else:
            yield IDLE


def binomial_gather(rank: int, size: int) -> Schedule:
    """Every rank's chunk to rank 0: the scatter backwards; sent and received swap."""
    return reverse(binomial_scatter(rank, size), into=Copy)


def scatter_all_gather_broadcast(rank: int, size: int) -> Schedule:
    """Rank 0's vector to everyone.

    Chunks: N.  Depth: ceil(log2 N) + N-1.  Sent and received: those of the scatter, and of
    the ring all-gather.
    """
    return then(binomial_scatter(rank, size), ring_all_gather(rank, size))


def scatter_doubling_broadcast(rank: int, size: int) -> Schedule:
    """Rank 0's vector to everyone, by a recursive doubling all-gather; N = 2^k.  Depth: 2k."""
    return then(binomial_scatter(rank, size), recursive_doubling_all_gather(rank, size))


def reduce_scatter_gather_reduce(rank: int, size: int) -> Schedule:
    """Everyone's vectors merged on rank 0.

    Chunks: N.  Depth: ceil(log2 N) + N-1.  Sent and received: those of the ring
    reduce-scatter, and of the scatter, swapped.
    """
    return then(ring_reduce_scatter(rank, size), binomial_gather(rank, size))


def halving_gather_reduce(rank: int, size: int) -> Schedule:
    """Everyone's vectors merged on rank 0: a recursive halving reduce-scatter, and a gather.

    Chunks: N.  Depth: log2 p + ceil(log2 N), two more where folded.  Sent and received:
    those of the halving, and of the scatter, swapped.
    """
    return then(recursive_halving_reduce_scatter(rank, size), binomial_gather(rank, size))


def _handed_down(rank: int, size: int, lengths: Lengths) -> int:
    """What the scatter brings to a rank: the chunks r, ..., r + (lowest set bit of r) - 1."""
    return sum(lengths[rank : rank + (rank & -rank)])


def _handed_on(rank: int, size: int, lengths: Lengths) -> int:
    """What a rank passes on of it, or of everything where it is the root."""
    return (_handed_down(rank, size, lengths) if rank else sum(lengths)) - lengths[rank]


def _steps(rank: int, size: int) -> int:
    return links(rank, size) + size - 1


def _depth(size: int) -> int:
    return log2_ceiling(size) + size - 1


_SCATTER = Algorithm(
    name="binomial",
    collective="scatter",
    schedule=binomial_scatter,
    chunks=chunk_per_rank,
    steps=links,
    depth=log2_ceiling,
    sent=_handed_on,
    received=_handed_down,
    time=L * alpha + (N - 1) / N * S * beta,
    time_source=_PAPER,
    bandwidth_optimal=ALWAYS,
    latency_optimal=ALWAYS,
    source=_PAPER,
    also_known_as={"Open MPI": "2 binomial", "MPICH": "binomial"},
)
ALGORITHMS = (
    _SCATTER,
    mirrored(
        _SCATTER,
        "gather",
        schedule=binomial_gather,
        also_known_as={"Open MPI": "2 binomial", "MPICH": "binomial"},
    ),
    Algorithm(
        name="scatter_doubling",
        collective="broadcast",
        schedule=scatter_doubling_broadcast,
        chunks=chunk_per_rank,
        sizes=POWERS_OF_TWO,
        steps=lambda rank, size: links(rank, size) + log2_ceiling(size),
        depth=lambda size: 2 * log2_ceiling(size),
        sent=lambda rank, size, c: _handed_on(rank, size, c) + gathered(rank, size, c),
        received=lambda rank, size, c: _handed_down(rank, size, c) + all_but(rank, c),
        time=2 * LOG2_N * alpha + 2 * (N - 1) / N * S * beta,
        time_source=_PAPER,
        bandwidth_optimal=UP_TO_2,
        latency_optimal=ONE,
        source=_PAPER,
        also_known_as={
            "Open MPI": "8 scatter_allgather",
            "MPICH": "scatter_recursive_doubling_allgather",
        },
    ),
    Algorithm(
        name="scatter_all_gather",
        collective="broadcast",
        schedule=scatter_all_gather_broadcast,
        chunks=chunk_per_rank,
        steps=_steps,
        depth=_depth,
        sent=lambda rank, size, c: _handed_on(rank, size, c) + all_but(rank + 1, c),
        received=lambda rank, size, c: _handed_down(rank, size, c) + all_but(rank, c),
        time=(L + N - 1) * alpha + 2 * (N - 1) / N * S * beta,
        time_source=_PAPER,
        bandwidth_optimal=UP_TO_2,
        latency_optimal=ONE,
        source="Barnett et al. 1994; Thakur, Rabenseifner and Gropp 2005",
        also_known_as={
            "Open MPI": "9 scatter_allgather_ring",
            "MPICH": "scatter_ring_allgather",
        },
    ),
    Algorithm(
        name="reduce_scatter_gather",
        collective="reduce",
        schedule=reduce_scatter_gather_reduce,
        chunks=chunk_per_rank,
        steps=_steps,
        depth=_depth,
        sent=lambda rank, size, c: all_but(rank, c) + _handed_down(rank, size, c),
        received=lambda rank, size, c: all_but(rank - 1, c) + _handed_on(rank, size, c),
        time=(L + N - 1) * alpha + 2 * (N - 1) / N * S * beta + (N - 1) / N * S * gamma,
        bandwidth_optimal=UP_TO_2,
        latency_optimal=ONE,
        source="Thakur, Rabenseifner and Gropp 2005, with a ring",
    ),
    Algorithm(
        name="halving_gather",
        collective="reduce",
        schedule=halving_gather_reduce,
        chunks=chunk_per_rank,
        steps=lambda rank, size: halving_steps(rank, size) + links(rank, size),
        depth=lambda size: halving_depth(size) + log2_ceiling(size),
        sent=lambda rank, size, c: halving_sent(rank, size, c) + _handed_down(rank, size, c),
        received=lambda rank, size, c: halving_received(rank, size, c) + _handed_on(rank, size, c),
        time=HALVING_TIME + L * alpha + (N - 1) / N * S * beta,
        bounds=("depth",),
        bandwidth_optimal=UP_TO_2,
        latency_optimal=ONE,
        source=_PAPER,
        also_known_as={"Open MPI": "7 rabenseifner", "MPICH": "reduce_scatter_gather"},
    ),
)
