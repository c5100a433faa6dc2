"""How a rank waits at its desk: until what it waits for is there, or cannot come any more."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from refcoll.testing.inprocess.desks import Letter, Wait
from refcoll.testing.inprocess.world import World
from refcoll.transport import DeadlineError, PeerFailedError, TransportError, culprit, named


class Waiting:
    """One rank's waits, during each of which it takes what has come early."""

    def __init__(
        self,
        world: World,
        rank: int,
        doing: Callable[[], str],
        early: Callable[[], Sequence[Letter]],
        keep: Callable[[Letter], None],
    ) -> None:
        """``early`` looks for letters that are not waited for yet; ``keep`` takes one."""
        self._world, self._rank, self._desk = world, rank, world.desks[rank]
        self._doing, self._early, self._keep = doing, early, keep

    def until(
        self,
        condition: Callable[[], bool],
        peers: Callable[[], list[int]],
        awaited: Callable[[], str],
        timeout: float,
    ) -> None:
        """Return once ``condition`` holds, which is asked again at each ring of the bell.

        Raises PeerFailedError where a rank has failed or has ended, DeadlineError after
        ``timeout`` seconds; both say what was ``awaited``, of which ``peers``.
        """
        wait = Wait(self._world.desks, self._doing, peers, awaited)
        waits = self._desk.waits
        waits.begin(wait)
        try:
            self._until(condition, wait, timeout)
        except TransportError:
            self._desk.gave_up = waits.in_vain = wait  # others may ask why we do not go on
            raise
        finally:
            waits.now.remove(wait)  # last, so that who asks finds it in one place or the other

    def _until(self, condition: Callable[[], bool], wait: Wait, timeout: float) -> None:
        started = time.monotonic()
        while True:
            with self._desk.bell:
                if condition():
                    return
                self._require_hope(wait)
                waited = time.monotonic() - started
                if waited >= timeout:
                    raise self._late(wait, waited)
                early = self._early()
                if not early:
                    self._desk.bell.wait(timeout - waited)
            for letter in early:
                self._keep(letter)

    def _require_hope(self, wait: Wait) -> None:
        """Raise PeerFailedError if what is awaited cannot come any more."""
        world = self._world
        if world.failure is not None:
            raise PeerFailedError(world.failure, f"meanwhile {self._said(wait)}", world.culprit)
        gone = [peer for peer in wait.peers() if world.desks[peer].gone]
        if gone:
            raise PeerFailedError(self._said(wait), f"rank {gone[0]} has ended", gone[0])

    def _said(self, wait: Wait) -> str:
        return f"rank {self._rank} waited for {wait.said()}"

    def _late(self, wait: Wait, waited: float) -> DeadlineError:
        known = self._world.known(self._rank)
        guilty, way = culprit(self._rank, wait.standing(), known, _name)
        said = f"rank {self._rank} waited {waited:.1f} s for {wait.said()}"
        return DeadlineError(said, way, guilty)


def _name(rank: int) -> str:
    return named(rank) if rank >= 0 else "a rank that is not of this communicator"
