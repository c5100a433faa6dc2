"""Parameter server: everyone sends everything to the servers, which send the sums back.

        1   2   3            step 1:  a server adds its shard of all workers' vectors
         \\  |  /                      (in rank order, so the operator need not commute)
            0                step 2:  it sends the sum to each of them

Two steps whatever N.  With one shard one link carries it all: (N-1) S each way where a
worker hosts the server (*hosted*, on rank 0; size 4: 3 S), N S where it stands alone
(*alone*, an extra rank after the workers, with no input of its own; size 4: 4 S).  With m
shards server s has the m-th part s of every vector: N S/m each alone, (N+m-2) S/m each
hosted, and m = N hosted shards are the two-shot all-reduce.  The baseline that the other
algorithms are measured against.
(Li et al., Scaling distributed machine learning with the parameter server, 2014.)
"""

from __future__ import annotations

from refcoll.algorithms.declaration import ONE, Algorithm, Lengths, When
from refcoll.algorithms.symbols import Count, N, S, alpha, beta, gamma, most, shards
from refcoll.schedule import Action, Copy, Reduce, Schedule, Send

_PAPER = "Li et al. 2014"


def hosted_servers_all_reduce(rank: int, size: int, shards: int) -> Schedule:
    """Ranks 0, ..., m-1 serve; rank s has shard s.

    Chunks: m, at most N.  Steps: 2.  Sent and received: the others' shards, S - |c_r|, and
    by a server (N-1) |c_r| more.
    """
    if size == 1:
        return
    servers = [server for server in range(min(shards, size)) if server != rank]
    serving = rank < shards
    # Merging outwards from my own rank keeps rank order.
    others = [*range(rank + 1, size), *reversed(range(rank))]
    gather: list[Action] = [Send(server, server) for server in servers]
    gather += [Reduce(rank, other) for other in others if serving]
    yield tuple(gather)
    spread: list[Action] = [Send(rank, other) for other in others if serving]
    yield (*spread, *(Copy(server, server) for server in servers))


def lone_servers_all_reduce(rank: int, size: int, shards: int) -> Schedule:
    """Ranks N, ..., N+m-1, beside the N workers, serve; rank N + s has shard s.

    Chunks: m.  Steps: 2.  Sent and received: S by each worker, N |c_s| by server s.
    """
    shard, workers = rank - size, range(size)
    if shard >= 0:
        yield Copy(shard, 0), *(Reduce(shard, worker, "right") for worker in workers[1:])
        yield tuple(Send(shard, worker) for worker in workers)
    else:
        yield tuple(Send(s, size + s) for s in range(shards))
        yield tuple(Copy(s, size + s) for s in range(shards))


def _hosted_traffic(rank: int, size: int, lengths: Lengths, shards: int) -> int:
    """Everything to its server, but what is mine, and as a server mine for everyone else."""
    if size == 1:
        return 0
    mine = lengths[rank] if rank < shards else 0
    return sum(lengths) - mine + (size - 1) * mine


def _lone_traffic(rank: int, size: int, lengths: Lengths, shards: int) -> int:
    return sum(lengths) if rank < size else size * lengths[rank - size]


_SHARED = When(
    "N <= 2, or a shard for every rank", lambda size, shards: size <= 2 or shards >= size
)
# One by one, all workers send to server 0 first, the last server gets its first message after m-1
# others (m-2 where they are servers, which skip themselves), and then all N-1; it sends as many.
# A lone server gets N, and a worker who waits for m of them may be last by its own 2m messages.
_m = Count("m", "shards, at most N", lambda size, shards: min(shards, size))
_MESSAGE = alpha + S / shards * beta
ALGORITHMS = (
    Algorithm(
        name="parameter_server",
        collective="all_reduce",
        schedule=hosted_servers_all_reduce,
        chunks=lambda size, shards: min(shards, size),
        steps=lambda rank, size, shards: 2 * (size > 1),
        depth=lambda size, shards: 2 * (size > 1),
        sent=_hosted_traffic,
        received=_hosted_traffic,
        time=2 * alpha + 2 * (N - 1) / _m * S * beta + (N - 1) / _m * S * gamma,
        one_port=(2 * (N - 1) + most(_m - 2, 0)) * (alpha + S / _m * beta)
        + (N - 1) / _m * S * gamma,
        in_rank_order=True,
        bandwidth_optimal=_SHARED,
        latency_optimal=ONE,
        options=("shards",),
        source=_PAPER,
    ),
    Algorithm(
        name="parameter_server_alone",
        collective="all_reduce",
        schedule=lone_servers_all_reduce,
        chunks=lambda size, shards: shards,
        helpers=lambda size, shards: shards,
        steps=lambda rank, size, shards: 2,
        depth=lambda size, shards: 2,
        sent=_lone_traffic,
        received=_lone_traffic,
        time=2 * alpha + 2 * most(N, shards) / shards * S * beta + (N - 1) / shards * S * gamma,
        one_port=most(
            (2 * N + shards - 1) * _MESSAGE + (N - 1) / shards * S * gamma,
            (N + 2 * shards - 1) * _MESSAGE,
        ),
        in_rank_order=True,
        options=("shards",),
        source=_PAPER,
    ),
)
