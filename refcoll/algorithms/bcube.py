"""Bcube: recursive halving with groups of k, then back.

        k = 2, size 4:   {0 1} {2 3}, half a vector each,   then {0 2} {1 3}, a quarter

In a round everyone gives each of its group (``radix``) a k-th of what it still keeps, and merges
what it gets, outwards from its own; backwards in time this is the all-gather.  Before the
round of distance d the kept chunks hold the block of d neighbours, after it of k d.  Size 4,
k = 4: everyone sends everyone its quarter, the two-shot algorithm.  Folded, it serves every N.
(Gloo's allreduce, bcube.)
"""

from __future__ import annotations

from refcoll.algorithms.declaration import ONE, Algorithm, Lengths, When
from refcoll.algorithms.radix import (
    FOLDED,
    FOLDING,
    c,
    distances,
    firsts,
    folded,
    folded_depth,
    folded_steps,
    folded_vectors,
    group_of,
    m,
    members_of,
    power,
    q,
    rounds_of,
)
from refcoll.algorithms.symbols import S, alpha, beta, gamma, k
from refcoll.schedule import Copy, Reduce, Schedule, Send, Step, reverse, then


def bcube_all_reduce(rank: int, size: int, radix: int) -> Schedule:
    """Chunks: p.  Depth: 2m, two more where folded.

    Sent and received: 2(p-1)/p S where chunks are equal, and folding.
    """

    def core(place: int, count: int) -> Schedule:
        gathering = reverse(_shared_out(place, count, radix), into=Copy)
        staggered = (_staggered(step, place, count) for step in gathering)
        return then(_shared_out(place, count, radix), staggered)

    whole = range(power(size, radix))
    return folded(rank, size, radix, whole, core, 2 * rounds_of(size, radix))


def _shared_out(rank: int, size: int, radix: int) -> Schedule:
    """Reduce-scatter among k^m ranks; a rank ends with one of k^m chunks."""
    kept = range(size)
    for distance in distances(size, radix):
        # Before this round the chunks in ``kept`` hold my block of ``distance`` ranks.
        group, share = group_of(rank, radix, distance), len(kept) // radix
        shares = [kept[i * share : (i + 1) * share] for i in range(radix)]
        place = group.index(rank)
        kept = shares[place]
        others = [(place + i) % radix for i in range(1, radix)]
        sends = [Send(shares[i], group[i]) for i in others]
        # Outwards from my own: first those above me, then those below, nearest first.
        outwards = [*group[place + 1 :], *reversed(group[:place])]
        yield *sends, *(Reduce(kept, other) for other in outwards)


def _staggered(step: Step, rank: int, size: int) -> Step:
    """The sends in the order of the ranks after mine, so that no two reach a rank at once."""
    sends = [action for action in step if isinstance(action, Send)]
    receives = [action for action in step if not isinstance(action, Send)]
    return (*sorted(sends, key=lambda send: (send.to - rank) % size), *receives)


# ---- claims ----------------------------------------------------------------------------


def _traffic(rank: int, size: int, lengths: Lengths, radix: int) -> int:
    """Scattering, all but my chunk leaves and the kept shares come, k-1 times; then back."""
    members = members_of(rank, size, radix)
    folding = folded_vectors(rank, size, radix) * sum(lengths)
    if rank != members[0]:
        return folding
    place = firsts(size, radix).index(rank)
    p = power(size, radix)
    mine, kept, width = 0, 0, p
    for distance in distances(p, radix):
        width //= radix
        mine += place // distance % radix * width
        kept += sum(lengths[mine : mine + width])
    return sum(lengths) - lengths[mine] + (radix - 1) * kept + folding


_POWERS = When("N a power of k, or 2", lambda size, radix: size in (2, power(size, radix)))
_SHARES = 2 * (q - 1) / q * S * beta + (q - 1) / q * S * gamma
ALGORITHMS = (
    Algorithm(
        name="bcube",
        collective="all_reduce",
        schedule=bcube_all_reduce,
        chunks=power,
        steps=lambda rank, size, radix: folded_steps(rank, size, radix, 2 * rounds_of(size, radix)),
        depth=lambda size, radix: folded_depth(size, radix, 2 * rounds_of(size, radix)),
        sent=_traffic,
        received=_traffic,
        time=2 * m * alpha + _SHARES + 2 * FOLDED * alpha + FOLDING,
        one_port=2 * m * (k - 1) * alpha + _SHARES + 2 * c * alpha + FOLDING,
        in_rank_order=True,
        bandwidth_optimal=_POWERS,
        latency_optimal=ONE,
        options=("radix",),
        source="Gloo, allreduce bcube",
        also_known_as={"Gloo": "BCUBE", "MPICH": "k_reduce_scatter_allgather"},
    ),
)
