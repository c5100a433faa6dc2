"""What each collective must achieve: who starts with what, and who must end with what.

A *contribution* of a chunk is a rank.  Before, each chunk on each rank holds one
contribution or nothing; after, it must hold exactly a given set of them, each once.
``owner(chunk)`` is the rank whose chunk it is in the collectives that scatter or gather.
Chunk c of the result is made of contributions to chunk c, but in an all-to-all, where chunk
s of rank r's result is chunk r of rank s's input.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache
from typing import TypeAlias

from refcoll.errors import ArgumentError

Contributors: TypeAlias = frozenset[int] | None
"""The ranks that a chunk holds, or None where it holds, or may hold, anything."""
Least: TypeAlias = tuple[Fraction, Fraction]
"""Elements that some rank must send, and that some rank must receive, where ranks alone do
arithmetic and nothing is compressed, coded or multicast."""


@dataclass(frozen=True, kw_only=True)
class Collective:
    """One collective: its pre- and post-condition and the least traffic it can do with.

    ``before(rank, owner, root)``         the rank that a chunk starts with there, or None
    ``after(rank, owner, root, size)``    the contributors it must end with there, or None
    ``least(size, lengths, root)``        what some rank must send, and some rank receive
    """

    name: str
    reduces: bool = False
    rooted: bool = False
    scattered: bool = False
    """Whether chunk r is rank r's, so that there are as many chunks as ranks."""
    transposes: bool = False
    """Whether chunk s of rank r's result is chunk r of rank s's input: all chunks are alike
    in length."""
    synchronises: bool = False
    """Whether every rank must have heard of every other by the end."""
    before: Callable[[int, int, int], int | None]
    after: Callable[[int, int, int, int], Contributors]
    least: Callable[[int, Sequence[int], int], Least]

    def least_rounds(self, size: int) -> int:
        """ceil(log2 N): in a round of one message out and one in, those heard of can double.

        Every collective here has some rank that must hear of all N, or be heard of by all.
        """
        return (size - 1).bit_length()


@cache
@lru_cache(maxsize=4)
def _first(ranks: int) -> frozenset[int]:
    return frozenset(range(ranks))


def _own(rank: int, owner: int, root: int) -> int | None:
    return rank


def _if_owned(rank: int, owner: int, root: int) -> int | None:
    return rank if rank == owner else None


def _if_root(rank: int, owner: int, root: int) -> int | None:
    return root if rank == root else None


def _moved_once(size: int, lengths: Sequence[int], root: int) -> Least:
    """(N - 1) n / N: of N ranks that each lack all but a share, one lacks no less."""
    share = Fraction((size - 1) * sum(lengths), size)
    return share, share


def _moved_twice(size: int, lengths: Sequence[int], root: int) -> Least:
    """2 (N - 1) n / N: Patarasuk and Yuan, Bandwidth optimal all-reduce algorithms (2009)."""
    share = Fraction(2 * (size - 1) * sum(lengths), size)
    return share, share


def _whole(size: int, lengths: Sequence[int], root: int) -> Least:
    """n: some rank (a root, or the last but one) must send, and some receive, all of it."""
    whole = Fraction(sum(lengths) if size > 1 else 0)
    return whole, whole


def _to_root(size: int, lengths: Sequence[int], root: int) -> Least:
    """The root must receive all but its own chunk; the longest of the rest must be sent."""
    others = [*lengths[:root], *lengths[root + 1 :]]
    return Fraction(max(others, default=0)), Fraction(sum(others))


def _from_root(size: int, lengths: Sequence[int], root: int) -> Least:
    received, sent = _to_root(size, lengths, root)
    return sent, received


def _nothing(size: int, lengths: Sequence[int], root: int) -> Least:
    return Fraction(0), Fraction(0)


_ALL = (
    Collective(
        name="all_reduce",
        reduces=True,
        before=_own,
        after=lambda rank, owner, root, size: _first(size),
        least=_moved_twice,
    ),
    Collective(
        name="reduce_scatter",
        reduces=True,
        scattered=True,
        before=_own,
        after=lambda rank, owner, root, size: _first(size) if rank == owner else None,
        least=_moved_once,
    ),
    Collective(
        name="all_gather",
        scattered=True,
        before=_if_owned,
        after=lambda rank, owner, root, size: frozenset({owner}),
        least=_moved_once,
    ),
    Collective(
        name="broadcast",
        rooted=True,
        before=_if_root,
        after=lambda rank, owner, root, size: frozenset({root}),
        least=_whole,
    ),
    Collective(
        name="reduce",
        reduces=True,
        rooted=True,
        before=_own,
        after=lambda rank, owner, root, size: _first(size) if rank == root else None,
        least=_whole,
    ),
    Collective(
        name="scatter",
        rooted=True,
        scattered=True,
        before=_if_root,
        after=lambda rank, owner, root, size: frozenset({root}) if rank == owner else None,
        least=_from_root,
    ),
    Collective(
        name="gather",
        rooted=True,
        scattered=True,
        before=_if_owned,
        after=lambda rank, owner, root, size: frozenset({owner}) if rank == root else None,
        least=_to_root,
    ),
    Collective(
        name="all_to_all",
        scattered=True,
        transposes=True,
        before=_own,
        after=lambda rank, owner, root, size: frozenset({owner}),
        least=_moved_once,
    ),
    Collective(
        name="scan",
        reduces=True,
        before=_own,
        after=lambda rank, owner, root, size: _first(rank + 1),
        least=_whole,
    ),
    Collective(
        name="exscan",
        reduces=True,
        before=_own,
        after=lambda rank, owner, root, size: _first(rank) if rank else None,
        least=_whole,
    ),
    Collective(
        name="barrier",
        synchronises=True,
        before=lambda rank, owner, root: None,
        after=lambda rank, owner, root, size: None,
        least=_nothing,
    ),
)

COLLECTIVES = {collective.name: collective for collective in _ALL}


def collective(name: str) -> Collective:
    """The collective of that name.  Raises ArgumentError for any other."""
    if not isinstance(name, str) or name not in COLLECTIVES:
        raise ArgumentError(
            f"collective={name!r:.80} does not exist; there are {', '.join(COLLECTIVES)}"
        )
    return COLLECTIVES[name]


def checked_root(kind: Collective, root: int, size: int) -> int:
    """The root.  Raises ArgumentError where it is no rank, or the collective has none."""
    if not kind.rooted and root != 0:
        raise ArgumentError(f"root={root} has no meaning for {kind.name}: leave it out")
    if not 0 <= root < size:
        raise ArgumentError(f"root={root} must be a rank from 0 to {size - 1}")
    return root
