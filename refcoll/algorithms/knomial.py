"""k-nomial tree: in each round everyone who has it tells k-1 more.

        0 -----> 3, 6          k = 3, size 9: distances d = 3, 1
        0 -> 1, 2              a rank r that k d divides sends to r + d, ..., r + (k-1) d
        3 -> 4, 5   6 -> 7, 8

ceil(log_k N) steps, each of up to k-1 messages; k = 2 is the binomial tree.  Size 4, k = 4:
0 sends to 1, 2 and 3 at once.  The reduce is the broadcast backwards in time: rank r merges
r + d, r + 2d, ... in this order, each of which holds the d ranks from it on, so operands
meet in rank order.
(Open MPI's coll/base, knomial; MPICH's tree with type knomial.)
"""

from __future__ import annotations

from refcoll.algorithms.declaration import (
    UP_TO_2,
    Algorithm,
    When,
    by_others,
    log2_ceiling,
    log_ceiling,
    mirrored,
    one_chunk,
)
from refcoll.algorithms.symbols import Count, S, alpha, beta
from refcoll.schedule import IDLE, Copy, Reduce, Schedule, Send

_SOURCE = "Open MPI coll/base, bcast knomial"


def knomial_broadcast(rank: int, size: int, radix: int) -> Schedule:
    """Rank 0's vector to everyone.

    Chunks: 1.  Depth: ceil(log_k N).  Sent: S per child.  Received: S, but nothing by rank 0.
    """
    for distance in _distances(size, radix):
        # Before this round exactly the ranks that k distance divides have the vector.
        place = rank // distance % radix
        if rank % distance:
            yield IDLE
        elif place:
            yield (Copy(0, rank - place * distance),)
        else:
            yield tuple(Send(0, child) for child in _children(rank, size, radix, distance))


def knomial_reduce(rank: int, size: int, radix: int) -> Schedule:
    """The broadcast backwards, merging children in rank order; sent and received swap."""
    for distance in reversed(_distances(size, radix)):
        # Before this round a rank that distance divides holds the distance ranks from it on.
        place = rank // distance % radix
        if rank % distance:
            yield IDLE
        elif place:
            yield (Send(0, rank - place * distance),)
        else:
            yield tuple(Reduce(0, child) for child in _children(rank, size, radix, distance))


def _distances(size: int, radix: int) -> list[int]:
    return [radix**k for k in reversed(range(log_ceiling(size, radix)))]


def _children(rank: int, size: int, radix: int, distance: int) -> range:
    return range(rank + distance, min(rank + radix * distance, size), distance)


def _levels(rank: int, size: int, radix: int) -> list[int]:
    """The distances at which a rank has children: those below its own, while it has room."""
    below = [d for d in _distances(size, radix) if rank % (radix * d) == 0]
    return [d for d in below if rank + d < size]


def _child_count(rank: int, size: int, radix: int) -> int:
    room = size - 1 - rank
    return sum(min(radix - 1, room // d) for d in _levels(rank, size, radix))


def _steps(rank: int, size: int, radix: int) -> int:
    return len(_levels(rank, size, radix)) + (rank > 0)


def _depth(size: int, radix: int) -> int:
    return log_ceiling(size, radix)


def _arrival(rank: int, size: int, radix: int) -> int:
    """How many rounds of one message each pass before a rank has the vector.

    At each level on the way down, its ancestor sends to as many children as lie up to it,
    or to all of that level where it is the ancestor of the next level too.
    """
    rounds, ancestor = 0, 0
    for distance in _distances(size, radix):
        if ancestor == rank:
            break
        place = rank // distance % radix
        rounds += place or min(radix - 1, (size - 1 - ancestor) // distance)
        ancestor += place * distance
    return rounds


_AS_FAST = When(
    "k = 2, and some N for wider trees",
    lambda size, radix: (
        max(_arrival(rank, size, radix) for rank in range(size)) == log2_ceiling(size)
    ),
)


def _served(size: int, radix: int) -> int:
    """Messages that the root sends; nobody has the vector before it has sent so many."""
    levels = log_ceiling(size, radix)
    first = (size - 1) // radix ** (levels - 1) if levels else 0
    return first + (radix - 1) * max(0, levels - 1)


_h = Count("h", "log_k N, rounded up", lambda size, radix: log_ceiling(size, radix))
_f = Count("f", "children of the root: k-1 a level, on the first (N-1)/k^(h-1), rounded down",
           _served)  # fmt: skip
_BROADCAST = Algorithm(
    name="knomial",
    collective="broadcast",
    schedule=knomial_broadcast,
    chunks=lambda size, radix: one_chunk(size),
    steps=_steps,
    depth=_depth,
    sent=lambda rank, size, c, radix: _child_count(rank, size, radix) * sum(c),
    received=by_others,
    time=_h * alpha + _f * S * beta,
    one_port=_f * (alpha + S * beta),
    bandwidth_optimal=UP_TO_2,
    latency_optimal=_AS_FAST,
    options=("radix",),
    source=_SOURCE,
    also_known_as={"Open MPI": "7 knomial", "MPICH": "tree knomial"},
)
ALGORITHMS = (
    _BROADCAST,
    mirrored(
        _BROADCAST,
        "reduce",
        schedule=knomial_reduce,
        in_rank_order=True,
        source="the broadcast, backwards in time",
        also_known_as={"MPICH": "tree knomial"},
    ),
)
