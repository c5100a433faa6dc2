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

from refcoll.programs import Program
from refcoll.schedule import Copy, Send, indices, peer

COLLECTIVES = frozenset({"all_reduce", "reduce_scatter", "all_gather"})
"""Those that ask the same of every rank but for a turn, of chunks that are one a rank."""


class _NotUniformError(Exception):
    """The schedule asks something else of its rank."""


class _Rank:
    """Any rank, plus an offset modulo ``size``."""

    __slots__ = ("offset", "size")

    def __init__(self, offset: int, size: int) -> None:
        self.offset, self.size = offset, size

    def __add__(self, other: Any) -> _Rank:
        if type(other) is not int:
            raise _NotUniformError
        return _Rank(self.offset + other, self.size)

    __radd__ = __add__

    def __sub__(self, other: Any) -> _Rank:
        if type(other) is not int:
            raise _NotUniformError
        return _Rank(self.offset - other, self.size)

    def __mod__(self, other: Any) -> _Rank:
        if other != self.size:
            raise _NotUniformError
        return _Rank(self.offset % self.size, self.size)

    def _refuse(self, *_: Any) -> Any:
        raise _NotUniformError

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse
    __hash__ = __index__ = __int__ = __bool__ = __iter__ = _refuse
    __rsub__ = __mul__ = __rmul__ = __rmod__ = __neg__ = __invert__ = _refuse
    __floordiv__ = __truediv__ = __divmod__ = __pow__ = _refuse
    __xor__ = __rxor__ = __and__ = __rand__ = __or__ = __ror__ = _refuse
    __lshift__ = __rshift__ = __rlshift__ = __rrshift__ = _refuse
    __rfloordiv__ = __rtruediv__ = __rdivmod__ = __rpow__ = _refuse


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
        rank: Any = _Rank(0, program.size)
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
                raise _NotUniformError
            at, sent = matching.pop(0)
            copies = isinstance(action, Copy)
            side = None if copies or action.incoming is None else action.incoming == "left"
            move = Move(distance, _rows(action, size), not copies, side, at)
            if move.sent(size) != sent:
                raise _NotUniformError
            yield move
    if any(sends.values()):
        raise _NotUniformError


def _rows(action: Any, size: int) -> tuple[int, ...]:
    chunks = action.chunks
    each = (chunks,) if isinstance(chunks, _Rank) else indices(chunks)
    return tuple(_offset(chunk, size) for chunk in each)


def _offset(place: Any, size: int) -> int:
    if not isinstance(place, _Rank) or not 0 <= place.offset < size:
        raise _NotUniformError
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


# ---- the proof -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class _Value:
    """A chunk's value on its way; one object, one expression."""

    bits: int
    """Its contributors, as offsets from the chunk's number."""
    parts: tuple[_Value, _Value, int, bool | None, int] | None = None
    """(incoming, what was there, the row where they met, its side, the distance it came)."""


def proof(program: Program) -> bool | None:
    """As ``proving.proof``, for a uniform program: whether results are in rank order, if
    the program is right; else, or where that is not told from a few chunks, None."""
    steps = uniform(program)
    if steps is None:
        return None
    size = program.size
    held: list[_Value | None] = [
        None if program.before(0, row) is None else _Value(1 << -row % size) for row in range(size)
    ]
    for moves in steps:
        if not _play(moves, held, size):
            return None
    return _judged(program, held)


def _play(moves: tuple[Move, ...], held: list[_Value | None], size: int) -> bool:
    """One step on the rows of all ranks; whether all that it read was there."""
    read = [[held[row] for row in move.sent(size)] for move in moves]
    for move, values in zip(moves, read, strict=True):
        for row, incoming in zip(move.rows, values, strict=True):
            mine = held[row]
            if incoming is None or (move.merges and mine is None):
                return False
            if not move.merges or mine is None:
                held[row] = incoming
                continue
            if incoming.bits & mine.bits:
                return False
            met = (incoming, mine, row, move.on_left, move.distance)
            held[row] = _Value(incoming.bits | mine.bits, met)
    return True


def _judged(program: Program, held: list[_Value | None]) -> bool | None:
    """Whether what rank 0 ends with is wanted, and every rank's copy is the same value."""
    size = program.size
    finals: dict[int, _Value] = {}
    sets: dict[frozenset[int], int] = {}
    for row, value in enumerate(held):
        wanted = program.after(0, row)
        if wanted is None:
            continue
        if wanted not in sets:
            sets[wanted] = sum(1 << who for who in wanted)
        if value is None or value.bits != _turned(sets[wanted], row, size):
            return None
        finals[id(value)] = value
    if all(value.parts is None for value in finals.values()):
        return True
    if len(finals) > 1:
        return None  # merged more than once: ``proving`` says whether in the same way
    (value,) = finals.values()
    disordered = any(not _in_order(value, chunk, size) for chunk in {0, 1, size // 2, size - 1})
    claims = program.claims
    return None if not disordered or (claims and claims.in_rank_order) else False


def _turned(bits: int, row: int, size: int) -> int:
    """Contributors by number, as offsets from the chunk ``row``."""
    row %= size
    return (bits >> row | bits << (size - row)) & ((1 << size) - 1)


def _in_order(value: _Value, chunk: int, size: int) -> bool:
    """Whether the value of this chunk has its operands in rank order."""
    spans: dict[int, tuple[int, int] | None] = {}
    pending = [value]
    while pending:
        each = pending[-1]
        if each.parts is None:
            rank = (chunk + each.bits.bit_length() - 1) % size
            spans[id(each)] = (rank, rank)
            pending.pop()
            continue
        incoming, mine, row, side, distance = each.parts
        missing = [part for part in (incoming, mine) if id(part) not in spans]
        if missing:
            pending += missing
            continue
        left = (chunk - row - distance) % size < (chunk - row) % size if side is None else side
        pair = (incoming, mine) if left else (mine, incoming)
        first, last = (spans[id(part)] for part in pair)
        ordered = first is not None and last is not None and first[1] < last[0]
        spans[id(each)] = (first[0], last[1]) if ordered and first and last else None
        pending.pop()
    return spans[id(value)] is not None
