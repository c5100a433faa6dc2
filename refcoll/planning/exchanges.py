"""Collectives in which ranks exchange with partners at growing distances, seen from above
(``rounds``).

As in ``patterns``, a function has the name of the schedule that it speaks of.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from refcoll.algorithms.declaration import log2_ceiling, log_ceiling
from refcoll.algorithms.folding import power_below, survivors
from refcoll.algorithms.radix import power
from refcoll.algorithms.swing import partner
from refcoll.planning.rounds import Ints, Round, Rounds, Shape, carried

Partners = Callable[[Ints, int], Ints]
"""Among 2^L ranks, whom each meets in round k."""


def _bit(places: Ints, k: int) -> Ints:
    return places ^ 1 << k


def _swinging(places: Ints, k: int) -> Ints:
    swing = partner(0, k, places.size)
    return (places + np.where(places % 2 == 0, swing, -swing)) % places.size


def _exchanges(shape: Shape, active: Ints, partners: Partners, halving: bool) -> Rounds:
    """Whole vectors, or halves of what is kept, with the partner of each round, all merged."""
    places = np.arange(active.size)
    for k in range(log2_ceiling(active.size)):
        share = 0.5 ** (k + 1) if halving else 1.0
        yield Round(1, carried(shape, active, active[partners(places, k)], share), share)


def _and_back(scatter: Rounds) -> Rounds:
    """The reduce-scatter, and it backwards in time, merging nothing."""
    steps = list(scatter)
    yield from steps
    yield from (Round(each.times, each.loads) for each in reversed(steps))


# ---- folding: N - p ranks hand their vectors to a neighbour first ------------------------


def _folded(shape: Shape, core: Callable[[Ints], Rounds]) -> Rounds:
    giving = np.arange(0, 2 * (shape.ranks - power_below(shape.ranks)), 2)
    yield from _one_way(shape, giving, giving + 1, 1.0, merged=1.0)
    yield from core(np.array(survivors(shape.ranks)))
    yield from _one_way(shape, giving, giving + 1, 1.0, merged=0.0)


def _one_way(shape: Shape, source: Ints, to: Ints, share: float, merged: float) -> Rounds:
    if source.size:
        yield Round(1, carried(shape, source, to, share), merged)


def recursive_doubling_all_reduce(shape: Shape) -> Rounds:
    """Whole vectors."""
    return _folded(shape, lambda active: _exchanges(shape, active, _bit, halving=False))


def rabenseifner_all_reduce(shape: Shape) -> Rounds:
    """Halves, quarters, ..., and back."""
    return _folded(shape, lambda active: _and_back(_exchanges(shape, active, _bit, halving=True)))


def swing_latency_all_reduce(shape: Shape) -> Rounds:
    """Whole vectors, with partners that swing."""
    return _folded(shape, lambda active: _exchanges(shape, active, _swinging, halving=False))


def swing_all_reduce(shape: Shape) -> Rounds:
    """Halves, quarters, ..., and back."""
    return _folded(
        shape, lambda active: _and_back(_exchanges(shape, active, _swinging, halving=True))
    )


def bine_all_reduce(shape: Shape) -> Rounds:
    """As Swing, for N = 2^L."""
    return swing_all_reduce(shape)


def recursive_halving_reduce_scatter(shape: Shape) -> Rounds:
    """Far ranks first, N = 2^L."""
    active = np.arange(shape.ranks)
    steps = [carried(shape, active, active ^ 1 << k, (1 << k) / active.size)
             for k in range(log2_ceiling(active.size))]  # fmt: skip
    yield from (Round(1, each, (1 << k) / active.size) for k, each in reversed([*enumerate(steps)]))


def recursive_doubling_all_gather(shape: Shape) -> Rounds:
    """The same backwards."""
    halving = reversed(list(recursive_halving_reduce_scatter(shape)))
    yield from (Round(each.times, each.loads) for each in halving)


def half_folding_all_reduce(shape: Shape) -> Rounds:
    """Pairs share the work of merging: halves both ways, then the odd rank's half."""
    even = np.arange(0, 2 * (shape.ranks - power_below(shape.ranks)), 2)
    both = np.concatenate([even, even + 1]), np.concatenate([even + 1, even])
    active = np.array([r for r in range(shape.ranks) if r % 2 == 0 or r >= 2 * even.size])
    yield from _one_way(shape, *both, 0.5, merged=0.5)
    yield from _one_way(shape, even + 1, even, 0.5, merged=0.0)
    yield from _and_back(_exchanges(shape, active, _bit, halving=True))
    yield from _one_way(shape, even, even + 1, 1.0, merged=0.0)


# ---- groups of k instead of pairs --------------------------------------------------------


def _group_rounds(shape: Shape, active: Ints, radix: int, shares: bool) -> Rounds:
    """Everyone sends to the k-1 others of its group: whole vectors, or shares of what is kept."""
    places = np.arange(active.size)
    for j in range(log_ceiling(active.size, radix)):
        digit, others = places // radix**j % radix, range(1, radix)
        to = [places + ((digit + i) % radix - digit) * radix**j for i in others]
        share = float(radix) ** -(j + 1) if shares else 1.0
        loads = carried(shape, np.tile(active, radix - 1), active[np.concatenate(to)], share)
        yield Round(1, loads, (radix - 1) * share)


def _grouped(shape: Shape, radix: int, core: Callable[[Ints], Rounds]) -> Rounds:
    """Neighbours hand their vectors to the first of their group, and get the result back."""
    p = power(shape.ranks, radix)
    firsts = np.arange(p) * shape.ranks // p
    ranks = np.arange(shape.ranks)
    leader = firsts[np.searchsorted(firsts, ranks, side="right") - 1]
    giving = ranks[ranks != leader]
    most = int(np.bincount(leader).max()) - 1
    yield from _one_way(shape, giving, leader[giving], 1.0, merged=most)
    yield from core(firsts)
    yield from _one_way(shape, leader[giving], giving, 1.0, merged=0.0)


def multiplying_all_reduce(shape: Shape, radix: int) -> Rounds:
    """Whole vectors."""
    return _grouped(shape, radix, lambda active: _group_rounds(shape, active, radix, shares=False))


def bcube_all_reduce(shape: Shape, radix: int) -> Rounds:
    """Shares, and back."""
    return _grouped(
        shape, radix, lambda active: _and_back(_group_rounds(shape, active, radix, shares=True))
    )
