"""A program: a collective, and what every rank does for it.

Interpreters read programs.  The registry makes them from algorithms; anything else that
can give one graph a rank (a foreign schedule file, a hand-written list of steps) can too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from refcoll.chunks import Layout, balanced, proportional
from refcoll.collectives import Collective, Least
from refcoll.errors import ArgumentError
from refcoll.graph import Graph, chained
from refcoll.schedule import Step
from refcoll.times import TimeClaim
from refcoll.topology import Nodes, Topology


@dataclass(frozen=True)
class Claims:
    """What a program says it costs; see ``refcoll.algorithms.declaration.Algorithm``."""

    steps: Callable[[int], int]
    depth: int
    sent: Callable[[int, Sequence[int]], int]
    received: Callable[[int, Sequence[int]], int]
    in_rank_order: bool
    bounds: tuple[str, ...] = ()
    """What is an upper bound, of "steps", "depth", "sent", "received" and "time"."""
    time: TimeClaim | None = None


@dataclass(frozen=True, eq=False)
class Program:
    """What each of ``size`` ranks, and ``helpers`` more, does to achieve ``collective``.

    ``steps(rank)`` gives what a rank does, or ``foreign(rank)`` where that is more than a
    chain of steps; ``chunks`` is how many chunks its vector has.
    """

    name: str
    collective: Collective
    size: int
    steps: Callable[[int], Iterable[Step]] | None
    chunks: int
    foreign: Callable[[int], Graph] | None = None
    root: int = 0
    helpers: int = 0
    areas: int = 1
    """Areas of ``chunks`` chunks in a rank's memory: its vector, and any scratch."""
    result_area: int = 0
    """The area in which the result stands at the end."""
    weights: tuple[int, ...] | None = None
    idea: str = ""
    """The algorithm in one sentence."""
    topology: Topology | None = None
    """Where the ranks are, if that is known."""
    claims: Claims | None = None

    @property
    def ranks(self) -> int:
        """All ranks, helpers included; those from ``size`` on own no input or output."""
        return self.size + self.helpers

    @property
    def nodes(self) -> Nodes:
        """Which ranks share a node; empty if that is not known."""
        return self.topology.nodes if self.topology else ()

    def graph(self, rank: int) -> Graph:
        """What ``rank`` does."""
        if self.steps is not None:
            return chained(self.steps(rank))
        assert self.foreign is not None
        return self.foreign(rank)

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
        """How a vector of ``count`` elements is cut for this program.

        Raises ArgumentError where an all-to-all cannot be cut into equal chunks.
        """
        if self.collective.transposes and count % self.chunks:
            raise ArgumentError(
                f"count={count} must be a multiple of {self.chunks}, one equal chunk for each rank"
            )
        if self.weights is not None and len(set(self.weights)) > 1:
            return proportional(count, self.weights)
        return balanced(count, self.chunks)

    def cut(self, count: int, layout: Layout | None) -> Layout:
        """The given layout, if it can be this program's for ``count`` elements; by default its
        own.  Raises ArgumentError for any other."""
        if layout is None:
            return self.layout(count)
        if not isinstance(layout, Layout):
            raise ArgumentError(
                f"layout={layout!r:.80} is no Layout; program.layout(elements) makes one"
            )
        alike = len(set(layout.lengths)) <= 1 or not self.collective.transposes
        if len(layout.lengths) != self.chunks or layout.count != count or not alike:
            equal = "equal " if self.collective.transposes else ""
            raise ArgumentError(
                f"layout={layout!r:.80} must cut {count} elements into {self.chunks} {equal}chunks"
            )
        return layout

    def whole(self, count: int) -> int:
        """The least number of elements, from ``count`` on, that it can cut."""
        return count + (-count % self.chunks if self.collective.transposes else 0)

    def least(self, lengths: Sequence[int]) -> Least:
        """Elements that some rank must send, and some rank receive, in any schedule."""
        return self.collective.least(self.size, lengths, self.root)

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

    def merged(self, rank: int) -> int:
        """How many ranks' contributions ``rank``'s result holds: what avg divides by."""
        wanted = self.after(rank, rank % self.chunks)
        return len(wanted) if wanted else self.size

    def origin(self, rank: int, chunk: int) -> int:
        """The chunk of the inputs that chunk ``chunk`` of ``rank``'s result is made of."""
        return rank if self.collective.transposes else chunk


def require_program(value: object) -> None:
    """Raise ArgumentError for what is no program."""
    if not isinstance(value, Program):
        raise ArgumentError(
            f"program={value!r:.80} is no Program; refcoll.program(...) makes one of a name, and "
            "refcoll.from_steps(...) one of your own steps"
        )
