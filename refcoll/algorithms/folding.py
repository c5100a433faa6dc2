"""Folding: algorithms of 2^k ranks, for every N.

With p = 2^floor(log2 N) and x = N - p, each even rank r < 2x gives its vector to r + 1 first, and
gets the result back at the end: two rounds more.  The others are p ranks, in order: i of them is
rank 2i + 1 where i < x, else i + x.

        size 6, p = 4:      0 -> 1   2 -> 3   4   5
        place among p:           0        1   2   3
                            0 <- 1   2 <- 3   4   5

A folded pair's ranks are neighbours, so operands meet in rank order still.
(Thakur, Rabenseifner and Gropp, Optimization of collective communication operations in
MPICH, 2005.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from refcoll.algorithms.declaration import Lengths
from refcoll.algorithms.symbols import FOLDED, S, alpha, beta, gamma
from refcoll.schedule import IDLE, Chunks, Copy, Reduce, Schedule, Send, on_ranks, padded, reverse


def folded(
    core: Callable[[int, int], Schedule], whole: Chunks, rounds: int, rank: int, size: int
) -> Schedule:
    """``core``, which takes ``rounds`` steps among 2^k ranks, for any ``size``."""
    extra = size - power_below(size)
    if not extra:
        yield from core(rank, size)
        return
    active = survivors(size)
    yield from fold_in(whole, rank, size)
    yield from padded(on_ranks(active, core, rank), rounds)
    yield from reverse(fold_in(whole, rank, size), into=Copy)


def fold_in(whole: Chunks, rank: int, size: int) -> Schedule:
    """The step in which the ranks that sit out give their vectors away; none for 2^k ranks."""
    if size > power_below(size):
        if not folding(rank, size):
            yield IDLE
        else:
            yield (Reduce(whole, rank - 1),) if rank % 2 else (Send(whole, rank + 1),)


def folding(rank: int, size: int) -> bool:
    """Whether a rank sits out, or stands in for one that does."""
    return rank < 2 * (size - power_below(size))


def log2_floor(size: int) -> int:
    """The greatest k with 2**k <= size."""
    return size.bit_length() - 1


def power_below(size: int) -> int:
    """The greatest power of two that is not above ``size``."""
    return 1 << log2_floor(size)


def survivors(size: int) -> Sequence[int]:
    """The ranks that take part after folding: p of them."""
    extra = size - power_below(size)
    return [r for r in range(size) if r >= 2 * extra or r % 2]


# ---- claims ----------------------------------------------------------------------------


def place_after_folding(rank: int, size: int) -> int | None:
    """A rank's number among the survivors; None for one that sits out."""
    extra = size - power_below(size)
    if rank >= 2 * extra:
        return rank - extra
    return rank // 2 if rank % 2 else None


def folded_steps(rank: int, size: int, rounds: int) -> int:
    """Steps where the survivors take ``rounds``."""
    core = 0 if place_after_folding(rank, size) is None else rounds
    return core + 2 * folding(rank, size)


def folded_depth(size: int, rounds: int) -> int:
    """Depth where the survivors take ``rounds``."""
    return rounds + 2 * (size > power_below(size))


def folded_traffic(rank: int, size: int, lengths: Lengths, core: Callable[[int], int]) -> int:
    """The core's traffic of a survivor, and the whole vector once each way where folded."""
    place = place_after_folding(rank, size)
    return (core(place) if place is not None else 0) + folding(rank, size) * sum(lengths)


FOLDING_TIME = FOLDED * (2 * alpha + 2 * S * beta + S * gamma)
"""Giving a vector away, merging it, and getting the result back."""
