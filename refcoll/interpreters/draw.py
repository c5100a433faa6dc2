"""Draw a program as text: which chunk goes where in each step, and what each rank then holds.

Chunks are letters, contributors are rank numbers: ``b:013`` is chunk b with the sum of the
ranks 0, 1 and 3, ``b*`` is chunk b, finished: all that the collective wants in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from refcoll.interpreters.delivery import Finished
from refcoll.interpreters.expression import Expression
from refcoll.interpreters.replay import Symbols, replay
from refcoll.program import Program
from refcoll.schedule import Action, Chunks, Copy, Send, indices, remote

_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def draw(program: Program) -> str:
    """The story of a program, step by step, as a table of steps x ranks.

    Raises a ScheduleError where sends and receives do not match.
    """
    story = _Story(program)
    header = ["", *(_rank_name(program, rank) for rank in range(program.ranks))]
    rows: list[list[str] | None] = [header, None, *story.start()]
    for number in story.numbers:
        rows += [None, *story.step(number)]
    return "\n".join([*_legend(program), "", *_table(rows)])


def _rank_name(program: Program, rank: int) -> str:
    return f"rank {rank}" if rank < program.size else f"helper {rank}"


def _legend(program: Program) -> Iterator[str]:
    yield f"{program.title}: the vector is cut into {program.chunks} chunks"
    if program.collective.synchronises:
        yield "Messages are empty: all that travels is the word that a rank has come this far."
        return
    first = _name(0, program)
    yield (
        f"{first}:0 is chunk {first} as rank 0 had it at the start; {first}:013 is the "
        f"{'sum' if program.collective.reduces else 'value'} of ranks 0, 1 and 3; "
        f"{first}* is the finished chunk"
    )
    yield (
        f"{first} -> 1: I send chunk {first} to rank 1;   {first} += 3: I add what rank 3 sends;   "
        f"{first} = 3: I take what rank 3 sends"
    )


class _Story:
    """What the ranks hold after each step, by the steps' numbers."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.symbols = Symbols(program)
        self.before = [self._held(rank) for rank in range(program.ranks)]
        self.after: dict[tuple[int, int], list[str]] = {}
        for event in replay(program, self.symbols):
            if isinstance(event, Finished):
                number = program.graphs[event.rank][event.node].number
                self.after[event.rank, number] = self._held(event.rank)
        self.numbers = sorted({node.number for graph in program.graphs for node in graph})

    def _held(self, rank: int) -> list[str]:
        return [
            f"{_name(c, self.program)}{self._content(rank, c, value)}"
            for c, value in sorted(self.symbols.memory[rank].items())
        ]

    def _content(self, rank: int, chunk: int, value: Expression) -> str:
        wanted = self.program.after(rank, chunk)
        held = sorted(value.contributors().elements())
        if wanted is not None and held == sorted(wanted):
            return "*"
        small = self.program.ranks <= 10
        return ":" + ("" if small else ",").join(str(who) for who in held)

    def start(self) -> list[list[str]]:
        return _block("start", self.before)

    def step(self, number: int) -> list[list[str]]:
        """Two blocks of lines: what each rank does, and what it holds afterwards."""
        acts: list[list[str]] = []
        for rank, graph in enumerate(self.program.graphs):
            actions = [action for node in graph if node.number == number for action in node.actions]
            acts.append([_act(action, rank, self.program) for action in actions])
            if (rank, number) in self.after:
                self.before[rank] = self.after[rank, number]
        held = [] if self.program.collective.synchronises else _block("", self.before)
        return [*_block(f"step {number + 1}", acts), *held]


def _act(action: Action, rank: int, program: Program) -> str:
    names = _names(action.chunks, program)
    if not remote(action, rank):
        return f"{names} (within)"
    if isinstance(action, Send):
        return f"{names} -> {action.to}"
    return f"{names} {'=' if isinstance(action, Copy) else '+='} {action.source}"


def _names(chunks: Chunks, program: Program) -> str:
    named = indices(chunks)
    if not named:
        return "word"
    if isinstance(named, range) and len(named) > 3:
        return f"{_name(named[0], program)}..{_name(named[-1], program)}"
    return ",".join(_name(i, program) for i in named)


def _name(chunk: int, program: Program) -> str:
    return _LETTERS[chunk] if program.areas * program.chunks <= len(_LETTERS) else f"c{chunk}"


def _block(title: str, cells: Sequence[Sequence[str]]) -> list[list[str]]:
    """One table row per line of the fullest cell; at least one."""
    height = max([1, *(len(cell) for cell in cells)])
    return [
        [title if line == 0 else "", *(cell[line] if line < len(cell) else "" for cell in cells)]
        for line in range(height)
    ]


def _table(rows: Sequence[Sequence[str] | None]) -> Iterator[str]:
    """The rows, columns aligned; None is a rule."""
    filled = [row for row in rows if row is not None]
    widths = [max(len(cell) for cell in column) for column in zip(*filled, strict=True)]
    for row in rows:
        if row is None:
            yield "-+-".join("-" * width for width in widths)
        else:
            cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            yield " | ".join(cells).rstrip()
