"""Recursive multiplying: groups of k exchange at once, where recursive doubling has pairs.

        k = 3, size 9:   {0 1 2} {3 4 5} {6 7 8},   then {0 3 6} {1 4 7} {2 5 8}

Everyone gets the others' whole vectors and merges all k in the order of the group (``radix``),
its own among them: before the round of distance d rank r holds its block of d neighbours,
after it of k d.  The others' vectors rest in areas 1, ..., k, since a merge from the inside
out would round differently on each rank.  Size 4, k = 2: 0 - 1, 2 - 3, then 0 - 2, 1 - 3.
log_k N rounds; folded, it serves every N.
(MPICH's allreduce, recursive_multiplying.)
"""

from __future__ import annotations

from collections.abc import Sequence

from refcoll.algorithms.declaration import UP_TO_2, Algorithm, Lengths, When, log2_ceiling
from refcoll.algorithms.radix import (
    FOLDED,
    FOLDING,
    c,
    distances,
    folded,
    folded_depth,
    folded_steps,
    folded_vectors,
    group_of,
    m,
    members_of,
    power,
    rounds_of,
)
from refcoll.algorithms.symbols import S, alpha, beta, gamma, k
from refcoll.schedule import Action, Copy, Reduce, Schedule, Send


def multiplying_all_reduce(rank: int, size: int, radix: int) -> Schedule:
    """Chunks: 1.  Depth: m, two more where folded.  Sent and received: S (k-1) m, and folding."""

    def core(place: int, count: int) -> Schedule:
        for distance in distances(count, radix):
            # Before this round the vector holds my block of ``distance`` ranks, in order.
            yield from merge_whole_vectors(place, group_of(place, radix, distance), 1)

    return folded(rank, size, radix, 0, core, 2 * rounds_of(size, radix))


def merge_whole_vectors(rank: int, group: Sequence[int], chunks: int) -> Schedule:
    """All of ``group`` end with the merge of their vectors, in the order of the group.

    Its vectors are gathered in the areas 1, ..., k, then merged from the first on.
    """
    places = range(len(group))
    into = [range((1 + i) * chunks, (2 + i) * chunks) for i in places]
    mine, first = range(chunks), group.index(rank)
    yield (
        *(Send(mine, other) for other in [*group[first:], *group[:first]]),
        *(Copy(into[i], other) for i, other in enumerate(group)),
    )
    merges: list[Action] = [Copy(mine, rank)]
    merges += [Reduce(mine, rank, "right") for _ in places[1:]]
    yield (*(Send(each, rank) for each in into), *merges)


# ---- claims ----------------------------------------------------------------------------


def _traffic(rank: int, size: int, lengths: Lengths, radix: int) -> int:
    leading = rank == members_of(rank, size, radix)[0]
    core = leading * (radix - 1) * rounds_of(size, radix)
    return (core + folded_vectors(rank, size, radix)) * sum(lengths)


_NARROW = When(
    "N = k^m and m (k-1) = log2 N, rounded up",
    lambda size, radix: (
        size == power(size, radix) and (radix - 1) * rounds_of(size, radix) == log2_ceiling(size)
    ),
)


ALGORITHMS = (
    Algorithm(
        name="recursive_multiplying",
        collective="all_reduce",
        schedule=multiplying_all_reduce,
        chunks=lambda size, radix: 1,
        areas=lambda size, radix: 1 + radix,
        steps=lambda rank, size, radix: folded_steps(rank, size, radix, rounds_of(size, radix)),
        depth=lambda size, radix: folded_depth(size, radix, rounds_of(size, radix)),
        sent=_traffic,
        received=_traffic,
        time=m * (alpha + (k - 1) * S * (beta + gamma)) + 2 * FOLDED * alpha + FOLDING,
        one_port=m * (k - 1) * (alpha + S * (beta + gamma)) + 2 * c * alpha + FOLDING,
        in_rank_order=True,
        bandwidth_optimal=UP_TO_2,
        latency_optimal=_NARROW,
        options=("radix",),
        source="MPICH, allreduce recursive_multiplying",
        also_known_as={"MPICH": "recursive_multiplying"},
    ),
)
