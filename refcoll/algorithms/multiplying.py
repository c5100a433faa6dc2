"""Recursive multiplying: groups of k exchange at once, where recursive doubling has pairs.

        k = 3, size 9:   {0 1 2} {3 4 5} {6 7 8},   then {0 3 6} {1 4 7} {2 5 8}

With p = k^m ranks, in the round of distance d = 1, k, k^2, ... rank r meets the k ranks
that differ from it in that base-k digit.

*Whole vectors*: everyone gets the others' and merges all k in the order of the group, its
own among them: before the round r holds its block of d neighbours, after it of k d.  The
others' vectors rest in areas 1, ..., k, since a merge from the inside out would round
differently on each rank.  Size 4, k = 2: 0 - 1, 2 - 3, then 0 - 2, 1 - 3.  log_k N rounds.

*Shares* (Gloo's bcube): everyone gives each of the group a k-th of what it still keeps and
merges what it gets; backwards in time this is the all-gather.  Size 4, k = 4: two-shot.

*Folding* serves every N: with p the greatest k^m that is not above N, consecutive ranks
form p groups as equal as can be; the first of each merges the others, and tells them the
result at the end.  Groups and blocks are neighbours, so operands meet in rank order.
(MPICH's allreduce, recursive_multiplying; Gloo's allreduce, bcube.)
"""

from __future__ import annotations

from collections.abc import Sequence

from refcoll.algorithms.declaration import (
    ONE,
    UP_TO_2,
    Algorithm,
    Lengths,
    When,
    log2_ceiling,
    log_ceiling,
)
from refcoll.algorithms.symbols import Count, S, alpha, beta, gamma, k
from refcoll.schedule import (
    Action,
    Chunks,
    Copy,
    Reduce,
    Schedule,
    Send,
    Step,
    on_ranks,
    padded,
    reverse,
    then,
)


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


def _multiplied(rank: int, size: int, radix: int) -> Schedule:
    """The whole-vector all-reduce of one chunk among k^m ranks."""
    for distance in _distances(size, radix):
        # Before this round the vector holds my block of ``distance`` ranks, in order.
        yield from merge_whole_vectors(rank, _group(rank, radix, distance), 1)


def _shared_out(rank: int, size: int, radix: int) -> Schedule:
    """Reduce-scatter among k^m ranks; a rank ends with one of k^m chunks."""
    kept = range(size)
    for distance in _distances(size, radix):
        # Before this round the chunks in ``kept`` hold my block of ``distance`` ranks.
        group, share = _group(rank, radix, distance), len(kept) // radix
        shares = [kept[i * share : (i + 1) * share] for i in range(radix)]
        place = group.index(rank)
        kept = shares[place]
        others = [(place + i) % radix for i in range(1, radix)]
        sends = [Send(shares[i], group[i]) for i in others]
        # Outwards from my own: first those above me, then those below, nearest first.
        outwards = [*group[place + 1 :], *reversed(group[:place])]
        yield *sends, *(Reduce(kept, other) for other in outwards)


def _bcube(rank: int, size: int, radix: int) -> Schedule:
    gathering = reverse(_shared_out(rank, size, radix), into=Copy)
    return then(
        _shared_out(rank, size, radix), (_staggered(step, rank, size) for step in gathering)
    )


def _staggered(step: Step, rank: int, size: int) -> Step:
    """The sends in the order of the ranks after mine, so that no two reach a rank at once."""
    sends = [action for action in step if isinstance(action, Send)]
    receives = [action for action in step if not isinstance(action, Send)]
    return (*sorted(sends, key=lambda send: (send.to - rank) % size), *receives)


def multiplying_all_reduce(rank: int, size: int, radix: int) -> Schedule:
    """Chunks: 1.  Depth: m, two more where folded.  Sent and received: S (k-1) m, and folding."""
    rounds = 2 * log_ceiling(power(size, radix), radix)
    yield from _fold_in(rank, size, radix, 0)
    core = on_ranks(_firsts(size, radix), lambda r, n: _multiplied(r, n, radix), rank)
    yield from padded(core, rounds)
    yield from _fold_out(rank, size, radix, 0)


def bcube_all_reduce(rank: int, size: int, radix: int) -> Schedule:
    """Chunks: p.  Depth: 2m, two more where folded.

    Sent and received: 2(p-1)/p S where chunks are equal, and folding.
    """
    p = power(size, radix)
    yield from _fold_in(rank, size, radix, range(p))
    core = on_ranks(_firsts(size, radix), lambda r, n: _bcube(r, n, radix), rank)
    yield from padded(core, 2 * log_ceiling(p, radix))
    yield from _fold_out(rank, size, radix, range(p))


# ---- folding into groups of neighbours ----------------------------------------------------


def power(size: int, radix: int) -> int:
    """The greatest power of ``radix`` that is not above ``size``."""
    reach = 1
    while reach * radix <= size:
        reach *= radix
    return reach


def _firsts(size: int, radix: int) -> Sequence[int]:
    """The first rank of each of the p groups."""
    p = power(size, radix)
    return [i * size // p for i in range(p)]


def _members(rank: int, size: int, radix: int) -> range:
    """The group of a rank."""
    p = power(size, radix)
    i = (rank * p + p - 1) // size
    return range(i * size // p, (i + 1) * size // p)


def _fold_in(rank: int, size: int, radix: int, whole: Chunks) -> Schedule:
    if size > power(size, radix):
        first, *others = _members(rank, size, radix)
        if rank == first:
            yield tuple(Reduce(whole, other) for other in others)
        else:
            yield (Send(whole, first),)


def _fold_out(rank: int, size: int, radix: int, whole: Chunks) -> Schedule:
    return reverse(_fold_in(rank, size, radix, whole), into=Copy)


def _distances(size: int, radix: int) -> list[int]:
    return [radix**k for k in range(log_ceiling(size, radix))]


def _group(rank: int, radix: int, distance: int) -> Sequence[int]:
    """The k ranks that differ from ``rank`` in the base-k digit of ``distance`` only."""
    first = rank - rank // distance % radix * distance
    return range(first, first + radix * distance, distance)


# ---- claims ----------------------------------------------------------------------------


def _steps(rank: int, size: int, radix: int, rounds: int) -> int:
    members = _members(rank, size, radix)
    folding = len(members) > 1
    return (rounds if rank == members[0] else 0) + 2 * folding


def _rounds(size: int, radix: int) -> int:
    return log_ceiling(power(size, radix), radix)


def _depth(size: int, radix: int, rounds: int) -> int:
    return rounds + 2 * (size > power(size, radix))


def _folded(rank: int, size: int, radix: int) -> int:
    """Whole vectors that a rank sends, and receives, for folding: one per other member."""
    members = _members(rank, size, radix)
    return len(members) - 1 if rank == members[0] else 1


def _whole_traffic(rank: int, size: int, lengths: Lengths, radix: int) -> int:
    leading = rank == _members(rank, size, radix)[0]
    core = leading * (radix - 1) * _rounds(size, radix)
    return (core + _folded(rank, size, radix)) * sum(lengths)


def _share_traffic(rank: int, size: int, lengths: Lengths, radix: int) -> int:
    """Scattering, all but my chunk leaves and the kept shares come, k-1 times; then back."""
    members = _members(rank, size, radix)
    folding = _folded(rank, size, radix) * sum(lengths)
    if rank != members[0]:
        return folding
    place = _firsts(size, radix).index(rank)
    p = power(size, radix)
    mine, kept, width = 0, 0, p
    for distance in _distances(p, radix):
        width //= radix
        mine += place // distance % radix * width
        kept += sum(lengths[mine : mine + width])
    return sum(lengths) - lengths[mine] + (radix - 1) * kept + folding


_POWERS = When("N a power of k, or 2", lambda size, radix: size in (2, power(size, radix)))
_NARROW = When(
    "N = k^m and m (k-1) = log2 N, rounded up",
    lambda size, radix: (
        size == power(size, radix) and (radix - 1) * _rounds(size, radix) == log2_ceiling(size)
    ),
)


def _followers(size: int, radix: int) -> int:
    """Ranks that the largest group folds in, beside its first."""
    return -(-size // power(size, radix)) - 1


_m = Count("m", "log_k N, rounded down", lambda size, radix: _rounds(size, radix))
_q = Count("q", "the greatest power of k up to N", power)
_c = Count("c", "N/q, rounded up, less 1: ranks that fold into one", _followers)
_ONE = Count("[N>q]", "1 where N is no power of k, else 0",
             lambda size, radix: int(size > power(size, radix)))  # fmt: skip
_FOLDING = 2 * _c * S * beta + _c * S * gamma
_SHARES = 2 * (_q - 1) / _q * S * beta + (_q - 1) / _q * S * gamma
ALGORITHMS = (
    Algorithm(
        name="recursive_multiplying",
        collective="all_reduce",
        schedule=multiplying_all_reduce,
        chunks=lambda size, radix: 1,
        areas=lambda size, radix: 1 + radix,
        steps=lambda rank, size, radix: _steps(rank, size, radix, _rounds(size, radix)),
        depth=lambda size, radix: _depth(size, radix, _rounds(size, radix)),
        sent=_whole_traffic,
        received=_whole_traffic,
        time=_m * (alpha + (k - 1) * S * (beta + gamma)) + 2 * _ONE * alpha + _FOLDING,
        one_port=_m * (k - 1) * (alpha + S * (beta + gamma)) + 2 * _c * alpha + _FOLDING,
        in_rank_order=True,
        bandwidth_optimal=UP_TO_2,
        latency_optimal=_NARROW,
        options=("radix",),
        source="MPICH, allreduce recursive_multiplying",
        also_known_as={"MPICH": "recursive_multiplying"},
    ),
    Algorithm(
        name="bcube",
        collective="all_reduce",
        schedule=bcube_all_reduce,
        chunks=power,
        steps=lambda rank, size, radix: _steps(rank, size, radix, 2 * _rounds(size, radix)),
        depth=lambda size, radix: _depth(size, radix, 2 * _rounds(size, radix)),
        sent=_share_traffic,
        received=_share_traffic,
        time=2 * _m * alpha + _SHARES + 2 * _ONE * alpha + _FOLDING,
        one_port=2 * _m * (k - 1) * alpha + _SHARES + 2 * _c * alpha + _FOLDING,
        in_rank_order=True,
        bandwidth_optimal=_POWERS,
        latency_optimal=ONE,
        options=("radix",),
        source="Gloo, allreduce bcube",
        also_known_as={"Gloo": "BCUBE", "MPICH": "k_reduce_scatter_allgather"},
    ),
)
