"""Parameter server: everyone sends everything to one, which sends the sum back.

        1   2   3            step 1:  the server adds the vectors of all others
         \\  |  /                      (in rank order, so the operator need not commute)
            0                step 2:  it sends the sum to each of them

Two steps whatever N, but one link carries it all: (N-1) S each way where a worker hosts
the server (*hosted*, on rank 0; size 4: 3 S), N S where it stands alone (*alone*, an extra
rank after the workers, with no input of its own; size 4: 4 S).  The baseline that the other
algorithms are measured against.
"""

from __future__ import annotations

from refcoll.algorithms.declaration import Algorithm, one_chunk
from refcoll.schedule import Copy, Reduce, Schedule, Send


def hosted_server_all_reduce(rank: int, size: int) -> Schedule:
    """Rank 0 serves.  Chunks: 1.  Steps: 2.  Sent, received: (N-1) S by rank 0, S by others."""
    if size == 1:
        return
    others = range(1, size)
    if rank == 0:
        yield tuple(Reduce(0, other) for other in others)
        yield tuple(Send(0, other) for other in others)
    else:
        yield (Send(0, 0),)
        yield (Copy(0, 0),)


def lone_server_all_reduce(rank: int, size: int) -> Schedule:
    """Rank N, beside the N workers, serves.

    Chunks: 1.  Steps: 2.  Sent and received: N S by the server, S by each worker.
    """
    server, workers = size, range(size)
    if rank == server:
        yield Copy(0, 0), *(Reduce(0, worker, "right") for worker in workers[1:])
        yield tuple(Send(0, worker) for worker in workers)
    else:
        yield (Send(0, server),)
        yield (Copy(0, server),)


ALGORITHMS = (
    Algorithm(
        name="parameter_server",
        collective="all_reduce",
        schedule=hosted_server_all_reduce,
        chunks=one_chunk,
        steps=lambda rank, size: 2 * (size > 1),
        depth=lambda size: 2 * (size > 1),
        sent=lambda rank, size, c: ((size - 1) if rank == 0 else 1) * sum(c),
        received=lambda rank, size, c: ((size - 1) if rank == 0 else 1) * sum(c),
        in_rank_order=True,
        bandwidth_optimal="N <= 2",
        source="Li et al., Scaling distributed machine learning with the parameter server (2014)",
        also_known_as={"Open MPI": "1 basic_linear"},
    ),
    Algorithm(
        name="parameter_server_alone",
        collective="all_reduce",
        schedule=lone_server_all_reduce,
        chunks=one_chunk,
        helpers=1,
        steps=lambda rank, size: 2,
        depth=lambda size: 2,
        sent=lambda rank, size, c: (size if rank == size else 1) * sum(c),
        received=lambda rank, size, c: (size if rank == size else 1) * sum(c),
        in_rank_order=True,
        source="Li et al., Scaling distributed machine learning with the parameter server (2014)",
    ),
)
