"""What a rank finds out of the others of its communicator, when it waits for one of them.

Ranks are numbered three ways: as those of the communicator, as those of its Control
(*roots*), and, for people, by their processes where those differ from the first.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from refcoll.transport import (
    ABOVE,
    DeadlineError,
    PeerFailedError,
    Standing,
    filled,
    named,
)
from refcoll.transport import culprit as blame
from refcoll_mpi.control import Control, controls
from refcoll_mpi.telling import ENDED, Failure, Wait

if TYPE_CHECKING:
    from refcoll_mpi.transport import MPITransport

_ARRIVING = 1.0
"""Seconds that what a process sent before its end may take to arrive after word of that."""


class Company:
    """The ranks of ``end``, as it sees them through ``control``."""

    def __init__(
        self, end: MPITransport, control: Control, roots: Sequence[int], above: Sequence[int]
    ) -> None:
        """``roots`` says which rank of the Control each is; ``above`` has the contexts of what
        this communicator is a part of."""
        self.control, self.roots = control, tuple(roots)
        self.contexts = (end.context, *above)
        self._end, self._rank = end, end.rank
        self._asked: set[int] = set()

    # ---- what is said -------------------------------------------------------------------

    def fail(self, reason: str, culprit: int | None) -> None:
        """Tell all that this communicator has failed, unless they know."""
        if self.control.failure(self.contexts) is None:
            root = None if culprit is None else self.roots[culprit]
            self.control.fail(self._end.context, Failure(reason, root), self.roots)

    def wait(self, peer: int, awaited: Callable[[], str]) -> Wait:
        """What others are told of a wait for ``peer``."""
        self._asked.clear()
        self.control.forget_answers(self._end.context)
        return Wait(lambda: self._end.doing(), peer, awaited, self.roots[peer])

    def ping(self, wait: Wait) -> None:
        """Ask the one that is waited for: it may have come to its end."""
        self.control.ask(self._end.context, [wait.root])

    def inquire(self, wait: Wait) -> None:
        """Ask the next one in the chain of those that wait for one another."""
        answers = self.control.answered(self._end.context, self.roots)
        peer, seen = wait.peer, {self._rank}
        while peer not in seen and peer >= 0:
            if peer not in self._asked:
                self._asked.add(peer)
                self.control.ask(self._end.context, [self.roots[peer]])
                return
            found = answers.get(peer)
            if not isinstance(found, Standing) or not found.awaits:
                return
            seen.add(peer)
            peer = found.awaits[0]

    # ---- what is heard ------------------------------------------------------------------

    def require(self, wait: Wait, done: Callable[[], bool]) -> None:
        """Raise PeerFailedError if one has failed, or the one that is waited for is no more."""
        for each in controls():
            each.poll()
        meanwhile = f"rank {self._rank} waited for {self._said(wait)}"
        if (found := self.control.failure(self.contexts)) is not None:
            guilty = self._number(found[0].culprit)
            raise PeerFailedError(self._reason(*found), f"meanwhile {meanwhile}", guilty)
        gone = self._gone(wait.root)
        if gone and not done():
            raise PeerFailedError(meanwhile, f"{self._name(wait.peer)} {gone}", wait.peer)

    def late(self, wait: Wait, waited: float) -> DeadlineError:
        """What to raise after waiting in vain."""
        known = self.control.known(self._end.context, self.roots)
        guilty, way = blame(self._rank, wait.standing(), known, self._name)
        said = f"rank {self._rank} waited {waited:.1f} s for {self._said(wait)}"
        return DeadlineError(said, way, guilty)

    def _reason(self, failure: Failure, context: int | None) -> str:
        """What a rank has said of a failure, and what the system can add to that."""
        where = ABOVE if context not in (self.contexts[0], None) else ""
        if failure.culprit is None:
            return f"{where}{failure.reason}"
        process, number = self.control.processes[failure.culprit], self._number(failure.culprit)
        name = self._name(-1 - failure.culprit if number is None else number)
        trouble = process.trouble() if process else None
        more = f"; {name} {trouble}" if trouble and trouble not in failure.reason else ""
        return f"{where if context is not None else f'{name} '}{failure.reason}{more}"

    def _gone(self, root: int) -> str | None:
        """What is said of a rank that will do nothing more."""
        process = self.control.processes[root]
        if process and process.ended():
            return process.trouble()
        heard = self.control.ended.get(root, math.inf)
        return ENDED if time.monotonic() - heard > _ARRIVING else None

    # ---- what they are called -----------------------------------------------------------

    def _number(self, root: int | None) -> int | None:
        """The number here of a rank of the Control."""
        return None if root not in self.roots else self.roots.index(root)

    def _name(self, rank: int) -> str:
        """What to call a rank, or, if it is negative, one that is not of these."""
        if rank < 0:
            return f"process {-1 - rank} of the job"
        root = self.roots[rank]
        return named(rank) if rank == root else f"rank {rank} (process {root} of the job)"

    def _said(self, wait: Wait) -> str:
        return filled(wait.awaited(), [wait.peer], self._name)
