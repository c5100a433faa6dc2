"""How a process waits: it looks again and again, and lets others have the core."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from refcoll_mpi.telling import Wait

if TYPE_CHECKING:
    from refcoll_mpi.transport import MPITransport

Until = Callable[[Callable[[], bool], float, Callable[[], str], int], None]
"""Wait until something holds, at most so many seconds, for what in words, and which rank."""
yield_core: Callable[[], object] = getattr(os, "sched_yield", lambda: time.sleep(0))
_BUSY = 1e-4
_LONG = 1e-3
_GRACE = 1.0
"""Seconds before its time is up in which a rank asks others where they stand."""
_PING = 1.0
"""Seconds after which it asks the one that it waits for, and again after twice as long, ..."""
_LOOK = 0.02
"""Seconds between looks whether the others are still there."""
_NAP = 5e-5
"""Seconds: after so long with other threads in this process, sleep so long at a time, since
a thread that looks again and again keeps Python's lock from them."""


def spare_cores(processes: int) -> bool:
    """Whether each of so many processes on this node can have a core."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return processes <= (cores or 1)


class Patience:
    """Waits on behalf of one rank; hears, while it waits for long, what others say."""

    def __init__(self, end: MPITransport) -> None:
        self._end = end

    def until(
        self,
        done: Callable[[], bool],
        timeout: float,
        awaited: Callable[[], str],
        peer: int,
        long: Callable[[], object] | None = None,
    ) -> None:
        """Wait until ``done``, for what ``peer`` does; where that takes ``_LONG`` seconds, do
        ``long`` meanwhile too.

        Raises DeadlineError after ``timeout`` seconds, PeerFailedError where ranks have failed.
        """
        started = time.monotonic()
        while not done():
            self._end.meanwhile()
            yield_core()
            waited = time.monotonic() - started
            if waited > _LONG or waited > timeout:
                wait = self._end.company.wait(peer, awaited)
                return self._patiently(done, started, timeout, wait, long)
            if waited > _BUSY and threading.active_count() > 1:
                time.sleep(_NAP)
        return None

    def _patiently(
        self,
        done: Callable[[], bool],
        started: float,
        timeout: float,
        wait: Wait,
        long: Callable[[], object] | None,
    ) -> None:
        end, company = self._end, self._end.company
        asks, looks, pings = timeout - min(_GRACE, timeout / 2), _LOOK, _PING
        with end.control.waiting(end.context, wait):
            while not done():
                end.meanwhile()
                yield_core()
                if long is not None:
                    long()
                waited = time.monotonic() - started
                if waited > looks:
                    looks = waited + _LOOK
                    company.require(wait, done)
                if waited > pings:
                    pings *= 2
                    company.ping(wait)
                if waited > asks:
                    company.inquire(wait)
                if waited > timeout and not done():
                    raise company.late(wait, waited)
                if threading.active_count() > 1:
                    time.sleep(_NAP)
