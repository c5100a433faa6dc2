"""The order of a sum, from its results alone.

Rank i puts in M, rank j puts in -M, every other rank a unit u.  As long as only one of the two
large values is in a partial sum, units that are added to it are lost; once both are in, they
cancel.  What remains is u times the number of ranks outside of the smallest subtree that
holds i and j.  All pairs give the sizes of all these subtrees, and so the tree.  (Xie et al.,
FPRev, USENIX ATC 2025, for sums in one memory; here leaves are ranks, and each element of a
vector gives an answer of its own.)

    dtype     M       u       lost, if a partial sum has    units counted exactly
                              so few bits (N ranks)
    float64   2^1023  1       1022 - log2 N                 2^53
    float32   2^127   1       126 - log2 N                  2^24
    bfloat16  2^127   1       126 - log2 N                  2^8
    float16   2^15    2^-24   38 - log2 N                   2^11

M is the largest power of two, so that M - M is exact and M plus all units is no overflow.
With p bits of significand the next number below M is M 2^-p away, and M - k u rounds to M where
k u is less than half of that: p < log2(M / (N u)) - 1.  Only float16 in float64 has more bits:
nothing is lost there, and indeed such sums are exact, whatever their order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from refcoll.operators import Array
from refcoll.oracle.revealing.trees import Tree, leaf, node
from refcoll.testing.values import dtype_named

DTYPES = ("float32", "float64", "float16", "bfloat16")
MASKS = {
    "float64": (1023, 0, 53), "float32": (127, 0, 24), "bfloat16": (127, 0, 8),
    "float16": (15, -24, 11),
}  # fmt: skip
"""log2 M, log2 u, and bits of the significand: up to 2 to their power, units are counted."""
UNCLEAR = -1
"""In place of a count, where the result is no multiple of the unit from 0 to N."""


def pairs(size: int) -> list[tuple[int, int]]:
    """All i < j."""
    return list(combinations(range(size), 2))


def mask(
    i: int, j: int, size: int, length: int, dtype: str, swapped: bool = False
) -> list[Array]:  # fmt: skip
    """By rank, what it puts in; ``swapped`` has -M on rank i and M on rank j."""
    large, unit, _ = MASKS[dtype]
    values = [2.0**unit] * size
    values[i], values[j] = 2.0**large, -(2.0**large)
    if swapped:
        values[i], values[j] = values[j], values[i]
    return [np.full(length, value).astype(dtype_named(dtype)) for value in values]


def counted(result: Array, size: int, dtype: str) -> np.ndarray[Any, np.dtype[np.int16]]:
    """Per element how many units are left, or UNCLEAR."""
    _, unit, _ = MASKS[dtype]
    with np.errstate(all="ignore"):
        units = result.astype(np.float64) * 2.0**-unit
        clear = (units >= 0) & (units <= size) & (units == np.rint(units))
        return np.where(clear, units, UNCLEAR).astype(np.int16)


class NoTree(Exception):
    """The counts are not those of any tree; says why."""


Together = dict[tuple[int, int], int]
"""For i < j how many ranks are in the smallest subtree that holds both."""


def tree_of(members: Sequence[int], together: Together) -> Tree:
    """The tree in which pairs of ``members`` meet in subtrees of these sizes.

    Raises NoTree where there is none: the order depends on the values or on the run.
    """
    members = list(members)
    if len(members) == 1:
        return leaf(members[0])
    inside = {pair: together[pair] for pair in combinations(members, 2)}
    if min(inside.values()) < 2:
        raise NoTree("a sum of units and of two large values that cancel is no number of units")
    if max(inside.values()) > len(members):
        raise NoTree(_contradiction(inside, members))
    parts = list(_parts(members, inside))
    if len(parts) > 1:
        return node([tree_of(part, together) for part in parts])
    if set(inside.values()) == {2}:
        return node([leaf(rank) for rank in members], exact=True)
    raise NoTree(_contradiction(inside, members))


def _parts(members: Sequence[int], inside: Together) -> Iterator[list[int]]:
    """The members in groups that meet, one after another, before all of them do."""
    left = list(members)
    while left:
        group, seen = [left[0]], {left[0]}
        for rank in group:
            near = [
                each for each in left
                if each not in seen and inside[min(rank, each), max(rank, each)] < len(members)
            ]  # fmt: skip
            group += near
            seen.update(near)
        yield sorted(group)
        left = [rank for rank in left if rank not in seen]


def _contradiction(inside: Together, members: Sequence[int]) -> str:
    (i, j), size = max(inside.items(), key=lambda item: item[1])
    return (
        f"ranks {i} and {j} seem to meet among {size} ranks, but of ranks "
        f"{', '.join(map(str, members))} all meet earlier in some other way"
    )
