"""A uniform program proved right with one rank's rows instead of N ranks' chunks."""

from __future__ import annotations

from dataclasses import dataclass

from refcoll.interpreters.uniform import Move, uniform
from refcoll.programs import Program


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
