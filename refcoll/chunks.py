"""How a vector of n elements is cut into chunks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise


@dataclass(frozen=True)
class Layout:
    """The lengths, in elements, of consecutive chunks of one vector."""

    lengths: tuple[int, ...]

    def __post_init__(self) -> None:
        if any(length < 0 for length in self.lengths):
            raise ValueError(f"chunk lengths must not be negative, got {self.lengths}")

    @cached_property
    def offsets(self) -> tuple[int, ...]:
        """Where each chunk begins, and where the last one ends."""
        return (0, *accumulate(self.lengths))

    @property
    def count(self) -> int:
        """Elements in the whole vector."""
        return self.offsets[-1]

    def span(self, first: int, last: int) -> slice:
        """Where chunks first, ..., last - 1 lie in memory; scratch areas follow the vector."""
        return slice(self._offset(first), self._offset(last))

    def _offset(self, index: int) -> int:
        area, chunk = divmod(index, len(self.lengths))
        return area * self.count + self.offsets[chunk]

    def length(self, index: int) -> int:
        """Elements in the chunk ``index``, which may lie in a scratch area."""
        return self.lengths[index % len(self.lengths)]


def balanced(count: int, chunks: int) -> Layout:
    """``count`` elements in ``chunks`` chunks, the first count mod chunks one longer.

    >>> balanced(10, 4).lengths
    (3, 3, 2, 2)
    """
    share, extra = divmod(count, chunks)
    return Layout(tuple(share + (i < extra) for i in range(chunks)))


def proportional(count: int, weights: Sequence[int]) -> Layout:
    """``count`` elements in chunks whose lengths go as ``weights``, each within one element.

    >>> proportional(12, (2, 1, 3)).lengths
    (4, 2, 6)
    """
    whole = sum(weights)
    cuts = [count * total // whole for total in accumulate(weights, initial=0)]
    return Layout(tuple(stop - start for start, stop in pairwise(cuts)))


def runs(indices: Sequence[int]) -> list[tuple[int, int]]:
    """The indices as runs of neighbours (first, last + 1), in the order given.

    >>> runs((3, 4, 5, 9, 0))
    [(3, 6), (9, 10), (0, 1)]
    """
    found: list[tuple[int, int]] = []
    for index in indices:
        if found and found[-1][1] == index:
            found[-1] = (found[-1][0], index + 1)
        else:
            found.append((index, index + 1))
    return found
