"""Schedules that measure links: what a step of a schedule costs, as steps are run here.

    alone      two ranks, the others idle        a: Send -> b    then    a <- Send :b    (2 steps)
    shift      every rank                        Send -> next    Copy <- previous
    merging    the same, but                     Send -> next    Reduce <- previous
    fan        every rank, f peers at once       Send -> next, the one after, ...

The next rank is that of another place on the same node, or that of the same place on the next
node, so that every message of a pattern takes a link of one class, and all ranks do alike:

    nodes (0, 1, 2) (3, 4, 5)    within a node: 0 -> 1 -> 2 -> 0     between nodes: 0 <-> 3, ...

Each is repeated some rounds in one run: rounds tell the cost of a step from that of a call.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from refcoll.own_steps import from_steps
from refcoll.planning.fitting import Counts
from refcoll.programs import Program
from refcoll.schedule import IDLE, Copy, Reduce, Send, Step
from refcoll.topology import LINKS, Nodes

ALONE, SHIFT, MERGING, FAN = "alone", "shift", "merging", "fan"
OVERHEAD, MERGE = "overhead", "merge"
"""Names of figures: seconds of a call, seconds to merge a byte."""
_MOST_FANNED = 3


def latency(link: str) -> str:
    """The name of a class's seconds per message."""
    return f"latency {link}"


def per_byte(link: str) -> str:
    """The name of a class's seconds per byte."""
    return f"per byte {link}"


def gap(link: str) -> str:
    """The name of a class's seconds that messages in flight together wait for each other."""
    return f"gap {link}"


@dataclass(frozen=True)
class Pattern:
    """One of the schedules, between ranks whose links are of one class."""

    kind: str
    link: str
    nodes: Nodes
    peers: int = 1
    """To how many ranks each sends at once."""

    @property
    def chunks(self) -> int:
        """One is sent, the others are received into."""
        return 1 if self.kind == ALONE else 1 + self.peers

    @property
    def title(self) -> str:
        """As in "shift within a node"."""
        return f"{self.kind} {self.link}"

    def program(self, rounds: int) -> Program:
        """It, repeated."""
        ranks = [rank for node in self.nodes for rank in node]
        steps: list[list[Step]] = [[] for _ in ranks]
        for rank in ranks:
            steps[rank] = [*self._round(rank)] * rounds
        return from_steps("barrier", steps, self.chunks, name=self.title)

    def counts(self, rounds: int, nbytes: int) -> Counts:
        """How often each figure counts in a run with messages of ``nbytes``."""
        link = f"{self.link}, alone" if self.kind == ALONE else self.link
        steps = 2 * rounds if self.kind == ALONE else rounds
        counts = {
            OVERHEAD: 1.0,
            latency(link): steps,
            per_byte(link): steps * self.peers * nbytes,
        }
        if self.kind == FAN:
            counts[gap(link)] = steps * (self.peers - 1)
        return {**counts, MERGE: steps * nbytes} if self.kind == MERGING else counts

    def _round(self, rank: int) -> Iterator[Step]:
        if self.kind == ALONE:
            yield from self._ping_pong(rank)
            return
        receive = Reduce if self.kind == MERGING else Copy
        shifts = _shifts(self.nodes, self.link)[: self.peers]
        sends = tuple(Send(0, _at(self.nodes, rank, *shift)) for shift in shifts)
        yield sends + tuple(
            receive(place, _at(self.nodes, rank, -node, -local))
            for place, (node, local) in enumerate(shifts, 1)
        )

    def _ping_pong(self, rank: int) -> Iterator[Step]:
        a = self.nodes[0][0]
        b = _at(self.nodes, a, *_shifts(self.nodes, self.link)[0])
        if rank not in (a, b):
            yield from (IDLE, IDLE)
            return
        there: list[Step] = [(Send(0, b),), (Copy(0, b),)]
        back: list[Step] = [(Copy(0, a),), (Send(0, a),)]
        yield from there if rank == a else back


def patterns(nodes: Nodes) -> list[Pattern]:
    """All that nodes of one size allow."""
    found: list[Pattern] = []
    for link in LINKS[:2]:
        shifts = len(_shifts(nodes, link))
        if shifts:
            found += [Pattern(kind, link, nodes) for kind in (ALONE, SHIFT, MERGING)]
        if shifts > 1:
            found.append(Pattern(FAN, link, nodes, min(shifts, _MOST_FANNED)))
    return found


def _shifts(nodes: Nodes, link: str) -> Sequence[tuple[int, int]]:
    """(Nodes on, places on): each a permutation of the ranks, over links of the class."""
    places = len(nodes[0])
    if link == LINKS[0]:
        return [(0, place) for place in range(1, places)]
    return [(node, place) for node in range(1, len(nodes)) for place in range(places)]


def _at(nodes: Nodes, rank: int, node: int, place: int) -> int:
    """The rank that stands so many nodes, and places, on."""
    home = next(k for k, ranks in enumerate(nodes) if rank in ranks)
    local = nodes[home].index(rank)
    ranks = nodes[(home + node) % len(nodes)]
    return ranks[(local + place) % len(ranks)]
