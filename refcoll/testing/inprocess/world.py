"""What the ranks of one in-process group share: their desks, and what has gone wrong."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace

from refcoll.testing.inprocess.desks import Desk, Wait, Waits
from refcoll.transport import ABOVE, HOST, Arrays, Known, Standing, silent


class World:
    """What the ranks of one in-process group share."""

    def __init__(
        self,
        size: int,
        nodes: tuple[tuple[int, ...], ...] | None = None,
        waits: Sequence[Waits] | None = None,
        arrays: Sequence[Arrays] | None = None,
    ) -> None:
        """``arrays`` has each rank's; numpy's by default."""
        self.size = size
        self.arrays = arrays or [HOST] * size
        self.nodes = nodes or (tuple(range(size)),)
        self.desks = [Desk(each) for each in waits or [Waits() for _ in range(size)]]
        self.failure: str | None = None
        self.culprit: int | None = None
        self._open = size
        self._forget: Callable[[], object] = lambda: None
        self._subworlds: dict[tuple[int, tuple[int, ...]], World] = {}
        self._lock = threading.Lock()

    def subworld(self, ranks: tuple[int, ...], channel: int) -> World:
        """The world of some of the ranks: the first to ask makes it."""
        key = (channel, ranks)
        with self._lock:
            if key not in self._subworlds:
                world = self._part(ranks)
                world._forget = lambda: self._drop(key)
                self._subworlds[key] = world
            return self._subworlds[key]

    def _part(self, ranks: tuple[int, ...]) -> World:
        """A new world of these ranks, who know there what has happened here."""
        inner = (tuple(ranks.index(r) for r in node if r in ranks) for node in self.nodes)
        waits = [self.desks[rank].waits for rank in ranks]
        arrays = [self.arrays[rank] for rank in ranks]
        world = World(len(ranks), tuple(node for node in inner if node), waits, arrays)
        if self.failure is not None:
            world.fail(*self._seen_from(ranks))
        for desk, rank in zip(world.desks, ranks, strict=True):
            desk.gone = self.desks[rank].gone
        return world

    def close(self) -> None:
        """Be forgotten, once every rank of a part has closed its end."""
        with self._lock:
            self._open -= 1
            last = self._open == 0
        if last:
            self._forget()

    def _drop(self, key: tuple[int, tuple[int, ...]]) -> None:
        with self._lock:  # others may be going through the parts
            del self._subworlds[key]

    def leave(self, rank: int) -> None:
        """Note that ``rank`` has ended, so that nobody waits for it."""
        with self._lock:
            self.desks[rank].gone = True
            inner = [(world, ranks) for (_, ranks), world in self._subworlds.items()]
        self._wake()
        for world, ranks in inner:
            if rank in ranks:
                world.leave(ranks.index(rank))

    def fail(self, reason: str, guilty: int | None = None) -> None:
        """Wake everyone who waits, for nothing."""
        with self._lock:
            if self.failure is None:
                self.failure, self.culprit = reason, guilty
            inner = [(world, ranks) for (_, ranks), world in self._subworlds.items()]
        self._wake()
        for world, ranks in inner:
            world.fail(*self._seen_from(ranks))

    def _seen_from(self, ranks: tuple[int, ...]) -> tuple[str, int | None]:
        """The failure, as a part with these ranks is told of it."""
        guilty = ranks.index(self.culprit) if self.culprit in ranks else None
        return f"{ABOVE}{str(self.failure).removeprefix(ABOVE)}", guilty

    def known(self, asking: int) -> Known:
        """What can be told of the other ranks to one that has waited too long."""
        others = [rank for rank in range(self.size) if rank != asking]
        return {rank: self._matter(self.desks[rank]) for rank in others}

    def _matter(self, desk: Desk) -> Standing | str:
        """What is the matter with a rank; if it gave up, the wait that it gave up."""
        now = list(desk.waits.now)
        here = next((wait for wait in now if wait.desks is self.desks), desk.gave_up)
        if here is not None:
            return here.standing()
        elsewhere = now[0] if now else desk.waits.in_vain
        if elsewhere is not None:
            return self._elsewhere(elsewhere)
        return "has ended" if desk.gone else silent("busy elsewhere, and waits for nobody")

    def _elsewhere(self, wait: Wait) -> Standing:
        """A wait in another world, with the ranks that are awaited numbered as here."""
        people = [wait.desks[peer].waits for peer in wait.peers()]
        here = [id(desk.waits) for desk in self.desks]
        numbers = (here.index(id(each)) if id(each) in here else -1 for each in people)
        return replace(wait.standing(), awaits=tuple(numbers), elsewhere=True)

    def _wake(self) -> None:
        for desk in self.desks:
            with desk.bell:
                desk.bell.notify_all()
