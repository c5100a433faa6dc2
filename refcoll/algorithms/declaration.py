"""How an algorithm declares itself: what it does, for whom, and what it claims to cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TypeAlias

from refcoll.schedule import Schedule

Lengths: TypeAlias = Sequence[int]
Nodes: TypeAlias = tuple[tuple[int, ...], ...]
"""Which ranks share a node: each rank once, nodes in any order and of any size."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Algorithm:
    """One algorithm.  Every callable also takes the keywords named in ``options``.

    Every algorithm is defined for all sizes from 1.
    ``schedule(rank, size)`` is written for root 0; another root is a renumbering.
    ``steps(rank, size)``    steps of a rank that hold a message to another rank
    ``depth(size)``          the longest chain of dependent messages over all ranks
    ``sent(rank, size, lengths)``, ``received(...)``   elements that cross a rank's link
    """

    name: str
    collective: str
    schedule: Callable[..., Schedule]
    chunks: Callable[..., int]
    steps: Callable[..., int]
    depth: Callable[..., int]
    sent: Callable[..., int]
    received: Callable[..., int]
    source: str
    in_rank_order: bool = False
    """Whether operands meet in rank order, so that the operator need not commute."""
    bandwidth_optimal: str = "no"
    """For chunks of equal length: "always", or when no schedule moves less, or "no"."""
    options: tuple[str, ...] = ()
    """Of "segments" (pipeline depth) and "nodes" (which ranks share a node)."""
    weights: Callable[..., tuple[int, ...]] | None = None
    """Relative chunk lengths, where chunks are not meant to be equal."""
    helpers: int = 0
    """Extra ranks, after the others, that own no input and expect no output."""
    also_known_as: Mapping[str, str] = field(default_factory=dict)


def covered(starts: Sequence[int], width: int) -> int:
    """How many rounds the windows [start, start + width) cover together.

    >>> covered([0, 2, 9], 3)
    8
    """
    ordered = sorted(starts)
    gaps = [later - start for start, later in pairwise(ordered)]
    return sum(min(width, gap) for gap in gaps) + (width if ordered else 0)


def log2_ceiling(size: int) -> int:
    """The least k with 2**k >= size: rounds that doubling needs to reach ``size`` ranks."""
    return (size - 1).bit_length()


def one_chunk(size: int) -> int:
    """Chunks of an algorithm that always sends the whole vector."""
    return 1


def chunk_per_rank(size: int) -> int:
    """Chunks of an algorithm that gives each rank its share."""
    return size
