"""Count steps, messages and elements, from the schedule alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from fractions import Fraction
from math import ceil

import numpy as np

from refcoll.chunks import Layout, runs
from refcoll.errors import ArgumentError, integer
from refcoll.graph import Graph
from refcoll.interpreters.clock import finish_times
from refcoll.interpreters.fitting import require_fit
from refcoll.interpreters.lockstep import (
    message_sizes,
    require_countable,
    scattered,
    staged,
)
from refcoll.interpreters.table import Round, table
from refcoll.interpreters.turning import Tally
from refcoll.interpreters.uniform import MANY, Move, uniform
from refcoll.programs import Program, require_program
from refcoll.rates import Rates
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
    least_sent: Fraction = Fraction(0)
    """Elements that some rank must send, in any schedule."""
    least_received: Fraction = Fraction(0)
    """Elements that some rank must receive, in any schedule."""
    helpers: int = 0
    """Ranks beyond those that the bounds speak of."""
    least_rounds: int = 0
    """Rounds at one send and one receive a rank a round, in any schedule."""

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
    def least(self) -> Fraction:
        """Elements that some rank must send or receive, in any schedule."""
        return max(self.least_sent, self.least_received)

    @property
    def bandwidth_optimal(self) -> bool:
        """Whether the busiest rank sends and receives what some rank must, in whole elements.

        Never where helpers take part: the bound is for ranks alone.
        """
        return not self.helpers and max(self.sent, self.received) == ceil(self.least)

    @property
    def latency_optimal(self) -> bool:
        """Whether it takes the rounds that any schedule must, at one message each way a round."""
        return not self.helpers and self.rounds == self.least_rounds


def count(program: Program, elements: int | Layout) -> Counts:
    """Count ``program`` on a vector of ``elements``, or cut as the given layout says.

    Raises ArgumentError for fewer than none, or more than can be added up in 63 bits, and
    ScheduleError where sends and receives do not match, or name what does not exist.
    """
    require_program(program)
    if not isinstance(elements, Layout) and integer(elements, "elements") < 0:
        raise ArgumentError(f"elements={elements} must not be negative")
    layout = (
        program.cut(elements.count, elements) if isinstance(elements, Layout)
        else program.layout(elements)
    )  # fmt: skip
    require_fit(program, layout)
    counts = Counts([RankCounts() for _ in range(program.ranks)])
    steps = uniform(program) if program.size >= MANY else None
    if steps is not None and _fits(steps, layout):
        _count_uniform(Tally(steps, layout), counts)
    else:
        _count_all(program, layout, counts)
    counts.least_sent, counts.least_received = program.least(layout.lengths)
    counts.helpers = program.helpers
    counts.least_rounds = program.collective.least_rounds(program.size)
    return counts


def _fits(steps: Sequence[tuple[Move, ...]], layout: Layout) -> bool:
    """Whether no sum of lengths can leave 63 bits."""
    moves = sum(len(move.rows) for moves in steps for move in moves)
    return moves * max(layout.lengths) < 1 << 62


def _count_uniform(tally: Tally, counts: Counts) -> None:
    for rank, mine in enumerate(counts.ranks):
        mine.steps = tally.steps
        mine.messages_sent = mine.messages_received = tally.messages
        mine.sent, mine.received = int(tally.sent[rank]), int(tally.received[rank])
        mine.staged, mine.packed = int(tally.staged[rank]), int(tally.packed[rank])
    counts.links = tally.links()
    counts.depth, counts.rounds = tally.depth, tally.rounds


def _count_all(program: Program, layout: Layout, counts: Counts) -> None:
    if (rounds := table(program)) is not None:
        require_countable(rounds, layout)
        _count_rounds(rounds, layout, counts)
    else:
        for rank, graph in enumerate(program.graphs):
            _count_rank(rank, graph, layout, counts)
    counts.depth = _last(program, layout, Rates(alpha=1))
    counts.rounds = _last(program, layout, Rates(alpha=1, ports="one"))


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


def _count_rounds(rounds: Sequence[Round], layout: Layout, counts: Counts) -> None:
    """The same for an aligned program, a round of all ranks at once."""
    ranks = len(counts.ranks)
    columns = {each.name: np.zeros(ranks, np.int64) for each in fields(RankCounts)}
    lengths = np.asarray(layout.lengths, np.int64)
    for each in rounds:
        far, size = each.remote, message_sizes(each, lengths)
        source, to = each.source[far], each.to[far]
        columns["steps"][np.union1d(source, to)] += 1
        np.add.at(columns["messages_sent"], source, 1)
        np.add.at(columns["messages_received"], to, 1)
        np.add.at(columns["sent"], source, size[far])
        np.add.at(columns["received"], to, size[far])
        np.add.at(columns["staged"], source, (size * staged(each))[far])
        np.add.at(columns["packed"], source, (size * scattered(each, each.sent))[far])
        np.add.at(columns["packed"], to, (size * scattered(each, each.written))[far])
        pairs, back = np.unique(source * ranks + to, return_inverse=True)
        sums = np.zeros(pairs.size, np.int64)
        np.add.at(sums, back.reshape(-1), size[far])
        for pair, total in zip(pairs.tolist(), sums.tolist(), strict=True):
            counts.links[divmod(pair, ranks)] += total
    for name, column in columns.items():
        for rank, value in zip(counts.ranks, column.tolist(), strict=True):
            setattr(rank, name, value)


def _elements(named: Sequence[int], layout: Layout) -> int:
    return sum(layout.length(i) for i in named)
