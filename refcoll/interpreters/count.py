"""Count steps, messages and elements, from the schedule alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil

from refcoll.chunks import Layout, runs
from refcoll.graph import Graph
from refcoll.interpreters.clock import Rates, finish_times
from refcoll.programs import Program
from refcoll.schedule import Send, indices, reduced_chunks, remote


@dataclass
class RankCounts:
    """What one rank does.  Elements and messages are those that cross to another rank."""

    steps: int = 0
    """Steps that hold a message to or from another rank."""
    messages_sent: int = 0
    messages_received: int = 0
    sent: int = 0
    """Elements."""
    received: int = 0
    """Elements."""
    staged: int = 0
    """Elements sent from a copy, since the same step reduces into them."""
    packed: int = 0
    """Elements of messages whose chunks are not neighbours in memory."""


@dataclass
class Counts:
    """What a program costs for a vector of ``layout.count`` elements."""

    ranks: list[RankCounts]
    links: Counter[tuple[int, int]] = field(default_factory=Counter)
    """Elements that go from the first rank to the second."""
    depth: int = 0
    """The longest chain of dependent messages: latency where a rank has several ports."""
    rounds: int = 0
    """Rounds at one send and one receive a rank a round, in the schedule's own order."""
    least: Fraction = Fraction(0)
    """Elements that some rank must send, and some rank receive, in any schedule."""

    @property
    def steps(self) -> int:
        """The most steps that any rank takes."""
        return max(rank.steps for rank in self.ranks)

    @property
    def sent(self) -> int:
        """The most elements that any rank sends."""
        return max(rank.sent for rank in self.ranks)

    @property
    def received(self) -> int:
        """The most elements that any rank receives."""
        return max(rank.received for rank in self.ranks)

    @property
    def bandwidth_optimal(self) -> bool:
        """Whether the busiest rank sends and receives what some rank must, in whole elements."""
        return max(self.sent, self.received) == ceil(self.least)


def count(program: Program, elements: int | Layout) -> Counts:
    """Count ``program`` on a vector of ``elements``, or cut as the given layout says.

    Raises a ScheduleError where sends and receives do not match.
    """
    layout = elements if isinstance(elements, Layout) else program.layout(elements)
    counts = Counts([RankCounts() for _ in program.graphs])
    for rank, graph in enumerate(program.graphs):
        _count_rank(rank, graph, layout, counts)
    counts.depth = _last(program, layout, Rates(alpha=1))
    counts.rounds = _last(program, layout, Rates(alpha=1, ports="one"))
    counts.least = program.collective.least(program.size, layout.lengths)
    return counts


def _last(program: Program, layout: Layout, rates: Rates) -> int:
    return int(max(finish_times(program, layout, rates)))


def _count_rank(rank: int, graph: Graph, layout: Layout, counts: Counts) -> None:
    mine = counts.ranks[rank]
    for node in graph:
        messages = [action for action in node.actions if remote(action, rank)]
        mine.steps += bool(messages)
        reduced = reduced_chunks(node.actions)
        for action in messages:
            named = indices(action.chunks)
            size = _elements(named, layout)
            if len(runs(named)) > 1:
                mine.packed += size
            if isinstance(action, Send):
                mine.messages_sent += 1
                mine.sent += size
                counts.links[rank, action.to] += size
                mine.staged += size if reduced.intersection(named) else 0
            else:
                mine.messages_received += 1
                mine.received += size


def _elements(named: Sequence[int], layout: Layout) -> int:
    return sum(layout.length(i) for i in named)
