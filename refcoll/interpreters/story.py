"""A program told step by step: what each rank does, and what it then holds.

Chunks are letters, contributors are rank numbers, as in ``draw``.
"""

from __future__ import annotations

from collections.abc import Sequence

from refcoll.interpreters.delivery import Finished
from refcoll.interpreters.expression import Expression
from refcoll.interpreters.replay import Symbols, replay
from refcoll.programs import Program
from refcoll.schedule import Action, Chunks, Copy, Send, indices, remote
from refcoll.words import spans

_LETTERS = "abcdefghijklmnopqrstuvwxyz"
SHOWN = 16
"""Chunks, or links, that a sentence names."""
_ONE_DIGIT = 10
"""Up to so many ranks are written side by side, more as spans."""


class Story:
    """What the ranks do in each step, and what they hold after it."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.symbols = Symbols(program)
        self.held = [self._holds(rank) for rank in range(program.ranks)]
        self.after: dict[tuple[int, int], list[str]] = {}
        for event in replay(program, self.symbols):
            if isinstance(event, Finished):
                number = program.graphs[event.rank][event.node].number
                self.after[event.rank, number] = self._holds(event.rank)
        self.numbers = numbers(program)

    def _holds(self, rank: int) -> list[str]:
        return [
            f"{name_of(c, self.program)}{self._content(rank, c, value)}"
            for c, value in sorted(self.symbols.memory[rank].items())
        ]

    def _content(self, rank: int, index: int, value: Expression) -> str:
        program = self.program
        area, chunk = divmod(index, program.chunks)
        held = sorted(value.contributors().elements())
        wanted = program.after(rank, chunk) if area == program.result_area else None
        right_chunk = value.chunk == program.origin(rank, chunk)
        if wanted is not None and right_chunk and held == sorted(wanted):
            return "*"
        which = name_of(value.chunk, program) if program.collective.transposes else ""
        return f":{which}{contributors(held, program)}"

    def finished(self) -> str:
        """Which chunks are finished where by now, in a sentence; empty where too many are."""
        found = [
            f"{chunk[:-1]} on rank {rank}"
            for rank, held in enumerate(self.held)
            for chunk in held
            if chunk.endswith("*")
        ]
        return f"Finished by now: {', '.join(found)}." if 0 < len(found) <= SHOWN else ""

    def start(self) -> list[list[str]]:
        """What each rank holds at the start."""
        return [] if self.program.collective.synchronises else _block("start", self.held)

    def step(self, number: int) -> list[list[str]]:
        """What each rank does, and then what each rank holds, in lines."""
        acts = [
            [_act(a, rank, self.program) for node in graph if node.number == number
             for a in node.actions]
            for rank, graph in enumerate(self.program.graphs)
        ]  # fmt: skip
        self.held = [self.after.get((r, number), held) for r, held in enumerate(self.held)]
        return [*_block(f"step {number + 1}", acts), *self._block_after(number)]

    def _block_after(self, number: int) -> list[list[str]]:
        if self.program.collective.synchronises:
            return []
        return _block(f"after {number + 1}", self.held)


def _act(action: Action, rank: int, program: Program) -> str:
    names = _names(action.chunks, program)
    if isinstance(action, Send):
        return f"{names} -> {action.to if remote(action, rank) else 'me'}"
    source = action.source if remote(action, rank) else "me"
    return f"{names} {'=' if isinstance(action, Copy) else '+='} {source}"


def _names(chunks: Chunks, program: Program) -> str:
    named = indices(chunks)
    if not named:
        return "word"
    if isinstance(named, range) and len(named) > 3:
        return f"{name_of(named[0], program)}..{name_of(named[-1], program)}"
    return ",".join(name_of(i, program) for i in named)


def name_of(chunk: int, program: Program) -> str:
    """A chunk's letter, or number; with a dash for each area beyond the first."""
    area, place = divmod(chunk, program.chunks)
    letter = _LETTERS[place] if program.chunks <= len(_LETTERS) else f"c{place}"
    return letter + "'" * area


def contributors(ranks: Sequence[int], program: Program) -> str:
    """As in "0125" or, where ranks may have two digits, "0-2,5"."""
    if program.ranks <= _ONE_DIGIT:
        return "".join(map(str, ranks))
    return spans(ranks).replace(" ", "")


def _block(title: str, cells: Sequence[Sequence[str]]) -> list[list[str]]:
    """One table row per line of the fullest cell, at least one; the title before the first."""
    height = max([1, *(len(cell) for cell in cells)])
    return [
        [title if line == 0 else "", *(cell[line] if line < len(cell) else "" for cell in cells)]
        for line in range(height)
    ]


def numbers(program: Program) -> list[int]:
    """The numbers of all steps in which some rank does something."""
    return sorted({node.number for graph in program.graphs for node in graph})
