"""Rings, shifts, and everyone at once, seen from above (``rounds``).

A function here, as in ``hierarchies``, ``exchanges`` and ``double_trees``, has the name of the
schedule that it speaks of, in ``refcoll.algorithms``, where picture and source stand.  Tests
hold each to its schedule under the clock.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from refcoll.algorithms.declaration import log2_ceiling
from refcoll.planning.rounds import Ints, Loads, Round, Rounds, Shape, carried, everyone

Pattern: TypeAlias = Callable[..., Rounds]
"""Takes a shape, and the options of the algorithm that are no part of the shape."""


# ---- rings, of everyone and of groups ----------------------------------------------------


def ring_step(shape: Shape, ranks: Ints, stride: int, count: int, share: float) -> Loads:
    """Each of these ranks sends to the next in its ring: ``count`` ranks, ``stride`` apart."""
    last = ranks // stride % count == count - 1
    return carried(shape, ranks, ranks + stride - last * stride * count, share)


def _everyone(shape: Shape) -> Ints:
    return np.arange(shape.ranks)


def ring_reduce_scatter(shape: Shape) -> Rounds:
    """N-1 rounds of S/N, merged."""
    n = shape.ranks
    yield Round(n - 1, ring_step(shape, _everyone(shape), 1, n, 1 / n), 1 / n)


def ring_all_gather(shape: Shape) -> Rounds:
    """N-1 rounds of S/N."""
    n = shape.ranks
    yield Round(n - 1, ring_step(shape, _everyone(shape), 1, n, 1 / n))


def ring_all_reduce(shape: Shape) -> Rounds:
    """Both."""
    yield from ring_reduce_scatter(shape)
    yield from ring_all_gather(shape)


def segmented_ring_all_reduce(shape: Shape, segments: int) -> Rounds:
    """The reduce-scatter once for each segment."""
    n = shape.ranks
    share = 1 / (n * segments)
    loads = ring_step(shape, _everyone(shape), 1, n, share)
    yield Round(segments * (n - 1), loads, share)
    yield from ring_all_gather(shape)


def shifted(shape: Shape, distance: int, share: float) -> Loads:
    """Everyone sends to the rank so far ahead, round one ring."""
    ranks = _everyone(shape)
    return carried(shape, ranks, (ranks + distance) % shape.ranks, share)


def _by_shifts(shape: Shape, rounds: list[tuple[int, float]], merging: bool = False) -> Rounds:
    """Rounds of (distance, share); backwards in time what arrives is merged."""
    for distance, share in reversed(rounds) if merging else rounds:
        yield Round(1, shifted(shape, distance, share), share * merging)


def _bruck(n: int) -> list[tuple[int, float]]:
    """The share doubles with the distance; in the last round it is what is missing."""
    distances = [1 << k for k in range(log2_ceiling(n))]
    return [(d, min(d, n - d) / n) for d in distances]


def bruck_all_gather(shape: Shape) -> Rounds:
    """Near ranks first."""
    return _by_shifts(shape, _bruck(shape.ranks))


def bruck_reduce_scatter(shape: Shape) -> Rounds:
    """The same backwards."""
    return _by_shifts(shape, _bruck(shape.ranks), merging=True)


def _pat(n: int) -> list[tuple[int, float]]:
    """The share doubles as the distance halves."""
    distances = [1 << k for k in reversed(range(log2_ceiling(n)))]
    return [(d, len(range(0, n - d, 2 * d)) / n) for d in distances]


def pat_all_gather(shape: Shape) -> Rounds:
    """Far ranks first."""
    return _by_shifts(shape, _pat(shape.ranks))


def pat_reduce_scatter(shape: Shape) -> Rounds:
    """The same backwards."""
    return _by_shifts(shape, _pat(shape.ranks), merging=True)


# ---- everyone at once --------------------------------------------------------------------


def one_shot_all_reduce(shape: Shape) -> Rounds:
    """Whole vectors to everyone, who merges N-1."""
    yield Round(1, everyone(shape, 1.0), shape.ranks - 1)


def direct_reduce_scatter(shape: Shape) -> Rounds:
    """A share to each."""
    yield Round(1, everyone(shape, 1 / shape.ranks), 1 - 1 / shape.ranks)


def direct_all_gather(shape: Shape) -> Rounds:
    """A share to each."""
    yield Round(1, everyone(shape, 1 / shape.ranks))


def linear_all_to_all(shape: Shape) -> Rounds:
    """A share to each."""
    yield from direct_all_gather(shape)


def two_shot_all_reduce(shape: Shape) -> Rounds:
    """Both."""
    yield from direct_reduce_scatter(shape)
    yield from direct_all_gather(shape)


def linear_all_reduce(shape: Shape) -> Rounds:
    """All to rank 0, and back."""
    return hosted_servers_all_reduce(shape, 1)


def hosted_servers_all_reduce(shape: Shape, shards: int) -> Rounds:
    """All to the first few ranks, and back."""
    ranks, servers = _everyone(shape), np.arange(min(shards, shape.ranks))
    source, to = np.tile(ranks, servers.size), np.repeat(servers, ranks.size)
    loads = carried(shape, source, to, 1 / servers.size)
    yield Round(1, loads, (ranks.size - 1) / servers.size)
    yield Round(1, loads)
