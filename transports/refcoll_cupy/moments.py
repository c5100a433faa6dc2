"""Moments in the work of streams: CUDA events, which are used again.

To make one is a call of the driver's, and a run of a plan is to need none.  An event serves
anew as soon as nobody holds its moment: what was told before then to wait for it waits for
what it meant then.
"""

from __future__ import annotations

from collections import deque
from typing import Any

_NOT_READY = 600
"""cudaErrorNotReady."""


class Moments:
    """Those of one device."""

    def __init__(self, cuda: Any) -> None:
        """``cuda`` is ``cupy.cuda``."""
        self._cuda = cuda
        self._free: deque[Any] = deque()
        self._made: list[Any] = []
        """Every event, held here: what only moments held would be destroyed with them where the
        garbage collector finds both, though the moment has given it back."""

    def of(self, stream: Any) -> Moment:
        """That of all that is queued on ``stream`` by now."""
        try:
            event = self._free.pop()
        except IndexError:
            event = self._cuda.Event(disable_timing=True)  # they order, and time nothing
            self._made.append(event)
        stream.record(event)
        return Moment(self._cuda, event, self._free)


class Moment:
    """See ``runtime.Event``."""

    def __init__(self, cuda: Any, event: Any, free: deque[Any]) -> None:
        self._cuda, self._event, self._free = cuda, event, free
        self.ptr: int = event.ptr
        """What CuPy's streams wait for."""

    def synchronize(self) -> None:
        self._event.synchronize()

    @property
    def done(self) -> bool:
        # Not CuPy's own ``done``, which never comes true where the device has failed.
        status = self._cuda.runtime.eventQuery(self.ptr)
        if status not in (0, _NOT_READY):
            raise self._cuda.runtime.CUDARuntimeError(status)
        return bool(status == 0)

    def __del__(self) -> None:
        self._free.append(self._event)
