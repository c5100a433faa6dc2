"""Ring: everyone passes one chunk to the right in every step.

        0 --> 1 --> 2 --> 3        step t = 1, 2, ..., N-1 of the reduce-scatter:
        ^                 |          rank r sends chunk r - t to rank r + 1
        +-----------------+          and adds chunk r - t - 1 from rank r - 1   (all mod N)

Size 4, chunk 0 on its way through the reduce-scatter, collecting one rank per hop:
rank 1 sends x1; rank 2 sends x1+x2; rank 3 sends x1+x2+x3; rank 0 has x1+x2+x3+x0, all of
it.  In the same steps chunk 1 goes 2, 3, 0, 1, and so on: every link is always busy.

The all-gather then passes the finished chunks round the same ring.  Together they are the
all-reduce: 2(N-1) steps of S/N bytes, 2(N-1)/N S per rank: no schedule does with fewer.
(Patarasuk and Yuan, Bandwidth optimal all-reduce algorithms for clusters of workstations,
J. Parallel Distrib. Comput. 69 (2009).)

The operands of chunk c meet along the ring, from c+1 round to c: the operator must commute.
"""

from __future__ import annotations

from refcoll.algorithms.declaration import ALWAYS, ONE, UP_TO_3, Algorithm, Lengths, chunk_per_rank
from refcoll.algorithms.symbols import N, S, alpha, beta, gamma
from refcoll.schedule import Copy, Reduce, Schedule, Send, then

_PAPER = "Patarasuk and Yuan 2009"
_THAKUR = "Thakur, Rabenseifner and Gropp 2005"


def ring_reduce_scatter(rank: int, size: int) -> Schedule:
    """Rank r ends with chunk r, reduced over all ranks.

    Chunks: N.  Steps: N-1.  Sent: S - |c_r|.  Received: S - |c_(r-1)|.
    Proved for every N: ring_reduce_scatters in proofs/RingOnce.v.
    """
    right, left = (rank + 1) % size, (rank - 1) % size
    for t in range(1, size):
        # Before step t, my chunk r - t holds the t ranks r - t + 1, ..., r.
        yield Send((rank - t) % size, right), Reduce((rank - t - 1) % size, left)


def ring_all_gather(rank: int, size: int) -> Schedule:
    """Rank r starts with chunk r; all end with all chunks.

    Chunks: N.  Steps: N-1.  Sent: S - |c_(r+1)|.  Received: S - |c_r|.
    Proved for every N: ring_all_gathers in proofs/RingOnce.v.
    """
    right, left = (rank + 1) % size, (rank - 1) % size
    for t in range(size - 1):
        # Before step t, I have the chunks r - t, ..., r.
        yield Send((rank - t) % size, right), Copy((rank - t - 1) % size, left)


def ring_all_reduce(rank: int, size: int) -> Schedule:
    """Reduce-scatter, then all-gather.

    Chunks: N.  Steps: 2(N-1).  Sent: 2S - |c_r| - |c_(r+1)|.  Received: 2S - |c_(r-1)| - |c_r|.
    Proved for every N: ring_all_reduces in proofs/RingOnce.v.
    """
    return then(ring_reduce_scatter(rank, size), ring_all_gather(rank, size))


def all_but(chunk: int, lengths: Lengths) -> int:
    """Elements in all chunks but one, which is named modulo their number."""
    return sum(lengths) - lengths[chunk % len(lengths)]


def all_reduce_sent(place: int, lengths: Lengths) -> int:
    """What the rank at ``place`` in a ring sends in an all-reduce."""
    return all_but(place, lengths) + all_but(place + 1, lengths)


def all_reduce_received(place: int, lengths: Lengths) -> int:
    """What it receives."""
    return all_but(place - 1, lengths) + all_but(place, lengths)


GATHER_TIME = (N - 1) * alpha + (N - 1) / N * S * beta
SCATTER_TIME = GATHER_TIME + (N - 1) / N * S * gamma
ALGORITHMS = (
    Algorithm(
        name="ring",
        collective="reduce_scatter",
        schedule=ring_reduce_scatter,
        chunks=chunk_per_rank,
        steps=lambda rank, size: size - 1,
        depth=lambda size: size - 1,
        sent=lambda rank, size, c: all_but(rank, c),
        received=lambda rank, size, c: all_but(rank - 1, c),
        time=SCATTER_TIME,
        time_source=_THAKUR,
        bandwidth_optimal=ALWAYS,
        latency_optimal=UP_TO_3,
        source=_PAPER,
        proved="RingOnce.ring_reduce_scatters",
        also_known_as={"Open MPI": "3 ring", "NCCL": "Ring"},
    ),
    Algorithm(
        name="ring",
        collective="all_gather",
        schedule=ring_all_gather,
        chunks=chunk_per_rank,
        steps=lambda rank, size: size - 1,
        depth=lambda size: size - 1,
        sent=lambda rank, size, c: all_but(rank + 1, c),
        received=lambda rank, size, c: all_but(rank, c),
        time=GATHER_TIME,
        time_source=_THAKUR,
        bandwidth_optimal=ALWAYS,
        latency_optimal=UP_TO_3,
        source=_PAPER,
        proved="RingOnce.ring_all_gathers",
        also_known_as={"Open MPI": "4 ring", "MPICH": "ring", "NCCL": "Ring"},
    ),
    Algorithm(
        name="ring",
        collective="all_reduce",
        schedule=ring_all_reduce,
        chunks=chunk_per_rank,
        steps=lambda rank, size: 2 * (size - 1),
        depth=lambda size: 2 * (size - 1),
        sent=lambda rank, size, c: all_reduce_sent(rank, c),
        received=lambda rank, size, c: all_reduce_received(rank, c),
        time=2 * (N - 1) * alpha + 2 * (N - 1) / N * S * beta + (N - 1) / N * S * gamma,
        time_source=_THAKUR,
        bandwidth_optimal=ALWAYS,
        latency_optimal=ONE,
        source=_PAPER,
        proved="RingOnce.ring_all_reduces",
        also_known_as={"Open MPI": "4 ring", "MPICH": "ring", "NCCL": "Ring", "Gloo": "RING"},
    ),
)
