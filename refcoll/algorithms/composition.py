"""Composition: any reduce-scatter, then any all-gather, is an all-reduce.

        "pairwise+bruck":   pairwise reduce-scatter, then Bruck's all-gather of its chunks

Size 4, "recursive_halving+ring": 2 rounds that leave rank r with chunk r, then 3 round the
ring.  Steps and traffic are the sums of both parts; the depth is at most their sum, since
a rank that has its chunk early may go on at once.  So is the time; but most all-gathers do the
same on every rank, so that whoever is last to begin delays it by as much.  The linear one does
not: it can take in early chunks before the last one comes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from refcoll.algorithms.declaration import (
    ALWAYS,
    NEVER,
    ONE,
    Algorithm,
    Lengths,
    When,
    chunk_per_rank,
)
from refcoll.algorithms.linear import linear_all_gather
from refcoll.schedule import Schedule, then


@lru_cache(maxsize=256)
def composed(scatter: Algorithm, gather: Algorithm) -> Algorithm:
    """The all-reduce by reduce-scatter ``scatter`` and all-gather ``gather``."""

    def schedule(rank: int, size: int) -> Schedule:
        """Reduce-scatter, then all-gather."""
        return then(scatter.schedule(rank, size), gather.schedule(rank, size))

    def added(one: Callable[..., int], other: Callable[..., int]) -> Callable[..., int]:
        def total(rank: int, size: int, lengths: Lengths) -> int:
            return one(rank, size, lengths) + other(rank, size, lengths)

        return total

    times = [each.one_port or each.time for each in (scatter, gather)]
    return Algorithm(
        name=f"{scatter.name}+{gather.name}",
        collective="all_reduce",
        schedule=schedule,
        chunks=chunk_per_rank,
        sizes=_both(scatter.sizes, gather.sizes),
        steps=lambda rank, size: scatter.steps(rank, size) + gather.steps(rank, size),
        depth=lambda size: scatter.depth(size) + gather.depth(size),
        sent=added(scatter.sent, gather.sent),
        received=added(scatter.received, gather.received),
        time=scatter.time + gather.time,
        one_port=times[0] + times[1],
        time_source=_cited(scatter.time_source, gather.time_source),
        time_exact=NEVER if gather.schedule is linear_all_gather else ALWAYS,
        bounds=("depth",),
        bandwidth_optimal=When(
            "where both parts are",
            lambda size: (
                scatter.bandwidth_optimal.holds(size) and gather.bandwidth_optimal.holds(size)
            ),
        ),
        latency_optimal=ONE,
        in_rank_order=scatter.in_rank_order,
        source=_cited(scatter.source, gather.source),
    )


def _cited(*sources: str) -> str:
    """Each of them once."""
    return "; ".join(dict.fromkeys(sources))


def _both(one: When, other: When) -> When:
    """The sizes that are among both."""
    if one.said == other.said or other.said == "every N":
        return one
    if one.said == "every N":
        return other
    return When(f"{one.said}, and {other.said}", lambda n: one.holds(n) and other.holds(n))


ALGORITHMS: tuple[Algorithm, ...] = ()
"""None by itself: compositions are made when they are asked for."""
