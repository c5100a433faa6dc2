"""Groups of k, met digit by digit: what recursive multiplying and bcube are made of.

        k = 3, size 9:   {0 1 2} {3 4 5} {6 7 8},   then {0 3 6} {1 4 7} {2 5 8}

With p = k^m ranks, in the round of distance d = 1, k, k^2, ... rank r meets the k ranks
that differ from it in that base-k digit.

*Folding* serves every N: with p the greatest k^m that is not above N, consecutive ranks
form p groups as equal as can be; the first of each merges the others, and tells them the
result at the end.  Groups and blocks are neighbours, so operands meet in rank order.
Size 4, k = 3: the groups {0} {1} {2 3} make p = 3; 3 > 2, the three exchange, 2 > 3.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from refcoll.algorithms.declaration import log_ceiling
from refcoll.algorithms.symbols import Count, S, beta, gamma
from refcoll.schedule import Chunks, Copy, Reduce, Schedule, Send, on_ranks, padded, reverse


def folded(
    rank: int,
    size: int,
    radix: int,
    whole: Chunks,
    core: Callable[[int, int], Schedule],
    rounds: int,
) -> Schedule:
    """An all-reduce among k^m ranks, of so many rounds, made to serve any N."""
    yield from _fold_in(rank, size, radix, whole)
    yield from padded(on_ranks(firsts(size, radix), core, rank), rounds)
    yield from reverse(_fold_in(rank, size, radix, whole), into=Copy)


def _fold_in(rank: int, size: int, radix: int, whole: Chunks) -> Schedule:
    """The first of each group merges the others."""
    if size > power(size, radix):
        first, *others = members_of(rank, size, radix)
        if rank == first:
            yield tuple(Reduce(whole, other) for other in others)
        else:
            yield (Send(whole, first),)


def power(size: int, radix: int) -> int:
    """The greatest power of ``radix`` that is not above ``size``."""
    reach = 1
    while reach * radix <= size:
        reach *= radix
    return reach


def firsts(size: int, radix: int) -> Sequence[int]:
    """The first rank of each of the p groups."""
    p = power(size, radix)
    return [i * size // p for i in range(p)]


def members_of(rank: int, size: int, radix: int) -> range:
    """The group of a rank."""
    p = power(size, radix)
    i = (rank * p + p - 1) // size
    return range(i * size // p, (i + 1) * size // p)


def distances(size: int, radix: int) -> list[int]:
    """1, k, k^2, ...: one for each base-k digit of ``size`` ranks."""
    return [radix**k for k in range(log_ceiling(size, radix))]


def group_of(rank: int, radix: int, distance: int) -> Sequence[int]:
    """The k ranks that differ from ``rank`` in the base-k digit of ``distance`` only."""
    first = rank - rank // distance % radix * distance
    return range(first, first + radix * distance, distance)


# ---- claims ----------------------------------------------------------------------------


def folded_steps(rank: int, size: int, radix: int, rounds: int) -> int:
    """A rank's own steps: the ``rounds`` of those that exchange, and folding."""
    members = members_of(rank, size, radix)
    folding = len(members) > 1
    return (rounds if rank == members[0] else 0) + 2 * folding


def rounds_of(size: int, radix: int) -> int:
    """m: the digits of p = k^m."""
    return log_ceiling(power(size, radix), radix)


def folded_depth(size: int, radix: int, rounds: int) -> int:
    """The same for all ranks together."""
    return rounds + 2 * (size > power(size, radix))


def folded_vectors(rank: int, size: int, radix: int) -> int:
    """Whole vectors that a rank sends, and receives, for folding: one per other member."""
    members = members_of(rank, size, radix)
    return len(members) - 1 if rank == members[0] else 1


def _followers(size: int, radix: int) -> int:
    """Ranks that the largest group folds in, beside its first."""
    return -(-size // power(size, radix)) - 1


m = Count("m", "log_k N, rounded down", lambda size, radix: rounds_of(size, radix))
q = Count("q", "the greatest power of k up to N", power)
c = Count("c", "N/q, rounded up, less 1: ranks that fold into one", _followers)
FOLDED = Count("[N>q]", "1 where N is no power of k, else 0",
               lambda size, radix: int(size > power(size, radix)))  # fmt: skip
FOLDING = 2 * c * S * beta + c * S * gamma
