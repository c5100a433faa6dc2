"""Binomial trees, and all-reduces that know nodes and switches, seen from above (``rounds``).

As in ``patterns``, a function has the name of the schedule that it speaks of.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from refcoll.algorithms.declaration import log2_ceiling
from refcoll.planning.patterns import ring_step
from refcoll.planning.rounds import Ints, Loads, Round, Rounds, Shape, carried

# ---- binomial trees, of everyone and of groups -------------------------------------------


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
    steps = tree_steps(shape, np.arange(shape.ranks), 1, shape.ranks)
    yield from up(steps)
    yield from down(steps)


# ---- nodes and switches ------------------------------------------------------------------


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
    share, ranks = 1.0, np.arange(shape.ranks)
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
    ranks = np.arange(shape.ranks)
    steps: list[Loads] = []
    for stride, count in trees:
        steps += tree_steps(shape, ranks[ranks % stride == 0], stride, count)
    stride, count = ring
    around = ring_step(shape, ranks[ranks % stride == 0], stride, count, 1 / count)
    yield from up(steps)
    yield Round(count - 1, around, 1 / count)
    yield Round(count - 1, around)
    yield from down(steps)
