"""Recursive doubling that gathers, and the reduce-scatters of halving and doubling.

*Recursive doubling* all-gather, N = 2^k: in the round of distance d = 1, 2, 4, ... rank r
exchanges all that it has, the chunks of its block of d ranks, with r XOR d.

        size 4, rank 1:   round 0: gives chunk 1 to 0, gets 0
                          round 1: gives chunks 0, 1 to 3, gets 2, 3

*Recursive halving* reduce-scatter is that backwards: first half of all chunks to the far
rank, last one chunk to the neighbour.  For other N, each even rank r < 2(N - 2^k) first
gives its vector to r + 1, and gets its own chunk back at the end.

*Recursive doubling* reduce-scatter, N = 2^k: for operators that do not commute.  In the
round of distance d everyone exchanges, with r XOR d, all chunks but those of its block of d
ranks: blocks that merge are neighbours.  S (log2 N - (N-1)/N) per rank instead of
(N-1)/N S.

(Thakur, Rabenseifner and Gropp, Optimization of collective communication operations in
MPICH, 2005.)
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate, pairwise

from refcoll.algorithms.declaration import (
    ALWAYS,
    POWERS_OF_TWO,
    UP_TO_2,
    Algorithm,
    Lengths,
    chunk_per_rank,
    log2_ceiling,
)
from refcoll.algorithms.recursive import (
    fold_in,
    folding,
    place_after_folding,
    power_below,
    survivors,
)
from refcoll.algorithms.ring import all_but
from refcoll.algorithms.symbols import FOLDED, LOG2_N, Count, N, S, alpha, beta, gamma, log2_p
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


def recursive_doubling_all_gather(rank: int, size: int) -> Schedule:
    """Chunks: N = 2^k.  Steps: k.  Sent: chunk j in every round from its block on.

    Received: S - |c_r|.
    """
    for k in range(log2_ceiling(size)):
        # Before this round I have the chunks of my block of 2^k ranks.
        other = rank ^ 1 << k
        yield Send(_block(rank, k), other), Copy(_block(other, k), other)


def recursive_halving_reduce_scatter(rank: int, size: int) -> Schedule:
    """Chunks: N.  Steps: log2 p, two more where folded.

    Sent: S less the chunk, or chunks, that a survivor ends with; folding, S or |c_(r-1)|.
    """
    return then(
        fold_in(range(size), rank, size),
        padded(among_survivors(rank, size, _halved), log2_ceiling(power_below(size))),
        _hand_back(rank, size),
    )


def recursive_doubling_reduce_scatter(rank: int, size: int) -> Schedule:
    """Chunks: N = 2^k.  Steps: k.  Sent and received: S (k - (N-1)/N) for equal chunks."""
    for k in range(log2_ceiling(size)):
        # Before this round the chunks outside my block of 2^k ranks hold that block, and
        # so does my own chunk.
        other = rank ^ 1 << k
        yield (
            Send(_outside(_block(rank, k), size), other),
            Reduce(_outside(_block(other, k), size), other),
        )


def _block(rank: int, k: int) -> range:
    first = rank >> k << k
    return range(first, first + (1 << k))


def _outside(block: range, size: int) -> tuple[int, ...]:
    return (*range(block.start), *range(block.stop, size))


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


def gathered(rank: int, size: int, lengths: Lengths) -> int:
    """What doubling sends: chunk j in each round whose block around the rank holds it."""
    return sum(
        length * (log2_ceiling(size) - (rank ^ j).bit_length()) for j, length in enumerate(lengths)
    )


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


def _doubling_sent(rank: int, size: int, lengths: Lengths) -> int:
    return sum(
        length * (rank ^ j).bit_length() for j, length in enumerate(lengths)
    )  # chunk j in every round before its block is mine


def _doubling_received(rank: int, size: int, lengths: Lengths) -> int:
    """My partner's view of the same: what its block at distance d leaves out."""
    rounds = range(log2_ceiling(size))
    blocks = (_block(rank ^ 1 << k, k) for k in rounds)
    return sum(sum(lengths) - sum(lengths[b.start : b.stop]) for b in blocks)


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
        name="recursive_doubling",
        collective="all_gather",
        schedule=recursive_doubling_all_gather,
        chunks=chunk_per_rank,
        sizes=POWERS_OF_TWO,
        steps=lambda rank, size: log2_ceiling(size),
        depth=log2_ceiling,
        sent=gathered,
        received=lambda rank, size, c: all_but(rank, c),
        time=LOG2_N * alpha + (N - 1) / N * S * beta,
        time_source=_PAPER,
        bandwidth_optimal=ALWAYS,
        latency_optimal=ALWAYS,
        source=_PAPER,
        also_known_as={"Open MPI": "3 recursive_doubling", "MPICH": "recursive_doubling"},
    ),
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
    Algorithm(
        name="recursive_doubling",
        collective="reduce_scatter",
        schedule=recursive_doubling_reduce_scatter,
        chunks=chunk_per_rank,
        sizes=POWERS_OF_TWO,
        steps=lambda rank, size: log2_ceiling(size),
        depth=log2_ceiling,
        sent=_doubling_sent,
        received=_doubling_received,
        time=LOG2_N * alpha + (LOG2_N - (N - 1) / N) * S * (beta + gamma),
        time_source=_PAPER,
        in_rank_order=True,
        bandwidth_optimal=UP_TO_2,
        latency_optimal=ALWAYS,
        source=_PAPER,
        also_known_as={"Open MPI": "2 recursive_doubling (block)", "MPICH": "recursive_doubling"},
    ),
)
