"""One rank's end of a World: the transport."""

from __future__ import annotations

from collections.abc import Sequence

from refcoll.testing.inprocess.exchange import LetterExchange
from refcoll.testing.inprocess.world import World
from refcoll.transport import Bytes, Incoming, Outgoing, Transport, idle


class InProcess(Transport):
    """One rank's end of a World."""

    name = "in-process"
    threads = True

    def __init__(self, world: World, rank: int) -> None:
        self.world = world
        self.rank = rank
        self.doing = idle
        self.size = world.size
        self.nodes = world.nodes
        self.arrays = world.arrays[rank]

    def prepare(
        self, sends: Sequence[Outgoing], receives: Sequence[Incoming], channel: int
    ) -> LetterExchange:
        return LetterExchange(self.world, self.rank, lambda: self.doing(), sends, receives, channel)

    def segment_bytes(self, peer: int) -> int | None:
        return None

    def empty(self, nbytes: int) -> Bytes:
        return self.arrays.scratch(nbytes)

    def subgroup(self, ranks: Sequence[int], channel: int) -> InProcess:
        return InProcess(self.world.subworld(tuple(ranks), channel), ranks.index(self.rank))

    def unclaimed(self, channel: int) -> int:
        desk = self.world.desks[self.rank]
        with desk.bell:
            return sum(len(desk.letters[key]) for key in list(desk.letters) if key[1] == channel)

    def abort(self, reason: str, culprit: int | None = None) -> None:
        self.world.fail(reason, culprit)

    def close(self) -> None:
        self.world.close()
