"""Match every send with its receive, and say in which order things happen.

``deliver`` plays all ranks of a program in one process and yields two kinds of event, in
an order that respects cause and effect:

    Started(rank, node)              the step's sends read their chunks now
    Finished(rank, node, partners)   its receives apply now, in the order written

Simulating, checking, counting and costing are folds over these events.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import NamedTuple, TypeAlias

from refcoll.graph import Graph
from refcoll.schedule import Action, ScheduleError, Send, peer

Place: TypeAlias = tuple[int, int, int]
"""One action: (rank, node, position in the step)."""


class Started(NamedTuple):
    """Node ``node`` of ``rank`` begins."""

    rank: int
    node: int


class Finished(NamedTuple):
    """Node ``node`` of ``rank`` ends.

    ``partners[i]`` is the action at the other end of its action i, whose node has started;
    None for a send into a channel with room, which nobody has received yet.
    """

    rank: int
    node: int
    partners: tuple[Place | None, ...]


CAPACITIES: Sequence[float] = (0, 1, 2, 4, 8, inf)
"""Channel capacities worth trying, from rendezvous to never waiting."""


class DeadlockError(ScheduleError):
    """Ranks wait for one another, or for a message that nobody sends."""


class UnmatchedError(ScheduleError):
    """A message was sent that nobody receives."""


@dataclass
class _Channel:
    sends: list[Place] = field(default_factory=list)
    receives: list[Place] = field(default_factory=list)


class _Node(NamedTuple):
    rank: int
    place: int


def deliver(graphs: Sequence[Graph], capacity: float = inf) -> Iterator[Started | Finished]:
    """Play the graphs, one a rank, over channels that hold ``capacity`` messages.

    With capacity 0 a send ends only when its receive has started (rendezvous); with
    infinity it never waits.  Raises DeadlockError with what each stuck rank waits for, and
    UnmatchedError where a message is left over.
    """
    return _Play(graphs, capacity).events()


class _Play:
    def __init__(self, graphs: Sequence[Graph], capacity: float) -> None:
        self.graphs = graphs
        self.capacity = capacity
        self.channels: dict[tuple[int, int, int], _Channel] = {}
        self.waits = [[len(node.actions) for node in graph] for graph in graphs]
        self.needs = [[len(node.after) for node in graph] for graph in graphs]
        self.followers: list[list[list[int]]] = [[[] for _ in graph] for graph in graphs]
        for rank, graph in enumerate(graphs):
            for index, node in enumerate(graph):
                for earlier in node.after:
                    self.followers[rank][earlier].append(index)
        self.partners: dict[Place, Place] = {}
        self.complete: deque[_Node] = deque()
        self.done = [0 for _ in graphs]

    def events(self) -> Iterator[Started | Finished]:
        ready = deque(
            _Node(rank, index)
            for rank, needs in enumerate(self.needs)
            for index, need in enumerate(needs)
            if need == 0
        )
        while ready:
            node = ready.popleft()
            yield Started(*node)
            self._post(node)
            while self.complete:
                ended = self.complete.popleft()
                yield self._finished(ended)
                ready.extend(self._released(ended))
        self._require_all_done()

    def _post(self, node: _Node) -> None:
        actions, _, _, channel = self.graphs[node.rank][node.place]
        if not actions:
            self.complete.append(node)
        for position, action in enumerate(actions):
            place = (node.rank, node.place, position)
            if isinstance(action, Send):
                self._post_send(place, self._channel(node.rank, action.to, channel))
            else:
                self._post_receive(place, self._channel(action.source, node.rank, channel))

    def _post_send(self, place: Place, channel: _Channel) -> None:
        number = len(channel.sends)
        channel.sends.append(place)
        if number < len(channel.receives):
            self._match(channel.receives[number], place)
        if len(channel.receives) > number - self.capacity:
            self._end(place)

    def _post_receive(self, place: Place, channel: _Channel) -> None:
        number = len(channel.receives)
        channel.receives.append(place)
        if number < len(channel.sends):
            self._match(place, channel.sends[number])
        if number + self.capacity < len(channel.sends):
            self._end(channel.sends[int(number + self.capacity)])

    def _match(self, receive: Place, send: Place) -> None:
        self.partners[receive], self.partners[send] = send, receive
        self._end(receive)

    def _end(self, place: Place) -> None:
        rank, index, _ = place
        self.waits[rank][index] -= 1
        if self.waits[rank][index] == 0:
            self.complete.append(_Node(rank, index))

    def _finished(self, node: _Node) -> Finished:
        self.done[node.rank] += 1
        positions = range(len(self.graphs[node.rank][node.place].actions))
        partners = (self.partners.get((*node, position)) for position in positions)
        return Finished(*node, tuple(partners))

    def _released(self, node: _Node) -> Iterator[_Node]:
        for later in self.followers[node.rank][node.place]:
            self.needs[node.rank][later] -= 1
            if self.needs[node.rank][later] == 0:
                yield _Node(node.rank, later)

    def _channel(self, source: int, to: int, number: int) -> _Channel:
        return self.channels.setdefault((source, to, number), _Channel())

    # ---- what is left at the end --------------------------------------------------------

    def _require_all_done(self) -> None:
        if any(done < len(graph) for done, graph in zip(self.done, self.graphs, strict=True)):
            raise DeadlockError("; ".join(self._stuck()))
        for (source, to, _), channel in self.channels.items():
            if len(channel.sends) > len(channel.receives):
                rank, index, position = channel.sends[len(channel.receives)]
                raise UnmatchedError(
                    f"{self._named(rank, index)}: rank {to} never receives "
                    f"{self.graphs[rank][index].actions[position]} from rank {source}"
                )

    def _stuck(self) -> Iterator[str]:
        for rank, waits in enumerate(self.waits):
            for index, waiting in enumerate(waits):
                if waiting and not self.needs[rank][index]:
                    open_actions = ", ".join(map(self._open, self._unmet(rank, index)))
                    yield f"{self._named(rank, index)} waits in {open_actions}"

    def _open(self, action: Action) -> str:
        """What is waited in, and that it is in vain where the other end has done all it does."""
        other = peer(action)
        ended = 0 <= other < len(self.graphs) and self.done[other] == len(self.graphs[other])
        return f"{action}, though rank {other} has ended" if ended else str(action)

    def _unmet(self, rank: int, index: int) -> Iterator[Action]:
        node = self.graphs[rank][index]
        for position, action in enumerate(node.actions):
            place = (rank, index, position)
            if isinstance(action, Send):
                channel = self._channel(rank, action.to, node.channel)
                met = channel.sends.index(place) < len(channel.receives) + self.capacity
            else:
                met = place in self.partners
            if not met:
                yield action

    def _named(self, rank: int, index: int) -> str:
        return f"rank {rank} step {self.graphs[rank][index].number + 1}"
