"""Two pipelined trees side by side, seen from above (``rounds``)."""

from __future__ import annotations

from functools import lru_cache
from itertools import groupby
from typing import TypeAlias

import numpy as np

from refcoll.algorithms import binary_tree
from refcoll.algorithms.declaration import log2_ceiling
from refcoll.algorithms.double_tree import second_tree
from refcoll.planning.rounds import Ints, Loads, Round, Rounds, Shape, carried, scaled


def double_tree_all_reduce(shape: Shape, segments: int) -> Rounds:
    """Up and down, a segment of a half at each depth that the pipeline has reached."""
    deepest, share = log2_ceiling(shape.ranks), 1 / (2 * segments)
    windows = (_windows(t, segments, deepest) for t in range(segments + 2 * deepest - 1))
    for (rising, falling), alike in groupby(windows):
        loads, merging = _tree_round(shape, rising, falling)
        yield Round(len(list(alike)), scaled(loads, share), merging * share)


Window: TypeAlias = tuple[int, int]
"""The first and the last depth of the ranks that do something in a round."""


@lru_cache(maxsize=1024)
def _tree_round(shape: Shape, rising: Window, falling: Window) -> tuple[Loads, int]:
    """Loads, if every message were all of S, where ranks of some depths send up, and of others
    hear from above; and how many a rank merges at most."""
    below, above, depth = _edges(shape.ranks)
    up = (rising[0] <= depth) & (depth <= rising[1])
    down = (falling[0] <= depth) & (depth <= falling[1])
    source = np.concatenate([below[up], above[down]])
    to = np.concatenate([above[up], below[down]])
    return carried(shape, source, to, 1.0), int(np.bincount(above[up], minlength=1).max())


@lru_cache(maxsize=4)
def _edges(size: int) -> tuple[Ints, Ints, Ints]:
    """Of both trees: each rank but the roots, the rank above it, and its depth."""
    up = np.array([binary_tree.parent(rank, size) or 0 for rank in range(size)])
    depth, above = np.zeros(size, np.int64), np.arange(size)
    while above.any():
        depth += above > 0
        above = up[above]
    places, second = np.arange(1, size), np.array(second_tree(size))
    below = np.concatenate([places, second[places]])
    return below, np.concatenate([up[places], second[up[places]]]), np.tile(depth[places], 2)


def _windows(t: int, segments: int, deepest: int) -> tuple[Window, Window]:
    """The first and last depth of the ranks that send up in round t, and that hear from above."""

    def within(first: int, last: int) -> Window:
        return (max(first, 1), min(last, deepest)) if first <= deepest and last >= 1 else (1, 0)

    return (
        within(deepest - t, deepest - t + segments - 1),
        within(t - deepest + 2 - segments, t - deepest + 1),
    )
