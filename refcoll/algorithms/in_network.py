"""In-network reduction: switches that add, in a tree above the ranks.

              6             size 4, k = 2: the switches 4, 5 and 6, helpers after the ranks
            /   \\           that own no input
           4     5          up: a switch adds what comes from below and passes it on
          0 1   2 3         down: it passes the result to each

Each rank sends S and receives S, where ranks alone must move 2(N-1)/N S, nearly twice that
for large N: the arithmetic is not done by ranks, so that bound does not hold.  Depth
2 ceil(log_k N), one up and one down at least.  With k >= N it is one switch (NVLink SHARP).
A switch serves k neighbours, so operands meet in rank order.
(Graham et al., Scalable Hierarchical Aggregation Protocol (SHARP), 2016; NCCL's CollNet and
NVLS.)
"""

from __future__ import annotations

from collections.abc import Sequence

from refcoll.algorithms.declaration import Algorithm, Lengths, one_chunk
from refcoll.algorithms.symbols import Count, S, alpha, beta, gamma, k
from refcoll.schedule import IDLE, Copy, Reduce, Schedule, Send


def in_network_all_reduce(rank: int, size: int, radix: int) -> Schedule:
    """Chunks: 1.  Depth: 2 levels.  Sent and received: S by a rank; by a switch S per link."""
    levels = _levels(size, radix)
    mine = next(level for level, members in enumerate(levels) if rank in members)
    below = _children(rank, levels, mine, radix)
    for level in range(1, len(levels)):
        # Before this step, the members of the level below hold all ranks under them.
        if mine == level:
            first, *others = below
            yield Copy(0, first), *(Reduce(0, other, "right") for other in others)
        else:
            yield (Send(0, _parent(rank, levels, mine, radix)),) if mine == level - 1 else IDLE
    for level in reversed(range(1, len(levels))):
        if mine == level:
            yield tuple(Send(0, child) for child in below)
        else:
            yield (Copy(0, _parent(rank, levels, mine, radix)),) if mine == level - 1 else IDLE


def _levels(size: int, radix: int) -> list[range]:
    """The ranks, and above them one level of switches after another, up to a single one."""
    levels = [range(size)]
    while len(levels) == 1 or len(levels[-1]) > 1:
        first = levels[-1].stop
        levels.append(range(first, first - (-len(levels[-1]) // radix)))
    return levels


def _parent(rank: int, levels: Sequence[range], mine: int, radix: int) -> int:
    return levels[mine + 1][(rank - levels[mine].start) // radix]


def _children(rank: int, levels: Sequence[range], mine: int, radix: int) -> Sequence[int]:
    if mine == 0:
        return ()
    place = rank - levels[mine].start
    return levels[mine - 1][place * radix : (place + 1) * radix]


def _links(rank: int, size: int, radix: int) -> tuple[int, int]:
    """How many links a rank or switch has downwards, and upwards."""
    levels = _levels(size, radix)
    mine = next(level for level, members in enumerate(levels) if rank in members)
    return len(_children(rank, levels, mine, radix)), int(mine < len(levels) - 1)


def _steps(rank: int, size: int, radix: int) -> int:
    down, up = _links(rank, size, radix)
    return 2 * (down > 0) + 2 * up


def _traffic(rank: int, size: int, lengths: Lengths, radix: int) -> int:
    return sum(_links(rank, size, radix)) * sum(lengths)


def _height(size: int, radix: int) -> int:
    return len(_levels(size, radix)) - 1


def _largest(size: int, radix: int) -> int:
    """Ranks below a full switch of the level under the topmost."""
    return int(radix ** (_height(size, radix) - 1))


# Down, a switch sends to all its children, the first of which have full switches below: k at each
# level.  Up is down backwards, but that what comes from a child with less below it comes a
# message earlier than from the others, and is in when they come: f, not c, at the topmost.
_h = Count("h", "levels of switches", _height)
_c = Count(
    "c", "children of the topmost switch", lambda size, radix: -(-size // _largest(size, radix))
)
_f = Count(
    "f", "those of them with k^(h-1) ranks below", lambda size, radix: size // _largest(size, radix)
)
_MERGING = ((k - 1) * (_h - 1) + _c - 1) * S * gamma
ALGORITHMS = (
    Algorithm(
        name="in_network",
        collective="all_reduce",
        schedule=in_network_all_reduce,
        chunks=lambda size, radix: one_chunk(size),
        helpers=lambda size, radix: _levels(size, radix)[-1].stop - size,
        steps=_steps,
        depth=lambda size, radix: 2 * (len(_levels(size, radix)) - 1),
        sent=_traffic,
        received=_traffic,
        time=2 * _h * alpha + (2 * k * (_h - 1) + _c + _f) * S * beta + _MERGING,
        one_port=2 * (k * (_h - 1) + _f) * (alpha + S * beta) + _MERGING,
        in_rank_order=True,
        options=("radix",),
        source="Graham et al., SHARP (2016)",
        also_known_as={"NCCL": "CollNet, NVLS"},
    ),
)
