"""A schedule that is the same on every rank but for a turn, found by running it once.

``ring(rank, size)`` uses its rank only in ``(rank + 1) % size`` and the like.  Run on a
*symbolic* rank, which can do that and nothing else, it gives the schedule of all ranks at
once: where it asks anything more of its rank (its parity, whether it is 0), running it
fails, and it is not uniform.  So this is no guess from some ranks: it holds for all (unless
the schedule looks at the type of its rank, for which there is no honest reason).

Ranks and chunks are offsets from one's own rank, modulo N.  Rank r's chunk r + j is its
*row* j.  What rank r sends from row s goes to rank r + d, and stands there in row s - d: it is
still the same chunk.  Such a program is proved with one rank's rows instead of N ranks'
chunks, and simulated with one array operation a row for all ranks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from refcoll.interpreters.any_rank import AnyRank, NotUniformError
from refcoll.programs import Program
from refcoll.schedule import Copy, Send, indices, peer

COLLECTIVES = frozenset({"all_reduce", "reduce_scatter", "all_gather"})
"""Those that ask the same of every rank but for a turn, of chunks that are one a rank."""
MANY = 16
"""From so many ranks on it pays to look whether a schedule is uniform."""


@dataclass(frozen=True, slots=True)
class Move:
    """One message of every rank r: from r to r + ``distance``."""

    distance: int
    """1 to N - 1."""
    rows: tuple[int, ...]
    """Where the chunks stand on the receiver."""
    merges: bool
    on_left: bool | None
    """Where the incoming operand goes; None: left where the sender is the lower rank."""
    place: int
    """The send's position among the sends of its step."""

    def sent(self, size: int) -> tuple[int, ...]:
        """Where they stand on the sender."""
        return tuple((row + self.distance) % size for row in self.rows)


@lru_cache(maxsize=8)
def uniform(program: Program) -> tuple[tuple[Move, ...], ...] | None:
    """The steps of a uniform program, each in the receiver's order of writing; else None.

    None too for programs that this form has no room for: with scratch, roots, helpers, or
    ends of messages that do not match step by step.
    """
    plain = program.areas == 1 and not program.helpers and program.root == 0
    if program.steps is None or not plain or program.size < 2:
        return None
    if program.collective.name not in COLLECTIVES or program.chunks != program.size:
        return None
    steps = []
    try:
        rank: Any = AnyRank(0, program.size)
        for step in program.steps(rank):
            moves = tuple(_moves(step, program.size))
            if moves and not _legal(moves, program.size):
                return None
            if moves:
                steps.append(moves)
    except Exception:  # whatever a schedule may do that a symbol cannot
        return None
    return tuple(steps)


def _moves(step: Any, size: int) -> Iterator[Move]:
    """The k-th send over each distance with the k-th receive from there."""
    sends: dict[int, list[tuple[int, tuple[int, ...]]]] = {}
    place = 0
    for action in step:
        if isinstance(action, Send):
            sends.setdefault(_offset(peer(action), size), []).append((place, _rows(action, size)))
            place += 1
    for action in step:
        if not isinstance(action, Send):
            distance = -_offset(peer(action), size) % size
            matching = sends.get(distance)
            if not distance or not matching:
                raise NotUniformError
            at, sent = matching.pop(0)
            copies = isinstance(action, Copy)
            side = None if copies or action.incoming is None else action.incoming == "left"
            move = Move(distance, _rows(action, size), not copies, side, at)
            if move.sent(size) != sent:
                raise NotUniformError
            yield move
    if any(sends.values()):
        raise NotUniformError


def _rows(action: Any, size: int) -> tuple[int, ...]:
    chunks = action.chunks
    each = (chunks,) if isinstance(chunks, AnyRank) else indices(chunks)
    return tuple(_offset(chunk, size) for chunk in each)


def _offset(place: Any, size: int) -> int:
    if not isinstance(place, AnyRank) or not 0 <= place.offset < size:
        raise NotUniformError
    return place.offset


def _legal(moves: tuple[Move, ...], size: int) -> bool:
    """No race: nothing is copied into what is sent, or written again after a copy."""
    sent = {row for move in moves for row in move.sent(size)}
    written: set[int] = set()
    for move in moves:
        if len(set(move.rows)) < len(move.rows):
            return False
        if not move.merges and not (sent | written).isdisjoint(move.rows):
            return False
        written.update(move.rows)
    return True
