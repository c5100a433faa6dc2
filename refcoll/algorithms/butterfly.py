"""Butterfly: a reduce-scatter for operators that do not commute, for every N.

        size 4:  0-1, 2-3   halves       rank 0 keeps chunks 0, 1     1: 2, 3   2: 0, 1   3: 2, 3
                 0-2, 1-3   halves       rank 0 has chunk 0           1: 2      2: 1      3: 3
                 1 <-> 2    to owners    rank 1 gives chunk 2 to 2 and gets chunk 1

It halves as Rabenseifner's all-reduce does (``recursive.halving``): neighbours first, so
operands meet in rank order.  Rank r then has the chunk of the rank with r's bits reversed,
and sends it there: one more step.  Other N are folded; a survivor has the chunk of the rank
that is folded into it too, and sends each to its owner.
(Traff, An improved algorithm for (non-commutative) reduce-scatter with an application,
2005.)
"""

from __future__ import annotations

from collections.abc import Sequence

from refcoll.algorithms.declaration import UP_TO_2, Algorithm, Lengths, chunk_per_rank, log2_ceiling
from refcoll.algorithms.folding import fold_in, folding, place_after_folding, power_below, survivors
from refcoll.algorithms.recursive import halving, reversed_bits
from refcoll.algorithms.recursive_halving import among_survivors, cuts, h, merged
from refcoll.algorithms.symbols import FOLDED, Count, N, S, alpha, beta, gamma, log2_p
from refcoll.schedule import Action, Copy, Schedule, Send, padded, then


def butterfly_reduce_scatter(rank: int, size: int) -> Schedule:
    """Chunks: N.  Steps: log2 p + 1, one more where folded.

    Sent: S less the chunks that halving leaves me with; these too, unless they are mine; S
    by a rank that is folded.
    """
    return then(
        fold_in(range(size), rank, size),
        padded(among_survivors(rank, size, halving), log2_ceiling(power_below(size))),
        _to_their_owners(rank, size),
    )


# ---- who has what after halving, and whose it is --------------------------------------------


def _to_their_owners(rank: int, size: int) -> Schedule:
    """Survivor i has the chunks of the survivor with i's bits reversed, and their folded."""
    actions: list[Action] = []
    active, source = survivors(size), _holder(rank, size)
    if rank in active:
        actions = [Send(chunk, chunk) for chunk in _held(rank, size) if chunk != rank]
    if source != rank:
        actions.append(Copy(rank, source))
    yield tuple(actions)


def _held(rank: int, size: int) -> range:
    """The chunks that halving leaves a survivor with."""
    power, ends = power_below(size), cuts(size)
    place = place_after_folding(rank, size)
    assert place is not None
    mirror = reversed_bits(place, power)
    return range(ends[mirror], ends[mirror + 1])


def _holder(rank: int, size: int) -> int:
    """The survivor that halving leaves with chunk ``rank``."""
    survivor = rank if rank in survivors(size) else rank + 1
    place = place_after_folding(survivor, size)
    assert place is not None
    return survivors(size)[reversed_bits(place, power_below(size))]


# ---- claims ----------------------------------------------------------------------------


def _sent(rank: int, size: int, lengths: Lengths) -> int:
    """Survivors send all in the end, but a chunk of their own that they are left with."""
    if place_after_folding(rank, size) is None:
        return sum(lengths)
    return sum(lengths) - (lengths[rank] if rank in _held(rank, size) else 0)


def _received(rank: int, size: int, lengths: Lengths) -> int:
    place, last = place_after_folding(rank, size), 0
    if _holder(rank, size) != rank:
        last = lengths[rank]
    if place is None:
        return last
    whole, power = merged(lengths, size), power_below(size)
    mine = reversed_bits(place, power)
    kept = sum(
        sum(whole[mine >> k << k : (mine >> k << k) + (1 << k)]) for k in range(log2_ceiling(power))
    )
    return last + kept + (sum(lengths) if folding(rank, size) else 0)


def _steps(rank: int, size: int) -> int:
    place = place_after_folding(rank, size)
    if place is None:
        return 2
    held: Sequence[int] = _held(rank, size)
    last = any(chunk != rank for chunk in held) or _holder(rank, size) != rank
    return log2_ceiling(power_below(size)) + folding(rank, size) + last


def _depth(size: int) -> int:
    """The last step is empty where all survivors are their own mirror images: p <= 2."""
    power = power_below(size)
    folded = size > power
    return log2_ceiling(power) + folded + (folded or power > 2)


def _handed_over(size: int) -> int:
    """Chunks, each a message, that the busiest survivor sends to their owners at the end."""
    extra = size - power_below(size)
    return min(extra, 2) if extra else int(size > 2)


_LAST = Count("[N>2]", "1 where N > 2, else 0", lambda size, **_: int(size > 2))
_t = Count("t", "chunks that a survivor sends to their owners: 2, but 1 for N = p and N = p+1"
           " (0 for N = 2)", lambda size, **_: _handed_over(size))  # fmt: skip
_HALVING = log2_p * alpha + h / N * S * (beta + gamma) + FOLDED * (alpha + S * (beta + gamma))
ALGORITHMS = (
    Algorithm(
        name="butterfly",
        collective="reduce_scatter",
        schedule=butterfly_reduce_scatter,
        chunks=chunk_per_rank,
        steps=_steps,
        depth=_depth,
        sent=_sent,
        received=_received,
        time=_HALVING + _LAST * alpha + _t / N * S * beta,
        one_port=_HALVING + _t * (alpha + S / N * beta),
        in_rank_order=True,
        bandwidth_optimal=UP_TO_2,
        latency_optimal=UP_TO_2,
        source="Traff 2005",
        also_known_as={"Open MPI": "4 butterfly"},
    ),
)
