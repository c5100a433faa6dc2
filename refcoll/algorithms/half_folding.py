"""Rabenseifner's all-reduce, folded by halves: a pair shares the work of merging.

        r even, r < 2x:      r: a b     r+1: a' b'          (x = N - p, p = 2^floor(log2 N))
        step 1               gives b, merges a' into a  |  gives a, merges b into b'
        step 2               gets the merged b'            gives it, and sits out

Size 5: 0 gives its upper half to 1 and merges 1's lower; 1 hands the merged upper half
back; 0, 2, 3, 4 halve and double as ever (``recursive``); at the end 0 gives 1 the result.
Three more steps than among 2^k ranks instead of two, but each merges S/2, not S.  Pairs are
neighbours, so operands meet in rank order.
(Open MPI's coll/base, allreduce redscat_allgather.)
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from refcoll.algorithms.declaration import ONE, POWERS_OF_TWO, Algorithm, Lengths, log2_ceiling
from refcoll.algorithms.folding import power_below
from refcoll.algorithms.recursive import HALVING_DOUBLING_TIME, halving_doubling, halving_traffic
from refcoll.algorithms.symbols import FOLDED, S, alpha, beta, gamma
from refcoll.schedule import IDLE, Copy, Reduce, Schedule, Send, on_ranks, padded


def half_folding_all_reduce(rank: int, size: int) -> Schedule:
    """Chunks: p.  Steps: 2 log2 p, three more where folded.

    Sent and received: 2(p-1)/p S where chunks are equal; half of S, and S, more where folded.
    """
    rounds = 2 * log2_ceiling(power_below(size))
    yield from _fold_in(rank, size)
    yield from padded(on_ranks(_survivors(size), halving_doubling, rank), rounds)
    yield from _fold_out(rank, size)


def _fold_in(rank: int, size: int) -> Schedule:
    power = power_below(size)
    low, high = range(power // 2), range(power // 2, power)
    if size == power:
        return
    if not _folding(rank, size):
        yield from (IDLE, IDLE)
    elif rank % 2:
        yield Send(low, rank - 1), Reduce(high, rank - 1)
        yield (Send(high, rank - 1),)
    else:
        yield Send(high, rank + 1), Reduce(low, rank + 1)
        yield (Copy(high, rank + 1),)


def _fold_out(rank: int, size: int) -> Schedule:
    whole = range(power_below(size))
    if _folding(rank, size):
        yield (Copy(whole, rank - 1),) if rank % 2 else (Send(whole, rank + 1),)


def _folding(rank: int, size: int) -> bool:
    return rank < 2 * (size - power_below(size))


@lru_cache(maxsize=8)
def _survivors(size: int) -> Sequence[int]:
    return [r for r in range(size) if not (_folding(r, size) and r % 2)]


def _steps(rank: int, size: int) -> int:
    core = 2 * log2_ceiling(power_below(size)) if rank in _survivors(size) else 0
    return core + 3 * _folding(rank, size)


def _depth(size: int) -> int:
    power = power_below(size)
    return 2 * log2_ceiling(power) + 3 * (size > power)


def _traffic(rank: int, size: int, lengths: Lengths, halves: tuple[int, int]) -> int:
    """The core's, and of the two halves as often as ``halves`` says."""
    low, high = sum(lengths[: len(lengths) // 2]), sum(lengths[len(lengths) // 2 :])
    extra = halves[0] * low + halves[1] * high if _folding(rank, size) else 0
    if rank not in _survivors(size):
        return extra
    place = _survivors(size).index(rank)
    return extra + halving_traffic(place, power_below(size), lengths)


def _sent(rank: int, size: int, lengths: Lengths) -> int:
    return _traffic(rank, size, lengths, (1, 1) if rank % 2 else (1, 2))


def _received(rank: int, size: int, lengths: Lengths) -> int:
    return _traffic(rank, size, lengths, (1, 2) if rank % 2 else (1, 1))


ALGORITHMS = (
    Algorithm(
        name="rabenseifner_half_folding",
        collective="all_reduce",
        schedule=half_folding_all_reduce,
        chunks=power_below,
        steps=_steps,
        depth=_depth,
        sent=_sent,
        received=_received,
        time=HALVING_DOUBLING_TIME + FOLDED * (3 * alpha + 2 * S * beta + S / 2 * gamma),
        in_rank_order=True,
        bandwidth_optimal=POWERS_OF_TWO,
        latency_optimal=ONE,
        source="Open MPI coll/base, allreduce redscat_allgather",
        also_known_as={"Open MPI": "6 rabenseifner"},
    ),
)
