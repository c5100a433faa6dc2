"""Device arrays as a communicator works on them: refcoll's seam, over a runtime.

Everything that a communicator queues goes to one stream of its own.

    caller's stream   ... x written . . . . . . . . . . . . more of the caller's kernels
                               \\ (event)
    its own stream              copies, merges, messages ... | synchronised: wait() returns

So a collective follows what the caller had queued when he called, overlaps with what he
queues later, and is over, for every stream, when ``wait()`` or the call returns.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

import numpy as np

from refcoll.transport import Array, Arrays, Merge, Operator, is_builtin
from refcoll_cupy.accepting import accepted, require_reachable, require_uncaptured
from refcoll_cupy.runtime import Event, Runtime, Stream

T = TypeVar("T")


class DeviceArrays(Arrays):
    """Those of one rank, on one device."""

    def __init__(
        self,
        runtime: Runtime,
        device: int,
        stream: Stream | None = None,
        across_processes: bool = False,
    ) -> None:
        """``stream`` is what the caller queues on; by default what is current at each call.

        ``across_processes`` refuses arrays that other processes cannot reach.
        """
        self.runtime, self.device, self.across_processes = runtime, device, across_processes
        self.name = runtime.name
        self._callers_own = stream
        self._thread, self._streams = threading.local(), list[Stream]()
        self.stream = self.side_stream()

    # ---- order ----------------------------------------------------------------------------

    def side_stream(self) -> Stream:
        """A new stream of this communicator's, over at its calls' end even where they raise."""
        with self.runtime.on(self.device):
            made = self.runtime.stream()
        self._streams.append(made)
        return made

    def ordered(self, function: Callable[[], T]) -> Callable[[], T]:
        """The function on this communicator's stream, behind what the caller has queued."""
        caller = self._caller()
        with self.runtime.on(self.device):
            require_uncaptured(caller)
            called = self.runtime.record(caller)

        def run() -> T:
            before, self._thread.caller = getattr(self._thread, "caller", None), caller
            try:
                with self.runtime.on(self.device), self.stream:
                    self.stream.wait_event(called)
                    return self._to_its_end(function)
            finally:
                self._thread.caller = before

        return run

    def _to_its_end(self, function: Callable[[], T]) -> T:
        """What it returns, once all that it has queued is done; also where it raises: what it
        has queued may write memory that is then free."""
        try:
            result = function()
            self.stream.synchronize()
            return result
        except BaseException:
            for stream in self._streams:
                with suppress(Exception):  # the first error is what is told
                    stream.synchronize()
            raise

    def _caller(self) -> Stream:
        """The stream of whoever has called.  Within a function that was submitted that is the
        stream of whoever submitted it, unless the function has taken another."""
        if self._callers_own is not None:
            return self._callers_own
        with self.runtime.on(self.device):
            now = self.runtime.current()
        above: Stream | None = getattr(self._thread, "caller", None)
        return above if above is not None and now == self.stream else now

    def mark(self) -> Event:
        """See Arrays."""
        return self.runtime.record(self.runtime.current())

    def after(self, moment: Event) -> None:
        """See Arrays."""
        self.runtime.current().wait_event(moment)

    def attach(self) -> None:
        """See Arrays: its device is the thread's current one."""
        self.runtime.use(self.device)

    # ---- arrays ---------------------------------------------------------------------------

    def owns(self, value: object) -> bool:
        """See Arrays."""
        return self.runtime.owns(value)

    def taken(self, value: Any, name: str) -> Array:
        """See Arrays, and ``accepting``."""
        found: Array = accepted(self.runtime, value, name, self.device, self.across_processes)
        return found

    def require(self, dtype: np.dtype[Any]) -> None:
        """See Arrays."""
        self.runtime.require(dtype)

    def writable(self, array: Array) -> bool:
        """See Arrays.  What is not was refused when it was taken."""
        return True

    def same(self, one: Array, other: Array) -> bool:
        """See Arrays."""
        like = one.shape == other.shape and one.dtype == other.dtype
        return bool(like and self.runtime.address(one) == self.runtime.address(other))

    def overlap(self, one: Array, other: Array) -> bool:
        """See Arrays.  All are contiguous."""
        first, second = self.runtime.address(one), self.runtime.address(other)
        return max(first, second) < min(first + one.nbytes, second + other.nbytes)

    def empty(self, count: int, dtype: np.dtype[Any]) -> Array:
        """See Arrays.  Of the caller's stream, whose it will be: a pool may give it again, when
        it is freed, to what that stream does next; and may have had it from what it did last,
        which ``ordered`` follows."""
        with self.runtime.on(self.device), self._caller():
            made: Array = self._reachable(self.runtime.empty(count * dtype.itemsize)).view(dtype)
        return made

    def scratch(self, nbytes: int) -> Array:
        """See Arrays."""
        with self.runtime.on(self.device):
            return self._reachable(self.runtime.empty(nbytes))

    def _reachable(self, made: Array) -> Array:
        """What the current allocator gave, if other processes can reach it, or need not."""
        if self.across_processes:
            require_reachable(self.runtime, made, "what the current allocator gives")
        return made

    def lent(self, view: Array) -> Array:
        """See Arrays.  Of another device: a copy, which this one's kernels can read."""
        if self.runtime.device_of(view) == self.device:
            return view
        copied = self.scratch(view.nbytes).view(view.dtype)
        self.copy(copied, view)
        return copied

    # ---- work -----------------------------------------------------------------------------

    def copy(self, to: Array, source: Array) -> object:
        """See Arrays."""
        return self.runtime.copy(to, source)

    def merge(self, op: Operator, dtype: np.dtype[Any]) -> Merge:
        """A kernel for a built-in operator; a user's own function is given device arrays."""
        if not is_builtin(op):
            return op.merge
        self.runtime.finishing(op.name, dtype)  # is ready, too, when it is asked for
        return self.runtime.merging(op.name, dtype)

    def finish(self, op: Operator, values: Array, size: int) -> None:
        """See Arrays."""
        finish = self.runtime.finishing(op.name, values.dtype) if is_builtin(op) else op.last
        if finish is not None:
            finish(values, size)

    def from_host(self, values: Array) -> Array:
        """See Arrays."""
        with self.runtime.on(self.device):
            made: Array = self.runtime.from_host(values)
        return made

    def to_host(self, array: Array) -> Array:
        """See Arrays."""
        with self.runtime.on(self.device):
            values: Array = self.runtime.to_host(array)
        return values

    def again(self) -> DeviceArrays:
        """The same for another communicator, with a stream of its own."""
        return DeviceArrays(self.runtime, self.device, self._callers_own, self.across_processes)
