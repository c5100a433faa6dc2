"""Reduce-scatter alone: what ZeRO-2 pays.

A rank that keeps the optimizer state of chunk r only needs the summed gradient of chunk r:
half of an all-reduce, (N-1)/N S per rank.  The ring (``ring.ring_reduce_scatter``) is one
way; this is the other, where each chunk goes straight to its owner.

        step k = 1, ..., N-1:   rank r sends chunk r + k to rank r + k
                                and adds rank r - k's part of chunk r       (all mod N)

Size 4, chunk 0, owned by rank 0: step 1 brings x3, step 2 x2, step 3 x1.  No rank sends a
partial sum, so nothing waits for anything but the network, but every pair of ranks talks.
(Thakur, Rabenseifner and Gropp, Optimization of collective communication operations in
MPICH, 2005: pairwise exchange.)
"""

from __future__ import annotations

from refcoll.algorithms.declaration import ALWAYS, UP_TO_3, Algorithm, chunk_per_rank
from refcoll.algorithms.ring import all_but
from refcoll.algorithms.symbols import N, S, alpha, beta, gamma
from refcoll.schedule import Reduce, Schedule, Send


def pairwise_reduce_scatter(rank: int, size: int) -> Schedule:
    """Rank r ends with chunk r, reduced over all ranks.

    Chunks: N.  Steps: N-1.  Sent: S - |c_r|.  Received: (N-1) |c_r|.
    Proved for every N: pairwise_reduce_scatters in proofs/Pairwise.v.
    """
    for k in range(1, size):
        # Before step k, my chunk r holds the k ranks r - k + 1, ..., r.
        target, source = (rank + k) % size, (rank - k) % size
        yield Send(target, target), Reduce(rank, source)


ALGORITHMS = (
    Algorithm(
        name="pairwise",
        collective="reduce_scatter",
        schedule=pairwise_reduce_scatter,
        chunks=chunk_per_rank,
        steps=lambda rank, size: size - 1,
        depth=lambda size: size - 1,
        sent=lambda rank, size, c: all_but(rank, c),
        received=lambda rank, size, c: (size - 1) * c[rank],
        time=(N - 1) * alpha + (N - 1) / N * S * beta + (N - 1) / N * S * gamma,
        time_source="Thakur, Rabenseifner and Gropp 2005",
        bandwidth_optimal=ALWAYS,
        latency_optimal=UP_TO_3,
        source="Thakur, Rabenseifner and Gropp 2005",
        proved="Pairwise.pairwise_reduce_scatters",
        also_known_as={"MPICH": "pairwise"},
    ),
)
