"""Recursive halving: a reduce-scatter that gives half of what is left to ever nearer ranks.

It is recursive doubling's all-gather backwards in time (``doubling_gather``).  In the round of
distance d = N/2, ..., 2, 1 rank r gives the rank r XOR d the chunks of that one's block of d
ranks, and keeps those of its own block.

        size 4, rank 1:   round 0: gives chunks 2, 3 to 3, merges 0, 1
                          round 1: gives chunk 0 to 0, merges 1

For other N, each even rank r < 2(N - p), with p = 2^floor(log2 N), first gives its vector to
r + 1, and gets its own chunk back at the end; the p survivors halve among themselves, each
with the chunks of the ranks that are folded into it.

(Thakur, Rabenseifner and Gropp, Optimization of collective communication operations in
MPICH, 2005.)
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate, pairwise

from refcoll.algorithms.declaration import (
    POWERS_OF_TWO,
    Algorithm,
    Lengths,
    chunk_per_rank,
    log2_ceiling,
)
from refcoll.algorithms.doubling_gather import gathered, recursive_doubling_all_gather
from refcoll.algorithms.folding import fold_in, folding, place_after_folding, power_below, survivors
from refcoll.algorithms.symbols import FOLDED, Count, N, S, alpha, beta, gamma, log2_p
from refcoll.schedule import (
    IDLE,
    Copy,
    Reduce,
    Schedule,
    Send,
    on_chunks,
    on_ranks,
    padded,
    reverse,
    then,
)

_PAPER = "Thakur, Rabenseifner and Gropp 2005"


def recursive_halving_reduce_scatter(rank: int, size: int) -> Schedule:
    """Chunks: N.  Steps: log2 p, two more where folded.

    Sent: S less the chunk, or chunks, that a survivor ends with; folding, S or |c_(r-1)|.
    """
    return then(
        fold_in(range(size), rank, size),
        padded(among_survivors(rank, size, _halved), log2_ceiling(power_below(size))),
        _hand_back(rank, size),
    )


def _halved(rank: int, size: int) -> Schedule:
    return reverse(recursive_doubling_all_gather(rank, size), into=Reduce)


# ---- any N: p survivors, each with the chunks of the ranks that are folded into it --------


def cuts(size: int) -> list[int]:
    """Survivor i has the chunks cuts[i], ..., cuts[i+1] - 1: its own and any folded rank's."""
    extra = size - power_below(size)
    return [0, *accumulate(2 if i < extra else 1 for i in range(power_below(size)))]


def among_survivors(rank: int, size: int, core: Callable[[int, int], Schedule]) -> Schedule:
    """``core`` among the survivors, on their chunks."""
    return on_chunks(cuts(size), on_ranks(survivors(size), core, rank))


def _hand_back(rank: int, size: int) -> Schedule:
    if size > power_below(size):
        if not folding(rank, size):
            yield IDLE
        else:
            yield (Send(rank - 1, rank - 1),) if rank % 2 else (Copy(rank, rank + 1),)


# ---- claims ----------------------------------------------------------------------------


def merged(lengths: Lengths, size: int) -> list[int]:
    """Lengths of the survivors' chunks."""
    return [sum(lengths[a:b]) for a, b in pairwise(cuts(size))]


def halving_sent(rank: int, size: int, lengths: Lengths) -> int:
    """What recursive halving sends."""
    place = place_after_folding(rank, size)
    if place is None:
        return sum(lengths)
    lengths_kept = merged(lengths, size)
    returned = lengths[rank - 1] if folding(rank, size) else 0
    return sum(lengths_kept) - lengths_kept[place] + returned


def halving_received(rank: int, size: int, lengths: Lengths) -> int:
    """What recursive halving receives."""
    place = place_after_folding(rank, size)
    if place is None:
        return lengths[rank]
    folded = sum(lengths) if folding(rank, size) else 0
    return gathered(place, power_below(size), merged(lengths, size)) + folded


def halving_steps(rank: int, size: int) -> int:
    """Steps of recursive halving."""
    core = 0 if place_after_folding(rank, size) is None else log2_ceiling(power_below(size))
    return core + 2 * folding(rank, size)


def halving_depth(size: int) -> int:
    """Depth of recursive halving."""
    return log2_ceiling(power_below(size)) + 2 * (size > power_below(size))


def halved_chunks(size: int) -> int:
    """Chunks that pass over the critical link while survivors halve: those of survivor 0.

    In the round of 2^k survivors a side, its side keeps the most: 2^k chunks, and one more of
    each folded rank on that side, of which there are at most N - p.
    """
    extra = size - power_below(size)
    return sum((1 << k) + min(1 << k, extra) for k in range(log2_ceiling(power_below(size))))


h = Count(
    "h",
    "chunks that survivor 0 gets while halving, sum of 2^k + min(2^k, N-p) over 2^k < p; N-1"
    " where N is a power of 2",
    lambda size, **_: halved_chunks(size),
)
HALVING_TIME = (
    log2_p * alpha
    + h / N * S * (beta + gamma)
    + FOLDED * (2 * alpha + (N + 1) / N * S * beta + S * gamma)
)
ALGORITHMS = (
    Algorithm(
        name="recursive_halving",
        collective="reduce_scatter",
        schedule=recursive_halving_reduce_scatter,
        chunks=chunk_per_rank,
        steps=halving_steps,
        depth=halving_depth,
        sent=halving_sent,
        received=halving_received,
        time=HALVING_TIME,
        bandwidth_optimal=POWERS_OF_TWO,
        latency_optimal=POWERS_OF_TWO,
        source=_PAPER,
        also_known_as={"Open MPI": "2 recursive_halving", "MPICH": "recursive_halving"},
    ),
)
