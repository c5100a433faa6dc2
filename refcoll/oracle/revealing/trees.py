"""The order of a sum over ranks, as a tree: leaves are ranks, inner nodes are roundings.

    ((0+1)+(2+3))      0 and 1 first, 2 and 3 first, then both
    (0+1+2)            three values meet in one sum, in which a large one swamps small ones
    {0+1+2}            three values meet in one sum in which nothing is lost: it is exact

Addition commutes, to the bit, so that children have no order: they stand with the least rank
first.  Two trees are equal where each rank meets the same ranks in the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain as chained
from itertools import combinations
from typing import TypeVar

from refcoll.interpreters.expression import Expression

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Tree:
    """A rank, or a sum of two or more trees; made by ``leaf`` and ``node``."""

    ranks: frozenset[int]
    """All leaves."""
    children: tuple[Tree, ...] = ()
    """None for a leaf."""
    exact: bool = False
    """Whether nothing is swamped among the children."""

    def fold(self, leaf: Callable[[int], T], merge: Callable[[Tree, list[T]], T]) -> T:
        """The value, from ``leaf(rank)`` and ``merge(node, values of its children)``."""
        if not self.children:
            return leaf(min(self.ranks))
        return merge(self, [child.fold(leaf, merge) for child in self.children])

    def nodes(self) -> Iterator[Tree]:
        """All inner nodes, a node before those below it."""
        if self.children:
            yield self
            for child in self.children:
                yield from child.nodes()

    def __str__(self) -> str:
        return self.fold(str, lambda node, said: _enclosed("+".join(said), node.exact))


def leaf(rank: int) -> Tree:
    """One rank's own value."""
    return Tree(frozenset([rank]))


def node(children: Sequence[Tree], exact: bool = False) -> Tree:
    """The sum of trees that have no rank in common."""
    ordered = tuple(sorted(children, key=lambda child: min(child.ranks)))
    return Tree(frozenset().union(*(child.ranks for child in ordered)), ordered, exact)


def of_expression(expression: Expression) -> Tree:
    """The order in which a program merges a chunk."""
    return expression.evaluate(lambda rank, _: leaf(rank), lambda a, b: node([a, b]))


def shape(tree: Tree) -> str:
    """The tree without its ranks: equal where a relabelling makes the trees equal.

    >>> shape(node([node([leaf(3), leaf(1)]), leaf(0)]))
    '((x+x)+x)'
    """

    def merged(inner: Tree, said: list[str]) -> str:
        longest_first = sorted(said, key=lambda each: (-len(each), each))
        return _enclosed("+".join(longest_first), inner.exact)

    return tree.fold(lambda rank: "x", merged)


def together(tree: Tree) -> dict[tuple[int, int], int]:
    """For ranks i < j: how many ranks are in the smallest subtree that holds both.

    It says all about a tree that is not exact anywhere.
    """
    return {
        (min(i, j), max(i, j)): len(inner.ranks)
        for inner in tree.nodes()
        for one, other in combinations(inner.children, 2)
        for i in one.ranks
        for j in other.ranks
    }


def chain(tree: Tree) -> list[int] | None:
    """The ranks in the order in which they are added one by one; None for other trees.

    Of the first two the lower stands first.
    """
    if not tree.children:
        return list(tree.ranks)
    if len(tree.children) != 2 or tree.exact:
        return None
    *inner, last = sorted(tree.children, key=lambda child: -len(child.ranks))
    before = chain(inner[0])
    return None if last.children or before is None else [*before, *last.ranks]


def _enclosed(said: str, exact: bool) -> str:
    return f"{{{said}}}" if exact else f"({said})"


# ---- drawing -----------------------------------------------------------------------------


def drawn(tree: Tree) -> str:
    """A line a rank; a sum stands where its lines meet, later ones further to the right.

    >>> print(drawn(node([node([leaf(0), leaf(2)]), leaf(1)])))
    0 -.
    2 -+-.
    1 ---+-
    """
    canvas = _Canvas(tree)
    row, column = canvas.draw(tree)
    canvas.stroke(row, column + 1, column + 1)
    width = max(len(str(rank)) for rank in tree.ranks)
    lines = zip(canvas.order, canvas.cells, strict=True)
    return "\n".join(f"{rank:>{width}} {''.join(cells).rstrip()}" for rank, cells in lines)


class _Canvas:
    """Rows are ranks, in an order in which no lines cross; columns are times."""

    def __init__(self, tree: Tree) -> None:
        self.order: list[int] = tree.fold(
            lambda rank: [rank], lambda _, parts: list(chained.from_iterable(_largest(parts)))
        )
        self.cells = [[" "] * (2 * len(self.order) + 2) for _ in self.order]

    def draw(self, tree: Tree) -> tuple[int, int]:
        """Draw it; returns the row and the column in which it ends."""
        if not tree.children:
            return self.order.index(min(tree.ranks)), -1
        ends = sorted(self.draw(child) for child in tree.children)
        column = 2 + max(at for _, at in ends)
        for row, start in ends:
            self.stroke(row, start + 1, column - 1)
        first, last = ends[0][0], ends[-1][0]
        for row in range(first, last + 1):
            self.cells[row][column] = "|"
        for row, _ in ends:
            self.cells[row][column] = "." if row == first else "+"
        return last, column

    def stroke(self, row: int, start: int, end: int) -> None:
        """A horizontal line."""
        for column in range(start, end + 1):
            self.cells[row][column] = "-"


def _largest(parts: list[list[int]]) -> list[list[int]]:
    """The larger parts first; of equal ones that with the least rank."""
    return sorted(parts, key=lambda part: (-len(part), min(part)))
