"""Scan: rank r ends with the merge of the ranks 0, ..., r; exscan: of 0, ..., r-1.

*Linear*: along the ranks; each merges what it gets with its own and passes it on.

        x0 --> x0+x1 --> x0+x1+x2 --> x0+x1+x2+x3          N-1 steps deep

*Simultaneous* (Hillis and Steele): in the round of distance d = 1, 2, 4, ... rank r sends
what it has to r + d.  Size 4: 0 > 1, 1 > 2, 2 > 3; then 0 > 2, 1 > 3.  Before it, r holds
the d ranks up to r.  ceil(log2 N) rounds, in which a rank sends while r + d < N.

*Recursive doubling*: rank r exchanges the merge of its block of d ranks with r XOR d; what
comes from below also goes into its result.  Size 4: 0 - 1, 2 - 3, then 0 - 2, 1 - 3.

The exscans, and the doubling scan, have their result in area 1; an exscan's is undefined on
rank 0.  All merge in rank order.
(Hillis and Steele, Data parallel algorithms, 1986; MPICH's scan, recursive doubling.)
"""

from __future__ import annotations

from refcoll.algorithms.declaration import (
    ALWAYS,
    UP_TO_2,
    UP_TO_3,
    Algorithm,
    Lengths,
    log2_ceiling,
    one_chunk,
)
from refcoll.algorithms.symbols import Count, L, N, S, alpha, beta, gamma, most
from refcoll.schedule import IDLE, Action, Copy, Reduce, Schedule, Send

_MINE, _RESULT, _INCOMING = 0, 1, 2
"""The areas of recursive doubling: my block's merge, the result, what has just come."""


def linear_scan(rank: int, size: int) -> Schedule:
    """Chunks: 1.  Depth: N-1.  Sent: S, not by the last rank.  Received: S, not by rank 0."""
    for t in range(1, size):
        # Before step t, the ranks 0, ..., t - 1 have their results.
        if rank == t - 1:
            yield (Send(0, t),)
        elif rank == t:
            yield (Reduce(0, t - 1),)
        else:
            yield IDLE


def linear_exscan(rank: int, size: int) -> Schedule:
    """Along the ranks: what comes is the result, and is merged only to be passed on."""
    for t in range(1, size):
        if rank == t - 1:
            yield (Send(0, t),)
        elif rank == t:
            yield (Copy(1, t - 1),)
        else:
            yield IDLE
        yield (Send(1, rank), Reduce(0, rank, "left")) if rank == t < size - 1 else IDLE


def simultaneous_scan(rank: int, size: int) -> Schedule:
    """Chunks: 1.  Depth: ceil(log2 N).  Sent: S per d with r + d < N.  Received: S per d <= r."""
    for k in range(log2_ceiling(size)):
        # Before this round, I hold the ranks r - d + 1, ..., r, as far as there are such.
        distance = 1 << k
        step: list[Action] = [Send(0, rank + distance)] if rank + distance < size else []
        if rank >= distance:
            step.append(Reduce(0, rank - distance))
        yield tuple(step)


def doubling_scan(rank: int, size: int) -> Schedule:
    """Chunks: 1.  Depth: ceil(log2 N).  Sent and received: S per d with r XOR d < N."""
    yield Send(_MINE, rank), Copy(_RESULT, rank)
    yield from _doubling(rank, size, started=True)


def doubling_exscan(rank: int, size: int) -> Schedule:
    """Recursive doubling; my own contribution goes out, but not into my own result."""
    return _doubling(rank, size, started=False)


def _doubling(rank: int, size: int, started: bool) -> Schedule:
    for k in range(log2_ceiling(size)):
        # Before this round, area 0 holds my block of 2^k ranks, area 1 those of it below me.
        other = rank ^ 1 << k
        if other >= size:
            yield from (IDLE, IDLE)
            continue
        yield Send(_MINE, other), Copy(_INCOMING, other)
        if other > rank:
            yield Send(_INCOMING, rank), Reduce(_MINE, rank, "right")
            continue
        new = Reduce(_RESULT, rank, "left") if started else Copy(_RESULT, rank)
        yield Send(_INCOMING, rank), Send(_INCOMING, rank), new, Reduce(_MINE, rank, "left")
        started = True


# ---- claims ----------------------------------------------------------------------------


def _room(rank: int, size: int) -> int:
    """How many powers of two d have rank + d < size."""
    return (size - 1 - rank).bit_length()


def _partners(rank: int, size: int) -> int:
    """How many powers of two d below N have rank XOR d < size: bits set, or with room."""
    return _room(rank, size) + (rank >> _room(rank, size)).bit_count()


def _simultaneous_steps(rank: int, size: int) -> int:
    return max(_room(rank, size), rank.bit_length())


def _ends(rank: int, size: int) -> int:
    return (rank > 0) + (rank < size - 1)


def _doubled(rank: int, size: int, lengths: Lengths) -> int:
    return _partners(rank, size) * sum(lengths)


_w = Count("w", "log2 of N - 2^(L-1), rounded down",
           lambda size, **_: (size - (1 << log2_ceiling(size) >> 1)).bit_length() - 1)  # fmt: skip
_HOP = alpha + S * beta
_PASSED_ON = (N - 1) * _HOP + (N - 2) * S * gamma
# Who gets from below merges twice.  In all L rounds that is once for each bit of the receiver of
# the last; in the first L-1 it can be every round.  An exscan's first time is only a copy.
_SCAN = most(
    L * _HOP + (L + 1 + _w) * S * gamma,
    (L - 1) * (_HOP + 2 * S * gamma),
)
_EXSCAN = most(
    L * _HOP + (L + _w) * S * gamma,
    (L - 1) * _HOP + (2 * L - 3) * S * gamma,
)
ALGORITHMS = (
    *(
        Algorithm(
            name="linear",
            collective=collective,
            schedule=schedule,
            chunks=one_chunk,
            areas=areas,
            result_area=area,
            steps=_ends,
            depth=lambda size: size - 1,
            sent=lambda rank, size, c: (rank < size - 1) * sum(c),
            received=lambda rank, size, c: (rank > 0) * sum(c),
            time=time,
            in_rank_order=True,
            bandwidth_optimal=ALWAYS,
            latency_optimal=UP_TO_3,
            source=f"Open MPI coll/base, {name} linear",
            also_known_as={"Open MPI": "1 linear"},
        )
        for name, collective, schedule, areas, area, time in (
            ("scan", "scan", linear_scan, lambda size: 1, 0, (N - 1) * (_HOP + S * gamma)),
            (
                "exscan",
                "exscan",
                linear_exscan,
                lambda size: 2,
                1,
                (N - 1) * _HOP + (N - 2) * S * gamma,
            ),
        )
    ),
    Algorithm(
        name="simultaneous",
        collective="scan",
        schedule=simultaneous_scan,
        chunks=one_chunk,
        steps=_simultaneous_steps,
        depth=log2_ceiling,
        sent=lambda rank, size, c: _room(rank, size) * sum(c),
        received=lambda rank, size, c: rank.bit_length() * sum(c),
        time=L * (alpha + S * beta + S * gamma),
        in_rank_order=True,
        bandwidth_optimal=UP_TO_2,
        latency_optimal=ALWAYS,
        source="Hillis and Steele 1986",
    ),
    *(
        Algorithm(
            name="recursive_doubling",
            collective=collective,
            schedule=schedule,
            chunks=one_chunk,
            areas=lambda size: 3,
            result_area=_RESULT,
            steps=_partners,
            depth=log2_ceiling,
            sent=_doubled,
            received=_doubled,
            time=time,
            in_rank_order=True,
            bandwidth_optimal=UP_TO_2,
            latency_optimal=ALWAYS,
            source=f"MPICH, {collective} recursive doubling",
            also_known_as={
                "Open MPI": "2 recursive_doubling",
                "MPICH": "recursive_doubling",
            },
        )
        for collective, schedule, time in (
            ("scan", doubling_scan, _SCAN),
            ("exscan", doubling_exscan, _EXSCAN),
        )
    ),
)
