"""An aligned program as arrays: what lets a million actions be counted and proved at once.

In an aligned program both ends of every message have the same step number, so all ranks can
be played in lockstep: round t is step t of every rank.  Nothing waits for anything but the
round before, whatever a channel holds.  A round is kept as columns, one row a message, and
the chunks of all its messages one after another.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import zip_longest
from typing import Any, TypeAlias

import numpy as np

from refcoll.programs import Program
from refcoll.schedule import IDLE, Copy, Send, Step, incoming_goes_left

Ints: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]
Bools: TypeAlias = np.ndarray[Any, np.dtype[np.bool_]]


@dataclass(frozen=True, eq=False)
class Round:
    """Step t of every rank.  Messages stand in the receiver's order of writing."""

    source: Ints
    to: Ints
    place: Ints
    """The send's position among the sends of its step."""
    reduces: Bools
    on_left: Bools
    """Whether the incoming operand goes left, where it reduces."""
    row: Ints
    """Per chunk: its message."""
    sent: Ints
    """Per chunk: its index on the sender."""
    written: Ints
    """Per chunk: its index on the receiver."""

    @property
    def remote(self) -> Bools:
        """Which messages go to another rank."""
        return np.asarray(self.source != self.to)


class _Ends:
    """One kind of action of a round, column by column."""

    def __init__(self) -> None:
        self.rank: list[int] = []
        self.peer: list[int] = []
        self.chunks: list[int] = []
        self.lengths: list[int] = []

    def add(self, rank: int, peer: int, chunks: Any) -> None:
        self.rank.append(rank)
        self.peer.append(peer)
        if isinstance(chunks, int):
            self.chunks.append(chunks)
            self.lengths.append(1)
        else:
            self.chunks.extend(chunks)
            self.lengths.append(len(chunks))


_KEPT = 8
"""Tables that are kept, of the programs last asked for."""


@lru_cache(maxsize=_KEPT)
def table(program: Program) -> tuple[Round, ...] | None:
    """The rounds of an aligned program; None where the ends of some message do not match.

    Ranks and chunks out of bounds are for the reader to refuse.
    """
    if program.steps is None:
        return None
    rounds: list[Round] = []
    ranks = range(program.ranks)
    for steps in zip_longest(*(program.steps(rank) for rank in ranks), fillvalue=IDLE):
        try:
            made = _round(steps, program.ranks)
        except OverflowError:
            return None
        if made is None:
            return None
        if made.source.size:
            rounds.append(made)
    return tuple(rounds)


def _round(steps: Sequence[Step], ranks: int) -> Round | None:
    sends, receives = _Ends(), _Ends()
    places: list[int] = []
    reduces: list[bool] = []
    left: list[bool] = []
    for rank, step in enumerate(steps):
        place = 0
        for action in step:
            if isinstance(action, Send):
                sends.add(rank, action.to, action.chunks)
                places.append(place)
                place += 1
            else:
                receives.add(rank, action.source, action.chunks)
                merging = not isinstance(action, Copy)
                reduces.append(merging)
                left.append(merging and incoming_goes_left(action, rank))  # type: ignore[arg-type]
    return _matched(sends, receives, places, reduces, left, ranks)


def _matched(
    sends: _Ends,
    receives: _Ends,
    places: list[int],
    reduces: list[bool],
    left: list[bool],
    ranks: int,
) -> Round | None:
    """The k-th send a -> b of the round with the k-th receive at b from a, if they all fit."""
    to, source = np.array(receives.rank, np.int64), np.array(receives.peer, np.int64)
    which = _meeting(sends, to, source, ranks)
    lengths = np.array(sends.lengths, np.int64)
    if which is None or not np.array_equal(lengths[which], receives.lengths):
        return None
    row, within = _rows(lengths[which])
    starts = np.cumsum(lengths) - lengths
    return Round(
        source=source,
        to=to,
        place=np.array(places, np.int64)[which],
        reduces=np.array(reduces, np.bool_),
        on_left=np.array(left, np.bool_),
        row=row,
        sent=np.array(sends.chunks, np.int64)[starts[which][row] + within],
        written=np.array(receives.chunks, np.int64),
    )


def _meeting(sends: _Ends, at: Ints, origin: Ints, ranks: int) -> Ints | None:
    """Per receive at ``at`` from ``origin``: the send that it meets; None where one meets none."""
    source, to = np.array(sends.rank, np.int64), np.array(sends.peer, np.int64)
    if source.size != at.size:
        return None
    by_channel = np.argsort(source * ranks + to, kind="stable")
    wanted = np.argsort(origin * ranks + at, kind="stable")
    which = np.empty_like(by_channel)
    which[wanted] = by_channel
    fits = np.array_equal(source[which], origin) and np.array_equal(to[which], at)
    return which if fits else None


def _rows(lengths: Ints) -> tuple[Ints, Ints]:
    """Per chunk of messages of so many chunks each: its message, and its place in it.

    >>> [list(map(int, column)) for column in _rows(np.array([2, 0, 3]))]
    [[0, 0, 2, 2, 2], [0, 1, 0, 1, 2]]
    """
    row = np.repeat(np.arange(lengths.size), lengths)
    return row, np.arange(row.size) - np.repeat(np.cumsum(lengths) - lengths, lengths)


def waves(keys: Ints) -> Iterator[Ints]:
    """Row numbers in groups: first every key's first row, then every key's second, ...

    >>> [list(map(int, wave)) for wave in waves(np.array([5, 7, 5, 5]))]
    [[0, 1], [2], [3]]
    """
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    first = np.concatenate([[True], ordered[1:] != ordered[:-1]]) if keys.size else keys
    starts = np.flatnonzero(first)
    turn = np.arange(keys.size) - np.repeat(starts, np.diff([*starts, keys.size]))
    for number in range(int(turn.max(initial=-1)) + 1):
        yield np.sort(order[turn == number])
