"""What each collective must achieve: who starts with what, and who must end with what.

A *contribution* of a chunk is a rank.  Before, each chunk on each rank holds one
contribution or nothing; after, it must hold exactly a given set of them, each once.
``owner(chunk)`` is the rank whose chunk it is in the collectives that scatter or gather.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from refcoll.errors import ArgumentError

Contributors: TypeAlias = frozenset[int] | None
"""The ranks that a chunk holds, or None where it holds, or may hold, anything."""


@dataclass(frozen=True)
class Collective:
    """One collective: its pre- and post-condition and the least traffic it can do with.

    ``before(rank, owner, root)``         the rank that a chunk starts with there, or None
    ``after(rank, owner, root, size)``    the contributors it must end with there, or None
    ``least(size, lengths)``              elements that some rank must send, and that some
                                          rank must receive, where ranks alone do arithmetic
                                          and nothing is compressed, coded or multicast
    """

    name: str
    reduces: bool
    rooted: bool
    scattered: bool
    """Whether chunk r is rank r's, so that there are as many chunks as ranks."""
    before: Callable[[int, int, int], int | None]
    after: Callable[[int, int, int, int], Contributors]
    least: Callable[[int, Sequence[int]], Fraction]
    synchronises: bool = False
    """Whether every rank must have heard of every other by the end."""


def _everyone(size: int) -> frozenset[int]:
    return frozenset(range(size))


def _moved_once(size: int, lengths: Sequence[int]) -> Fraction:
    """(N - 1) n / N: of N ranks that each lack all but a share, one lacks no less."""
    return Fraction((size - 1) * sum(lengths), size)


def _moved_twice(size: int, lengths: Sequence[int]) -> Fraction:
    """2 (N - 1) n / N: Patarasuk and Yuan, Bandwidth optimal all-reduce algorithms (2009)."""
    return 2 * _moved_once(size, lengths)


def _whole(size: int, lengths: Sequence[int]) -> Fraction:
    """n: the root must send, or receive, all of it at least once."""
    return Fraction(sum(lengths) if size > 1 else 0)


def _nothing(size: int, lengths: Sequence[int]) -> Fraction:
    return Fraction(0)


_ALL = (
    Collective(
        "all_reduce",
        reduces=True,
        rooted=False,
        scattered=False,
        before=lambda rank, owner, root: rank,
        after=lambda rank, owner, root, size: _everyone(size),
        least=_moved_twice,
    ),
    Collective(
        "reduce_scatter",
        reduces=True,
        rooted=False,
        scattered=True,
        before=lambda rank, owner, root: rank,
        after=lambda rank, owner, root, size: _everyone(size) if rank == owner else None,
        least=_moved_once,
    ),
    Collective(
        "all_gather",
        reduces=False,
        rooted=False,
        scattered=True,
        before=lambda rank, owner, root: rank if rank == owner else None,
        after=lambda rank, owner, root, size: frozenset({owner}),
        least=_moved_once,
    ),
    Collective(
        "broadcast",
        reduces=False,
        rooted=True,
        scattered=False,
        before=lambda rank, owner, root: root if rank == root else None,
        after=lambda rank, owner, root, size: frozenset({root}),
        least=_whole,
    ),
    Collective(
        "reduce",
        reduces=True,
        rooted=True,
        scattered=False,
        before=lambda rank, owner, root: rank,
        after=lambda rank, owner, root, size: _everyone(size) if rank == root else None,
        least=_whole,
    ),
    Collective(
        "barrier",
        reduces=False,
        rooted=False,
        scattered=False,
        before=lambda rank, owner, root: None,
        after=lambda rank, owner, root, size: None,
        least=_nothing,
        synchronises=True,
    ),
)

COLLECTIVES = {collective.name: collective for collective in _ALL}


def collective(name: str) -> Collective:
    """The collective of that name.  Raises ArgumentError for any other."""
    if not isinstance(name, str) or name not in COLLECTIVES:
        raise ArgumentError(
            f"collective={name!r} does not exist; there are {', '.join(COLLECTIVES)}"
        )
    return COLLECTIVES[name]


def checked_root(kind: Collective, root: int, size: int) -> int:
    """The root.  Raises ArgumentError where it is no rank, or the collective has none."""
    if not kind.rooted and root != 0:
        raise ArgumentError(f"root={root} has no meaning for {kind.name}: leave it out")
    if not 0 <= root < size:
        raise ArgumentError(f"root={root} must be a rank from 0 to {size - 1}")
    return root
