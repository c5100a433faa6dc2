"""Hypotheses about where values come from: left as they were, elsewhere, somebody's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

import numpy as np

from refcoll.operators import Array, kind
from refcoll.oracle.diagnosing.evidence import Evidence
from refcoll.oracle.diagnosing.places import CUTS
from refcoll.oracle.floats import ordinals


def other_piece(e: Evidence, rank: int) -> str | None:
    """A piece that belongs to another rank."""
    if e.call.collective not in ("reduce_scatter", "scatter"):
        return None
    for other in range(e.size):
        if other != rank and e.truths[other] is not None and e.equal(rank, e.wanted(other)):
            by = (other - rank) % e.size
            return f"the chunk of rank (r + {by}) mod {e.size}: rotated by {by}"
    return None


def one_input(e: Evidence, rank: int) -> str | None:
    """A single rank's input, where several should be merged."""
    if e.call.op in (None, "avg"):
        return None
    # A scan might have that of a rank behind.
    parts = e.inputs if e.call.collective in ("scan", "exscan") else e.parts(rank)
    for other in [rank, *range(len(parts))]:
        if other < len(parts) and e.equal(rank, parts[other]):
            whose = "the rank's own input" if other == rank else f"rank {other}'s input"
            return f"{e.where(e.wrong[rank])}: {whose} alone, nothing merged into it"
    return None


def moved_blocks(e: Evidence, rank: int) -> str | None:
    """The right blocks in a wrong order, or the same block in several places."""
    wanted = e.wanted(rank)
    if e.binary and not np.ptp(e.got(rank).astype(np.int64)):
        return None  # of truths that are all the same
    many = e.call.collective in ("all_gather", "gather", "all_to_all")
    sources = _sources(e.got(rank), wanted, e.size)
    if sources is None:
        return None
    what = "block" if many else "chunk"
    if len({*sources}) == 1 and e.size > 2:
        return f"every {what} holds {what} {sources[0]}: do they share memory?"
    rotated = {(source - i) % e.size for i, source in enumerate(sources)}
    if len(rotated) == 1:
        by = rotated.pop()
        return f"{what} i holds {what} (i + {by}) mod {e.size}: rotated by {by}"
    said = ", ".join(f"{i} holds {s}" for i, s in enumerate(sources) if s != i)
    return f"{what}s in a wrong place: {said}"


def _sources(got: Array, wanted: Array, size: int) -> list[int] | None:
    """Of each of N chunks of the result, which right chunk it holds; None if that is not so.

    A chunk may be an element longer than what it holds.
    """
    if size < 2 or wanted.size < size:
        return None
    for cut in CUTS:
        bounds = cut(wanted.size, size)
        pieces = [slice(*pair) for pair in pairwise(bounds)]
        found = [_source(got[piece], [wanted[each] for each in pieces]) for piece in pieces]
        sources = [each for each in found if each is not None]
        if len(sources) == size and sources != [*range(size)]:
            return sources
    return None


def _source(piece: Array, pieces: Sequence[Array]) -> int | None:
    for index, each in enumerate(pieces):
        common = min(piece.size, each.size)
        longer = piece.size - common
        if longer < 2 and common > longer and _bits(piece[:common]) == _bits(each[:common]):
            return index
    return None


def whose_block(e: Evidence, rank: int) -> str | None:
    """Whole blocks that are some other rank's, or that it meant for another."""
    count, got = e.call.count, e.got(rank)
    if e.call.op is not None or not count:
        return None
    known = {
        x[first : first + count].tobytes(): (source, first // count)
        for source, x in enumerate(e.inputs)
        for first in range(0, x.size, count)
    }
    said = []
    for index in sorted({int(place) // count for place in e.wrong[rank]}):
        found = known.get(got[index * count : (index + 1) * count].tobytes())
        if found is None:
            return None
        said.append(f"block {index} holds block {found[1]} of rank {found[0]}'s input")
    return ", ".join(said)


def permuted(e: Evidence, rank: int) -> str | None:
    """The right values in other elements."""
    if len(e.wrong[rank]) < 2:
        return None
    for said, other in _permutations(e.wanted(rank), e.size, e.call.count):
        if e.equal(rank, other):
            return f"{e.where(e.wrong[rank])}: {said}"
    if e.call.collective in ("reduce_scatter", "scatter"):
        whole, mine = _whole(e), slice(rank * e.call.count, (rank + 1) * e.call.count)
        for said, other in _permutations(whole, e.size, e.call.count):
            if e.equal(rank, other[mine]):
                return f"{e.where(e.wrong[rank])}: the whole vector is {said}"
    return None


def _whole(e: Evidence) -> Array:
    """All ranks' pieces, one after the other."""
    return np.concatenate([right.wanted for right in e.truths if right is not None])


def _permutations(wanted: Array, size: int, count: int) -> Iterator[tuple[str, Array]]:
    if wanted.size < 2:
        return
    yield "in reverse order", wanted[::-1]
    if wanted.size == size * count:
        yield "block by block in reverse order", wanted.reshape(size, -1)[:, ::-1].ravel()
    for by in range(1, min(4, wanted.size)):
        yield f"shifted: element i holds element i + {by}", np.roll(wanted, -by)
        yield f"shifted: element i holds element i - {by}", np.roll(wanted, by)
    yield "in halves that have changed places", np.roll(wanted, -(wanted.size // 2))
    for rows in {2, 3, 4, 5, 7, 8, size}:
        if wanted.size % rows == 0 and wanted.size > rows:
            yield f"in storage order of a {rows}-row transpose", wanted.reshape(rows, -1).T.ravel()
            yield (
                f"in storage order of a {rows}-column transpose",
                wanted.reshape(-1, rows).T.ravel(),
            )


def shifted_over_the_end(e: Evidence, rank: int) -> str | None:
    """All elements one or a few places off, but for those at the end."""
    got, wanted = e.got(rank), e.wanted(rank)
    for by in range(1, min(4, wanted.size - 4)):
        if _bits(got[:-by]) == _bits(wanted[by:]):
            return f"shifted: element i holds element i + {by}, the last what lies behind the end"
        if _bits(got[by:]) == _bits(wanted[:-by]):
            return f"shifted: element i holds element i - {by}, the first what lies before it"
    return None


def _bits(values: Array) -> bytes:
    return values.tobytes()


def elsewhere(e: Evidence, rank: int) -> str | None:
    """Right values of other places of the whole vector, each of which occurs once there."""
    many = e.call.collective in ("reduce_scatter", "scatter")
    whole = _whole(e) if many else e.wanted(rank)
    values, firsts = np.unique(whole, return_index=True)
    if len(values) < 8 or len(values) < 0.9 * whole.size:
        return None
    if _density(values) ** len(e.wrong[rank]) > _CHANCE:
        return None
    at = {value.tobytes(): int(first) for value, first in zip(values, firsts, strict=True)}
    places = e.wrong[rank]
    if not many:  # right ones need not be rounded as the exact result is
        at.update({e.got(rank)[place].tobytes(): int(place) for place in e.right(rank)})
    found = [at.get(value.tobytes()) for value in e.got(rank)[places]]
    if None in found:
        return None
    own = rank * e.call.count if many else 0
    said = [f"{own + place} holds {f}" for place, f in zip(places[:4], found[:4], strict=True)]
    return f"{e.where(places)}: right values of other elements: {', '.join(said)}, ..."


_CHANCE = 1e-3
"""That all wrong values are right ones of other elements by chance may be no more likely."""


def _density(values: Array) -> float:
    """Of all numbers from the least to the greatest of these, how many are among them."""
    if kind(values.dtype) == "i":
        return len(values) / (int(values[-1]) - int(values[0]) + 1)
    if kind(values.dtype) != "f" or not np.isfinite(values.astype(np.float64)).all():
        return 0.0  # of so many numbers no few ones occur by chance
    ends = values[[0, -1]]
    numbers = int(np.ptp(ordinals(ends))) + 1
    if (values == np.rint(values)).all():
        numbers = min(numbers, int(np.ptp(ends.astype(np.float64))) + 1)
    return len(values) / numbers


MOVEMENTS: Sequence[Callable[[Evidence, int], str | None]] = (
    other_piece, one_input, moved_blocks, whose_block, permuted, shifted_over_the_end,
)  # fmt: skip
