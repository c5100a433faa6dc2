"""Which elements, in words, and which chunk of which algorithm that is.

Chunks are named only where the elements are whole ones of a layout that algorithms use:

    N chunks       rings, and whatever reduces and scatters
    2 chunks       the first halving step; one tree of a double tree
    2N chunks      two rings in opposite directions
    p chunks       recursive halving among the p ranks of a power of two
    segments       of a power of two, where long vectors are piped
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

import numpy as np

from refcoll.chunks import balanced
from refcoll.operators import Array
from refcoll.words import ranked, spans

Bounds = Sequence[int]


def where(places: Sequence[int] | Array, total: int, size: int, gathered: bool = False) -> str:
    """As in "elements 99-130 (chunk 3 of 4, as in a ring)", of ``total`` elements, in order;
    of blocks that are ``gathered`` from all ranks as in "elements 99-131 (from rank 3)".
    """
    listed = np.asarray(places)
    if len(listed) == total:
        return f"all {total} elements" if total > 1 else "the one element"
    said = f"element{'s' if len(listed) > 1 else ''} {_spans(listed)}"
    chunk = _blocks(listed, total, size) if gathered else _chunk(listed, total, size)
    said_so = chunk or _every(listed)
    return f"{said} ({said_so})" if said_so else said


def _every(places: Array) -> str | None:
    """As in "every 16th", of three elements and more."""
    apart = {int(each) for each in np.diff(places)}
    if len(places) < 3 or len(apart) > 1 or apart == {1}:
        return None
    by = apart.pop()
    return f"every {by}{_TH.get(by % 10, 'th') if by % 100 not in (11, 12, 13) else 'th'}"


_TH = {1: "st", 2: "nd", 3: "rd"}


def _spans(places: Array, most: int = 4) -> str:
    """Of many only the first, so that long vectors take no time."""
    breaks = np.flatnonzero(np.diff(places) != 1) + 1
    few = places[: breaks[most]] if len(breaks) > most else places
    return spans([int(each) for each in few], most)


def _chunk(places: Array, total: int, size: int) -> str | None:
    """Of all layouts in which these are whole chunks, in that with the fewest of them."""
    found: list[tuple[int, str]] = []
    for name, bounds in _layouts(total, size):
        indices = _whole(places, bounds)
        if indices and _full(indices, bounds):
            kind, _, rest = name.partition(" ")
            plural = "s" if len(indices) > 1 else ""
            found.append((len(indices), f"{kind}{plural} {spans(indices, 4)} {rest}"))
    return min(found, key=lambda each: each[0])[1] if found else None


def _blocks(places: Array, total: int, size: int) -> str | None:
    """Whose they are, if they are whole ones."""
    ranks = _whole(places, range(0, total + 1, total // size))
    return f"from {ranked(ranks)}" if ranks else None


def _layouts(total: int, size: int) -> Iterator[tuple[str, Bounds]]:
    """Names and where the chunks begin and end, the most usual first."""
    power = 1 << (size.bit_length() - 1)
    others = [(2, "halving"), (2 * size, "two rings"), (power, "recursive halving")]
    wanted = [(size, "a ring")] + [each for each in others if each[0] != size]
    for chunks, algorithm in wanted:
        if chunks == 1 or (chunks != size and total < 4 * chunks):
            continue
        for cut in CUTS:
            yield f"chunk of {chunks}, as in {algorithm}", cut(total, chunks)
    for exponent in range(20, 3, -1):
        length = 1 << exponent
        if 2 * length <= total:
            yield f"segment of {length} elements", [*range(0, total, length), total]


def _remainder_first(total: int, chunks: int) -> Bounds:
    layout = balanced(total, chunks)
    return [*layout.offsets, total]


def _spread(total: int, chunks: int) -> Bounds:
    return [total * index // chunks for index in range(chunks + 1)]


def _remainder_last(total: int, chunks: int) -> Bounds:
    return [total // chunks * index for index in range(chunks)] + [total]


def _rounded_up(total: int, chunks: int) -> Bounds:
    length = -(-total // chunks)
    return [min(total, length * index) for index in range(chunks + 1)]


CUTS: Sequence[Callable[[int, int], Bounds]] = (
    _remainder_first, _spread, _rounded_up, _remainder_last,
)  # fmt: skip


def _full(indices: Sequence[int], bounds: Bounds) -> bool:
    """Whether there is more than a short piece at the end."""
    longest = max(end - first for first, end in pairwise(bounds))
    return any(bounds[index + 1] - bounds[index] >= longest - 1 for index in indices)


def _whole(places: Array, bounds: Bounds) -> list[int] | None:
    """The chunks that the places, in order, are, if they are whole ones."""
    lengths = np.diff(bounds)
    inside = np.diff(np.searchsorted(places, bounds))
    if ((inside != 0) & (inside != lengths)).any():
        return None
    return [int(index) for index in np.flatnonzero(inside)]
