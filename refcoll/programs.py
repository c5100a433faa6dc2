"""A program: a collective, and what every rank does for it.

Interpreters read programs.  The registry makes them from algorithms; anything else that
can give one graph a rank (a foreign schedule file, a hand-written list of steps) can too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from refcoll.chunks import Layout, balanced, proportional
from refcoll.collectives import Collective, checked_root
from refcoll.collectives import collective as find_collective
from refcoll.errors import ArgumentError
from refcoll.graph import Graph, chained
from refcoll.schedule import Action, Step


@dataclass(frozen=True)
class Claims:
    """What a program says it costs; see ``refcoll.algorithms.declaration.Algorithm``."""

    steps: Callable[[int], int]
    depth: int
    sent: Callable[[int, Sequence[int]], int]
    received: Callable[[int, Sequence[int]], int]
    in_rank_order: bool


@dataclass(frozen=True, eq=False)
class Program:
    """What each of ``size`` ranks, and ``helpers`` more, does to achieve ``collective``.

    ``graph(rank)`` gives what a rank does; ``chunks`` is how many chunks its vector has.
    """

    name: str
    collective: Collective
    size: int
    graph: Callable[[int], Graph]
    chunks: int
    root: int = 0
    helpers: int = 0
    areas: int = 1
    """Areas of ``chunks`` chunks in a rank's memory: its vector, and any scratch."""
    weights: tuple[int, ...] | None = None
    idea: str = ""
    """The algorithm in one sentence."""
    nodes: Sequence[Sequence[int]] = ()
    """Which ranks share a node, where the program depends on it."""
    claims: Claims | None = None

    @property
    def ranks(self) -> int:
        """All ranks, helpers included; those from ``size`` on own no input or output."""
        return self.size + self.helpers

    @cached_property
    def graphs(self) -> tuple[Graph, ...]:
        """What every rank does."""
        return tuple(self.graph(rank) for rank in range(self.ranks))

    def __repr__(self) -> str:
        return f"<Program {self.title}>"

    @property
    def title(self) -> str:
        """The program in words, for messages."""
        ranks = "1 rank" if self.size == 1 else f"{self.size} ranks"
        return f"{self.collective.name} by {self.name} on {ranks}"

    def layout(self, count: int) -> Layout:
        """How a vector of ``count`` elements is cut for this program."""
        if self.weights is not None and len(set(self.weights)) > 1:
            return proportional(count, self.weights)
        return balanced(count, self.chunks)

    def owner(self, chunk: int) -> int:
        """Whose chunk it is, in a collective that scatters or gathers; else nobody's, -1."""
        return chunk if self.collective.scattered else -1

    def before(self, rank: int, chunk: int) -> int | None:
        """The rank whose contribution ``chunk`` holds on ``rank`` at the start, if any."""
        if rank >= self.size:
            return None
        return self.collective.before(rank, self.owner(chunk), self.root)

    def after(self, rank: int, chunk: int) -> frozenset[int] | None:
        """The contributors that ``chunk`` on ``rank`` must end with, if it matters."""
        if rank >= self.size:
            return None
        return self.collective.after(rank, self.owner(chunk), self.root, self.size)


def _checked(steps: Iterable[Step], rank: int) -> Iterator[Step]:
    """The steps, once they are known to be tuples of actions."""
    if not isinstance(steps, Iterable):
        raise ArgumentError(f"steps[{rank}]={steps!r} is no list of steps; call it, if a function")
    for number, step in enumerate(steps, 1):
        if not isinstance(step, tuple) or not all(isinstance(a, Action) for a in step):
            raise ArgumentError(
                f"rank {rank} step {number} is {step!r}; a step is a tuple of Send, Copy and "
                "Reduce, such as (Send(0, 1),) with its comma"
            )
        yield step


def from_steps(
    collective: str,
    steps: Sequence[Iterable[Step]],
    chunks: int,
    *,
    name: str = "your steps",
    root: int = 0,
    helpers: int = 0,
    areas: int = 1,
) -> Program:
    """A program from one list of steps a rank: your own algorithm, to check or simulate.

    ``steps`` has the ``helpers``, who own no input and output, last; ``areas`` is 1 plus
    the areas of scratch.  Raises ArgumentError where collective, chunks or root make no
    sense for so many ranks.
    """
    graphs = tuple(chained(_checked(each, rank)) for rank, each in enumerate(steps))
    kind, size = find_collective(collective), len(graphs) - helpers
    checked_root(kind, root, size)
    if chunks < 1 or (kind.scattered and chunks != size):
        wanted = f"{size}, one a rank" if kind.scattered else "at least 1"
        raise ArgumentError(f"chunks={chunks} must be {wanted}, for {collective} on {size} ranks")
    return Program(
        name, kind, size, graphs.__getitem__, chunks, root=root, helpers=helpers, areas=areas
    )
