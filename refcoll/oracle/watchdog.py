"""Is a call still under way after its time?  Then say so, since nothing can interrupt it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from refcoll.oracle.calls import Call


class Watchdog:
    """Calls ``on_hang(words)`` from a thread of its own, once, when a call takes too long."""

    def __init__(self, timeout: float, on_hang: Callable[[str], None] | None) -> None:
        self._timeout, self._on_hang = timeout, on_hang

    @contextmanager
    def watching(self, call: Call) -> Iterator[None]:
        """The call is under way."""
        if self._on_hang is None:
            yield
            return
        said = f"{call} has not returned within {self._timeout:g} s"
        timer = threading.Timer(self._timeout, self._on_hang, [said])
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
