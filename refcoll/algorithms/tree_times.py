"""What pipelines down, and up, the trees of ``binary_tree`` and ``double_tree`` take.

Each segment costs a node with two children two messages, and so delays the next one; the
last of M segments sets out after 2(M-1) messages, and then takes the critical way.

*Down*, where messages of a step pay together, a step to either child takes what two take.
Where they go one by one the second child waits for two, the first for one.  *Up* is down
backwards in time: a node that two children reach at the same time takes in two, but one that
comes a message earlier than the other is in already.  Merging takes two at every such node.

*In-order tree*, D = L levels: rank 0 has one child, the topmost node T, whose left side is full.
So the way to a deepest leaf meets two children everywhere but at rank 0, and at T where there
is no right side (N = 2^(L-1)+1).  Only where the right side is full too, N = 2^L, does a way
of second children reach the deepest level; else one first child stands in it.

*Split tree*: two heaps below rank 0; ``_ways`` has the leaves that may be last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from refcoll.algorithms.declaration import log2_ceiling
from refcoll.algorithms.symbols import Count, L, M, S, alpha, beta, gamma, over

# ---- the in-order tree -----------------------------------------------------------------------


def _both(size: int, segments: int) -> int:
    levels = log2_ceiling(size)
    if size <= 3:
        return segments + size - 2
    return 2 * (segments + levels) - 3 - (size == (1 << levels - 1) + 1)


def _one_by_one(size: int, segments: int) -> int:
    levels = log2_ceiling(size)
    if size <= 3:
        return segments + size - 2
    return 2 * (segments + levels) - 4 + (size == 1 << levels)


_b = Count("b", "2(M+L)-3, 1 less for N = 2^(L-1)+1; M+N-2 for N <= 3", _both)
_e = Count("e", "2(M+L)-4, 1 more for N = 2^L; M+N-2 for N <= 3", _one_by_one)
DOWN = (M + L - 1) * alpha + _b / M * S * beta
DOWN_ONE_BY_ONE = _e * (alpha + S / M * beta)
UP = (M + L - 1) * alpha + _e / M * S * beta + _b / M * S * gamma
UP_ONE_BY_ONE = DOWN_ONE_BY_ONE + _b / M * S * gamma

# ---- the split tree --------------------------------------------------------------------------


def _ways(size: int, **_: int) -> Iterator[dict[str, int]]:
    """The ways up from those leaves of which one may be the last: in each heap that of the
    deepest level to which most second children lead, and of the level above it the last, to
    which second children alone lead.

    The way to member i of a heap goes by the bits of i + 1 below the highest; a one is a
    second child.  Of the two heaps below rank 0 the even ranks' is the second.
    """
    roots = min(size - 1, 2)
    for place, members in ((1, size // 2), (2, (size - 1) // 2)):
        depth = members.bit_length() - 1
        alone = depth > 0 and members == 1 << depth
        if members:
            seconds = (members + 1 - (1 << depth)).bit_length() - 1
            yield {"d": depth + 1, "e": place + depth + seconds, "c": roots + 2 * depth - alone}
        if depth > 0:
            yield {"d": depth, "e": place + 2 * (depth - 1), "c": roots + 2 * (depth - 1)}


def _most_of(key: str) -> Callable[..., int]:
    return lambda size, **_: max((way[key] for way in _ways(size)), default=0)


_D = Count("D", "levels below rank 0", _most_of("d"))
_C = Count("c", "children of all nodes on the longest way down", _most_of("c"))
_E = Count("e", "one for each first child and two for each second on a way, at most", _most_of("e"))
_w = Count("w", "roots below rank 0: 2, but 1 for N = 2", lambda size, **_: min(size - 1, 2))
SPLIT_DOWN = (M + _D) * alpha + (M + _C + _w * (M - 1)) / (2 * M) * S * beta
SPLIT_DOWN_ONE_BY_ONE = alpha + S / 2 * beta + (_E + _w * (M - 1)) * (alpha + S / (2 * M) * beta)

_d = Count("d", "levels that the way goes up", lambda d, **_: d)
_c = Count("c", "children of its nodes", lambda c, **_: c)
_s = Count("e", "one for each first child on it and two for each second", lambda e, **_: e)
_IN = (_s + _w * (M - 1)) / (2 * M) * S * beta + (_c + _w * (M - 1)) / (2 * M) * S * gamma
_SWAP = alpha + S / 2 * (beta + gamma)
SPLIT_UP = _SWAP + over("ways up", _ways, (_d + M - 1) * alpha + _IN)
SPLIT_UP_ONE_BY_ONE = _SWAP + over("ways up", _ways, (_s + _w * (M - 1)) * alpha + _IN)

# ---- two trees at once: a bound --------------------------------------------------------------
# Of the M + 2L - 1 rounds nothing comes down in the first L, and nothing goes up in the last L;
# in these, a rank sends two messages at most: up in both trees, or down to two children.  In
# the M - 1 between, the first and the last of which lack one each, it sends four: up and to two
# children in one tree, and as a leaf, up in the other.  What it takes in is the same backwards.
_FOUR = 4 * (M + L) - 6
DOUBLE = (
    (M + 2 * L - 1) * alpha + _FOUR / (2 * M) * S * beta + (2 * (M + L) - 3) / (2 * M) * S * gamma
)
# One by one, two children who are leaves come fourth at each of their own steps, when two
# others are in: six messages a round, and three where each sends two.
DOUBLE_ONE_BY_ONE = (
    6 * (M + L - 1) * (alpha + S / (2 * M) * beta) + (2 * (M + L) - 3) / (2 * M) * S * gamma
)
