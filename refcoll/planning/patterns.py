"""All-reduces, reduce-scatters and all-gathers seen from above (``rounds``).

A function here has the name of the schedule that it speaks of, in ``refcoll.algorithms``,
where picture and source stand.  Tests hold each to its schedule under the clock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

import numpy as np

from refcoll.algorithms.declaration import log2_ceiling
from refcoll.planning.rounds import Ints, Loads, Round, Rounds, Shape, carried, everyone

Pattern: TypeAlias = Callable[..., Rounds]
"""Takes a shape, and the options of the algorithm that are no part of the shape."""


# ---- rings, of everyone and of groups ---------------------------------------------------------


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


# ---- everyone at once ---------------------------------------------------------------------------


def one_shot_all_reduce(shape: Shape) -> Rounds:
    """Whole vectors to everyone, who merges N-1."""
    yield Round(1, everyone(shape, 1.0), shape.ranks - 1)


def direct_reduce_scatter(shape: Shape) -> Rounds:
    """A share to each."""
    yield Round(1, everyone(shape, 1 / shape.ranks), 1 - 1 / shape.ranks)


def direct_all_gather(shape: Shape) -> Rounds:
    """A share to each."""
    yield Round(1, everyone(shape, 1 / shape.ranks))


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


# ---- binomial trees, of everyone and of groups --------------------------------------------------


def tree_steps(shape: Shape, ranks: Ints, stride: int, count: int) -> list[Loads]:
    """Whole vectors up binomial trees of ``count`` ranks, ``stride`` apart, round by round."""
    place = ranks // stride % count
    steps = []
    for k in range(log2_ceiling(count)):
        sending = ranks[place % (2 << k) == 1 << k]
        steps.append(carried(shape, sending, sending - (stride << k), 1.0))
    return steps


def up(steps: list[Loads]) -> Rounds:
    """Merging on the way."""
    yield from (Round(1, loads, 1.0) for loads in steps)


def down(steps: list[Loads]) -> Rounds:
    """The same backwards, copying."""
    yield from (Round(1, loads) for loads in reversed(steps))


def binomial_all_reduce(shape: Shape) -> Rounds:
    """Up one tree, and down."""
    steps = tree_steps(shape, _everyone(shape), 1, shape.ranks)
    yield from up(steps)
    yield from down(steps)


# ---- nodes and switches -------------------------------------------------------------------------


def _levels(shape: Shape) -> Iterator[tuple[int, int]]:
    """(Stride, count) of ranks on a node, nodes on a switch, and switches."""
    m, k = shape.ranks_per_node, shape.on_switch
    yield from ((1, m), (m, k), (m * k, shape.switches))


def rails_all_reduce(shape: Shape) -> Rounds:
    """Within nodes, on each rail between all nodes, within nodes."""
    return _rails(shape, [(1, shape.ranks_per_node), (shape.ranks_per_node, shape.nodes)])


def three_level_rails_all_reduce(shape: Shape) -> Rounds:
    """Within nodes, within switches, between switches, and back."""
    return _rails(shape, list(_levels(shape)))


def _rails(shape: Shape, levels: list[tuple[int, int]]) -> Rounds:
    """Reduce-scatter at each level, of what the one before has left, and gather backwards."""
    share, ranks = 1.0, _everyone(shape)
    steps = []
    for stride, count in levels:
        share /= count
        steps.append((count - 1, ring_step(shape, ranks, stride, count, share), share))
    yield from (Round(times, loads, merged) for times, loads, merged in steps)
    yield from (Round(times, loads) for times, loads, _ in reversed(steps))


def leaders_all_reduce(shape: Shape) -> Rounds:
    """Up a tree within nodes, round a ring of their first ranks, and down."""
    return _leaders(shape, [(1, shape.ranks_per_node)], (shape.ranks_per_node, shape.nodes))


def three_level_leaders_all_reduce(shape: Shape) -> Rounds:
    """Trees within nodes and within switches."""
    *trees, ring = _levels(shape)
    return _leaders(shape, trees, ring)


def _leaders(shape: Shape, trees: list[tuple[int, int]], ring: tuple[int, int]) -> Rounds:
    ranks = _everyone(shape)
    steps: list[Loads] = []
    for stride, count in trees:
        steps += tree_steps(shape, ranks[ranks % stride == 0], stride, count)
    stride, count = ring
    around = ring_step(shape, ranks[ranks % stride == 0], stride, count, 1 / count)
    yield from up(steps)
    yield Round(count - 1, around, 1 / count)
    yield Round(count - 1, around)
    yield from down(steps)
