"""Circulant graph: a broadcast in the least rounds for any number of segments, L + M - 1.

        s_0, s_1, ..., s_L = 1, ..., ceil(ceil(N/2)/2), ceil(N/2), N         (L = ceil(log2 N))
        in a round of phase k = 0, 1, ..., L-1, 0, 1, ...  rank r hears from r - s_k and
        tells r + s_k                                                        (mod N)

The first round has phase (1 - M) mod L, so that the last one has phase L - 1.  Once the
pipeline is full every rank receives in every round, and in L rounds L different segments: one
of the L that the root sends in them, which is its *base*, and L - 1 of those before.  Which one
comes in phase k is a table of L numbers a rank (``receives``), found by walking the decreasing
sums of skips that lead from the root to rank r: a skip's number is that of a segment, and each
skip serves once.

Size 4, skips 1, 2, M odd (round 0 has phase 0): the root sends segment t in round t.  Rank 1's
table is (0, -1), rank 2's (-2, 1), rank 3's (-1, 0): rank 1 hears segment 0 from rank 0 in round
0, rank 2 segment 1 from 0 in round 1, while 3 hears 0 from 1; in round 2 rank 1 hears 2, rank 3
1 from 2, ...  The reduce is the broadcast backwards in time.
(Traff, Optimal broadcast schedules in logarithmic time with applications to broadcast,
all-broadcast, reduction and all-reduction, 2024.)
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from refcoll.algorithms.declaration import (
    UP_TO_2,
    Algorithm,
    Lengths,
    When,
    by_others,
    log2_ceiling,
    mirrored,
    one_segment_each,
)
from refcoll.algorithms.symbols import L, M, S, alpha, beta
from refcoll.schedule import Action, Copy, Reduce, Schedule, Send, reverse

_PAPER = "Traff 2024"


def circulant_broadcast(rank: int, size: int, segments: int) -> Schedule:
    """Rank 0's vector to everyone.

    Chunks: M.  Depth: L + M - 1.  Sent: at most a segment a round, S (1 + (L-1)/M).
    Received: S, but nothing by rank 0.
    """
    arrivals = _arrivals(rank, size, segments)
    onward = {(rank + skip) % size for skip in skips(size)[:-1]}
    told = {to: _arrivals(to, size, segments) for to in onward}
    for t in range(_rounds(size, segments)):
        # Before round t, I have all segments that arrive before it.
        skip = skips(size)[_phase(t, size, segments)]
        to, step = (rank + skip) % size, list[Action]()
        if t in told[to]:
            step.append(Send(told[to][t], to))
        if t in arrivals:
            step.append(Copy(arrivals[t], (rank - skip) % size))
        yield tuple(step)


def circulant_reduce(rank: int, size: int, segments: int) -> Schedule:
    """The broadcast backwards: everyone's vectors merged on rank 0; sent and received swap."""
    return reverse(circulant_broadcast(rank, size, segments), into=Reduce)


@lru_cache(maxsize=4096)
def skips(size: int) -> tuple[int, ...]:
    """s_0 = 1, ..., s_L = N, each half of the next, rounded up.

    >>> skips(11)
    (1, 2, 3, 6, 11)
    """
    found = [size]
    while found[-1] > 1:
        found.append((found[-1] + 1) // 2)
    return tuple(reversed(found))


def base(rank: int, size: int) -> int:
    """The least skip, by number, of the greedy sum of skips that is ``rank``; L for rank 0."""
    least, rest = len(skips(size)) - 1, rank
    for k, skip in reversed(list(enumerate(skips(size)[:-1]))):
        if rest >= skip:
            rest -= skip
            least = k
    return least


@lru_cache(maxsize=65536)
def receives(rank: int, size: int) -> tuple[int, ...]:
    """Per phase, the segment that arrives in it, in the L rounds in which the base is new.

    They are the base b and, but for b - L, the numbers -1, ..., -L: of the rounds before.
    """
    skip, target = skips(size), size + rank
    rounds, own = len(skip) - 1, base(rank, size)
    unused, found = set(range(rounds + 1)) - {own}, list[int]()

    def walk(reached: int, below: int, most: int) -> None:
        """Take on, for one phase after the other, the largest sums of skips that still come
        in time for it, all below ``below``; the skips from ``most`` down are tried."""
        for e in _downwards(most, unused):
            there, k = reached + skip[e], len(found)
            if k == rounds:
                return
            if there <= target - skip[k] and there < below:
                if there <= target - skip[k + 1]:
                    walk(there, below, e)
                    k = len(found)
                if k == rounds or reached > target - skip[k + 1]:
                    return
                below = there
                found.append(e)
                unused.discard(e)

    walk(0, 2 * size, rounds)
    return tuple(own if e == rounds else e - rounds for e in found)


def _downwards(most: int, unused: set[int]) -> Iterator[int]:
    """From ``most`` down, what is unused when its turn comes; ``most`` itself at any rate,
    since a sum may hold a skip twice on its way."""
    yield from (e for e in range(most, -1, -1) if e == most or e in unused)


def _phase(t: int, size: int, segments: int) -> int:
    """The phase of round t: the last of all rounds is one of phase L - 1."""
    return (t + 1 - segments) % log2_ceiling(size)


def _arrivals(rank: int, size: int, segments: int) -> dict[int, int]:
    """Which segment reaches a rank in which round: each once."""
    arrivals: dict[int, int] = {}
    if rank == 0:
        return arrivals
    table = receives(rank, size)
    for t in range(_rounds(size, segments)):
        phase = _phase(t, size, segments)
        segment = min(t - phase + table[phase], segments - 1)
        if segment >= 0 and segment not in arrivals.values():
            arrivals[t] = segment
    return arrivals


def _rounds(size: int, segments: int) -> int:
    return log2_ceiling(size) + segments - 1 if size > 1 else 0


def _at_most(rank: int, size: int, lengths: Lengths, segments: int) -> int:
    """In every round one segment, in the worst case the longest."""
    return _rounds(size, segments) * max(lengths)


_ONE_SEGMENT = When("N = 1, or one segment", lambda size, segments: size == 1 or segments == 1)
_BROADCAST = Algorithm(
    name="circulant",
    collective="broadcast",
    schedule=circulant_broadcast,
    chunks=one_segment_each,
    steps=lambda rank, size, segments: _rounds(size, segments),
    depth=_rounds,
    sent=_at_most,
    received=by_others,
    time=(L + M - 1) * (alpha + S / M * beta),
    bounds=("steps", "sent"),
    bandwidth_optimal=UP_TO_2,
    latency_optimal=_ONE_SEGMENT,
    options=("segments",),
    source=_PAPER,
    also_known_as={"MPICH": "circ_graph"},
)
ALGORITHMS = (
    _BROADCAST,
    mirrored(
        _BROADCAST,
        "reduce",
        schedule=circulant_reduce,
        source="Traff 2024, backwards in time",
    ),
)
