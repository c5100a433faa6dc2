"""When every step ends, under the alpha-beta-gamma model.

A message is *ready* when the steps at both its ends have started: nothing is assumed to be
buffered.  (Where a program deadlocks without: when the sender's step has started.)  All
messages of a step share the rank's one link out and one link in; where classes of links have
rates of their own (``Rates.far``), a rank has one link out and one in of each class.  With
*several ports* messages pay their latencies together, with *one port* one after another:

    several ports    arrival = ready + alpha + beta * (all that the step sends on that link)
                     the link in takes beta * elements of each, from ready + alpha on
    one port         arrival = ready + the alpha + beta * elements of each, up to this one
                     the link in takes alpha + beta * elements of each, one after another
    end of a step    the last of these, + gamma * elements reduced

Of an aligned program, where step t of all ranks is a round, links may also be a node's
(``Rates.rails``): the messages of a round that use one share it, as if they began together.
And messages may stand in each other's way (``Rates.gaps``): each waits, before alpha, for as
many others as its sender sends, or its receiver receives, in the round.

With alpha = 1 and the rest 0 the last end is the *depth* (several ports): the longest chain
of messages of which each waits for the one before; and the *rounds* that the schedule needs
in its own order at one send and one receive a rank a round (one port).  (A rank that takes
in several messages one after another does not hold up their senders: they go on.)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction

from refcoll.chunks import Layout
from refcoll.errors import ArgumentError
from refcoll.interpreters import lockstep
from refcoll.interpreters.delivery import (
    CAPACITIES,
    DeadlockError,
    Place,
    Started,
    deliver,
)
from refcoll.interpreters.links import Links
from refcoll.interpreters.table import table
from refcoll.interpreters.uniform import MANY, uniform
from refcoll.programs import Program
from refcoll.rates import Number, Rates
from refcoll.schedule import Action, Reduce, Send, indices, peer, remote
from refcoll.topology import LINKS


def finish_times(
    program: Program, layout: Layout, rates: Rates, entered: Sequence[float] | None = None
) -> list[Number]:
    """When each rank ends its last step, in the unit of ``rates``, if it ``entered`` then.

    Fractions where the rates are exact and all enter at 0.  Raises DeadlockError for a program
    that waits for ever however much is buffered.
    """
    if rates.exact and entered is None:
        whole, a_second = rates.in_units()
        ends = _finish_times(program, layout, whole, [0] * program.ranks, exact=True)
        return [Fraction(end) / a_second for end in ends]
    begin = [0.0] * program.ranks if entered is None else list(entered)
    return _finish_times(program, layout, rates, begin, exact=False)


def _finish_times(
    program: Program, layout: Layout, rates: Rates, begin: Sequence[Number], exact: bool
) -> list[Number]:
    if (rounds := _rounds(program, layout)) is not None:
        links = Links(program.topology, program.ranks, rates, exact)
        return lockstep.finish_times(rounds, links, rates.gamma, rates.ports == "one", begin)
    if rates.rails or rates.gaps:
        shared = rates.rails or rates.gaps
        raise ArgumentError(
            f"rails={dict(shared)} need rounds, and the messages of {program.title} do not stand "
            "in any; leave them out"
        )
    for capacity in CAPACITIES[:-1]:
        try:
            return _play(program, layout, rates, begin, capacity)
        except DeadlockError:
            continue
    return _play(program, layout, rates, begin, CAPACITIES[-1])


def _rounds(program: Program, layout: Layout) -> Iterator[lockstep.Messages] | None:
    """The messages of all ranks, round by round, if the program is aligned."""
    if program.size >= MANY and (steps := uniform(program)) is not None:
        return lockstep.of_moves(steps, layout)
    rounds = table(program)
    return None if rounds is None else lockstep.of_table(rounds, layout)


def _play(
    program: Program, layout: Layout, rates: Rates, entered: Sequence[Number], capacity: float
) -> list[Number]:
    clock = _Clock(program, layout, rates, entered, buffered=capacity > 0)
    for event in deliver(program.graphs, capacity):
        if isinstance(event, Started):
            clock.start(event.rank, event.node)
        else:
            clock.finish(event.rank, event.node, event.partners)
    return [max(ends, default=begin) for ends, begin in zip(clock.ends, entered, strict=True)]


class _Clock:
    def __init__(
        self,
        program: Program,
        layout: Layout,
        rates: Rates,
        entered: Sequence[Number],
        buffered: bool,
    ) -> None:
        self.program, self.layout, self.rates, self.entered = program, layout, rates, entered
        self.buffered = buffered
        self.starts: list[list[Number]] = [[0] * len(graph) for graph in program.graphs]
        self.ends: list[list[Number]] = [[0] * len(graph) for graph in program.graphs]
        self.takes: dict[Place, Number] = {}
        """Per send: from ready to arrival."""

    def start(self, rank: int, index: int) -> None:
        """Note when the step starts, and how long each of its sends will take."""
        node = self.program.graphs[rank][index]
        self.starts[rank][index] = max(
            (self.ends[rank][i] for i in node.after), default=self.entered[rank]
        )
        sends = {
            position: self._size(action)
            for position, action in enumerate(node.actions)
            if isinstance(action, Send) and remote(action, rank)
        }
        so_far: Number = 0
        on_link = Counter[str]()
        for position, size in sends.items():
            on_link[self._link(rank, node.actions[position])] += size
        for position, size in sends.items():
            link = self._link(rank, node.actions[position])
            alpha, beta = self.rates.of(link)
            so_far += alpha + beta * size
            one_port = self.rates.ports == "one"
            takes = so_far if one_port else alpha + beta * on_link[link]
            self.takes[rank, index, position] = takes

    def finish(self, rank: int, index: int, partners: Sequence[Place | None]) -> None:
        """Note when the step ends."""
        actions = self.program.graphs[rank][index].actions
        messages = list(self._messages(rank, index, partners))
        sends = [ready + self.takes[place] for action, place, ready in messages
                 if isinstance(action, Send)]  # fmt: skip
        receives = [
            (
                ready + self.takes[origin],
                ready,
                self._size(action),
                LINKS.index(self._link(rank, action)),
            )
            for action, origin, ready in messages
            if not isinstance(action, Send)
        ]
        end = max([self._landed(self.starts[rank][index], sorted(receives)), *sends])
        reduced = sum(self._size(action) for action in actions if isinstance(action, Reduce))
        self.ends[rank][index] = end + self.rates.gamma * reduced

    def _messages(
        self, rank: int, index: int, partners: Sequence[Place | None]
    ) -> Iterator[tuple[Action, Place, Number]]:
        """Each message of a step: its action here, the place of its send, when it is ready."""
        for position, action in enumerate(self.program.graphs[rank][index].actions):
            if remote(action, rank):
                here, partner = (rank, index, position), partners[position]
                send, receive = (here, partner) if isinstance(action, Send) else (partner, here)
                assert send is not None
                ends = [send] if self.buffered or receive is None else [send, receive]
                yield action, send, max(self.starts[rank][node] for rank, node, _ in ends)

    def _landed(self, start: Number, messages: Sequence[tuple[Number, Number, int, int]]) -> Number:
        """When the last message (arrival, ready, size, link) has come through its link in."""
        landed, drained = start, list[Number]([0] * len(LINKS))
        for arrival, ready, size, link in messages:
            alpha, beta = self.rates.of(LINKS[link])
            if self.rates.ports == "one":
                landed = max(landed + alpha + beta * size, arrival)
            else:
                drained[link] = max(drained[link], ready + alpha) + beta * size
                landed = max(landed, drained[link], arrival)
        return landed

    def _link(self, rank: int, action: Action) -> str:
        where = self.program.topology
        return where.link(rank, peer(action)) if where else LINKS[0]

    def _size(self, action: Action) -> int:
        return sum(self.layout.length(i) for i in indices(action.chunks))
