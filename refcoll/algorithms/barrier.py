"""Dissemination barrier: word of everyone reaches everyone in ceil(log2 N) rounds.

        round k:  rank r tells r + 2^k, and hears from r - 2^k     (mod N)

Size 4: after round 0 rank r has heard of r-1, r; after round 1 of r-3, ..., r.
(Hensgen, Finkel and Manber, Two algorithms for barrier synchronization, 1988.)
"""

from __future__ import annotations

from refcoll.algorithms.declaration import ALWAYS, Algorithm, log2_ceiling, one_chunk
from refcoll.algorithms.symbols import L, alpha
from refcoll.schedule import Copy, Schedule, Send


def dissemination_barrier(rank: int, size: int) -> Schedule:
    """Empty messages only.  Steps: ceil(log2 N)."""
    for k in range(log2_ceiling(size)):
        # Before round k, I have heard of the ranks r - 2^k + 1, ..., r.
        yield Send((), (rank + (1 << k)) % size), Copy((), (rank - (1 << k)) % size)


ALGORITHMS = (
    Algorithm(
        name="dissemination",
        collective="barrier",
        schedule=dissemination_barrier,
        chunks=one_chunk,
        steps=lambda rank, size: log2_ceiling(size),
        depth=log2_ceiling,
        sent=lambda rank, size, c: 0,
        received=lambda rank, size, c: 0,
        time=L * alpha,
        time_source="Hensgen, Finkel and Manber 1988",
        bandwidth_optimal=ALWAYS,
        latency_optimal=ALWAYS,
        source="Hensgen, Finkel and Manber 1988",
        also_known_as={"MPICH": "k_dissemination", "Open MPI": "4 bruck"},
    ),
)
