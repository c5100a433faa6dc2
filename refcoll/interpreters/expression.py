"""What a chunk holds, as a tree: who contributed, in which order, merged how.

Nodes are shared: the same two values merged twice are one object, so a whole all-reduce
on N ranks needs few of them.  From a tree follow whether every rank is in it exactly once,
whether operands stand in rank order, and, evaluated, the floating-point result to the bit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")
MIXED = -1


@dataclass(frozen=True, slots=True, eq=False)
class Expression:
    """A contribution (``left`` is None), or ``left`` merged with ``right``."""

    chunk: int
    """The chunk that all contributors stand for, or MIXED."""
    first: int
    last: int
    """The leftmost and the rightmost contributor."""
    members: int
    """The set of contributors, as bits."""
    repeated: int
    """Those of them that are in it more than once, as bits."""
    in_rank_order: bool
    left: Expression | None = None
    right: Expression | None = None

    def contributors(self) -> Counter[int]:
        """How often each rank is in it."""
        return self.evaluate(lambda rank, _: Counter([rank]), lambda a, b: a + b)

    def evaluate(self, leaf: Callable[[int, int], T], merge: Callable[[T, T], T]) -> T:
        """The value, from ``leaf(rank, chunk)`` and ``merge(left, right)``."""
        known: dict[Expression, T] = {}
        stack = [self]
        while stack:
            node = stack[-1]
            if node.left is None or node.right is None:
                known[node] = leaf(node.first, node.chunk)
            elif node.left in known and node.right in known:
                known[node] = merge(known[node.left], known[node.right])
            else:
                stack += [node.left, node.right]
                continue
            stack.pop()
        return known[self]

    def __str__(self) -> str:
        return self.evaluate(lambda rank, _: f"x{rank}", lambda a, b: f"({a}+{b})")


class Expressions:
    """A factory that gives the same object for the same value."""

    def __init__(self) -> None:
        self._leaves: dict[tuple[int, int], Expression] = {}
        self._merged: dict[tuple[int, int], Expression] = {}

    def leaf(self, rank: int, chunk: int) -> Expression:
        """``rank``'s own contribution to ``chunk``."""
        key = rank, chunk
        if key not in self._leaves:
            self._leaves[key] = Expression(chunk, rank, rank, 1 << rank, 0, True)
        return self._leaves[key]

    def merge(self, left: Expression, right: Expression) -> Expression:
        """``left`` op ``right``."""
        key = id(left), id(right)
        if key not in self._merged:
            self._merged[key] = Expression(
                left.chunk if left.chunk == right.chunk else MIXED,
                left.first,
                right.last,
                left.members | right.members,
                left.repeated | right.repeated | left.members & right.members,
                left.in_rank_order and right.in_rank_order and left.last < right.first,
                left,
                right,
            )
        return self._merged[key]
