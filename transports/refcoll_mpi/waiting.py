"""How a process waits: it looks again and again, and lets others have the core."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable

from refcoll.transport import DeadlineError

Until = Callable[[Callable[[], bool], float, Callable[[], str]], None]
"""Wait until something holds, at most so many seconds, for what in words."""
yield_core: Callable[[], object] = getattr(os, "sched_yield", lambda: time.sleep(0))
_BUSY = 1e-4
_LONG = 1e-3
_NAP = 5e-5
"""Seconds: after so long with other threads in this process, sleep so long at a time, since
a thread that looks again and again keeps Python's lock from them."""


def spare_cores(processes: int) -> bool:
    """Whether each of so many processes on this node can have a core."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return processes <= (cores or 1)


class Patience:
    """Waits on behalf of one rank; ``meanwhile`` is done over and over, to keep others going."""

    def __init__(self, rank: int, meanwhile: Callable[[], object]) -> None:
        self._rank, self._meanwhile = rank, meanwhile

    def until(
        self,
        done: Callable[[], bool],
        timeout: float,
        awaited: Callable[[], str],
        long: Callable[[], object] | None = None,
    ) -> None:
        """Wait until ``done``; where that takes ``_LONG`` seconds, do ``long`` meanwhile too.

        Raises DeadlineError after ``timeout`` seconds.
        """
        started = time.monotonic()
        while not done():
            self._meanwhile()
            yield_core()
            waited = time.monotonic() - started
            if waited > _LONG and long is not None:
                long()
            if waited > timeout:
                if done():
                    return
                raise DeadlineError(f"rank {self._rank} waited {waited:.1f} s for {awaited()}")
            if waited > _BUSY and threading.active_count() > 1:
                time.sleep(_NAP)
