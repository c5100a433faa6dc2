"""Bine trees: binomial trees, and butterflies, whose distances are powers of -2 added up.

        rho_k = 1 - 2 + 4 - ... + (-2)^k = 1, -1, 3, -5, ...       (``swing``)
        broadcast, N = 2^L, rounds k = L-1, ..., 0:  whoever has it tells its partner
                                                     of round k: r + rho_k, or r - rho_k

Size 8:  0 > 3;  0 > 7, 3 > 4;  0 > 1, 7 > 6, 3 > 2, 4 > 5.  A binomial tree reaches half of
all ranks over distances of N/2, N/4, ...; here they are about a third shorter, which keeps
more of the traffic within a group of near ranks.  L rounds, like any binomial tree; the
reduce is it backwards in time.

*Butterfly* all-reduce: the exchanges of Swing, each of one contiguous range of chunks: the
rank whose ``label`` has bit k clear keeps the lower half in round k.
(De Sensi et al., Bine trees: enhancing collective operations by optimizing communication
locality, SC 2025.  For N = 2^L only.)
"""

from __future__ import annotations

from refcoll.algorithms.declaration import (
    ALWAYS,
    ONE,
    POWERS_OF_TWO,
    UP_TO_2,
    Algorithm,
    Lengths,
    by_others,
    log2_ceiling,
    mirrored,
    one_chunk,
)
from refcoll.algorithms.recursive import reversed_bits
from refcoll.algorithms.swing import label, partner
from refcoll.algorithms.symbols import LOG2_N, N, S, alpha, beta, gamma
from refcoll.schedule import IDLE, Copy, Reduce, Schedule, Send, reverse, then

_PAPER = "De Sensi et al., Bine trees (2025)"


def bine_broadcast(rank: int, size: int) -> Schedule:
    """Rank 0's vector to everyone.

    Chunks: 1.  Depth: L.  Sent: S in every round after the one that brought it.
    """
    arrival = _arrival(rank, size)
    for k in reversed(range(log2_ceiling(size))):
        # Before this round those have it whose arrival is above k.
        other = partner(rank, k, size)
        if k < arrival:
            yield (Send(0, other),)
        else:
            yield (Copy(0, other),) if k == arrival else IDLE


def bine_reduce(rank: int, size: int) -> Schedule:
    """The broadcast backwards: everyone's vectors merged on rank 0; sent and received swap."""
    return reverse(bine_broadcast(rank, size), into=Reduce)


def bine_all_reduce(rank: int, size: int) -> Schedule:
    """Chunks: N = 2^L.  Steps: 2L.  Sent and received: 2(N-1)/N S where chunks are equal."""
    return then(_halving(rank, size), reverse(_halving(rank, size), into=Copy))


def _halving(rank: int, size: int) -> Schedule:
    kept = range(size)
    for k in range(log2_ceiling(size)):
        # Before this round the chunks in ``kept`` hold the 2^k ranks that I have met.
        other, middle = partner(rank, k, size), (kept.start + kept.stop) // 2
        low, high = range(kept.start, middle), range(middle, kept.stop)
        kept, given = (high, low) if label(rank, size) >> k & 1 else (low, high)
        yield Send(given, other), Reduce(kept, other)


def _arrival(rank: int, size: int) -> int:
    """The round that brings a rank the vector: that of its label's lowest bit.

    In round k those with it have labels that end in k + 1 zeros; their partners' labels end
    in a one and k zeros.  The root, of label 0, has it before round L - 1.
    """
    mine = label(rank, size)
    return (mine & -mine).bit_length() - 1 if rank else log2_ceiling(size)


def _sent(rank: int, size: int, lengths: Lengths) -> int:
    return _arrival(rank, size) * sum(lengths)


def _steps(rank: int, size: int) -> int:
    return _arrival(rank, size) + (rank > 0)


def _halving_traffic(rank: int, size: int, lengths: Lengths) -> int:
    """All but my chunk one way; the blocks kept, nested around it, the other way."""
    mine = reversed_bits(label(rank, size), size)
    nested = [(mine >> k << k, 1 << k) for k in range(log2_ceiling(size))]
    blocks = sum(sum(lengths[first : first + width]) for first, width in nested)
    return sum(lengths) - lengths[mine] + blocks


_BROADCAST = Algorithm(
    name="bine",
    collective="broadcast",
    schedule=bine_broadcast,
    chunks=one_chunk,
    sizes=POWERS_OF_TWO,
    steps=_steps,
    depth=log2_ceiling,
    sent=_sent,
    received=by_others,
    time=LOG2_N * (alpha + S * beta),
    bandwidth_optimal=UP_TO_2,
    latency_optimal=ALWAYS,
    source=_PAPER,
    also_known_as={"PICO": "bine_lat"},
)
ALGORITHMS = (
    _BROADCAST,
    mirrored(
        _BROADCAST,
        "reduce",
        schedule=bine_reduce,
        also_known_as={"PICO": "bine_lat"},
    ),
    Algorithm(
        name="bine",
        collective="all_reduce",
        schedule=bine_all_reduce,
        chunks=lambda size: size,
        sizes=POWERS_OF_TWO,
        steps=lambda rank, size: 2 * log2_ceiling(size),
        depth=lambda size: 2 * log2_ceiling(size),
        sent=_halving_traffic,
        received=_halving_traffic,
        time=2 * LOG2_N * alpha + 2 * (N - 1) / N * S * beta + (N - 1) / N * S * gamma,
        bandwidth_optimal=ALWAYS,
        latency_optimal=ONE,
        source=_PAPER,
        also_known_as={"PICO": "bine_bdw_remap"},
    ),
)
