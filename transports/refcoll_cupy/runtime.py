"""What this package asks of a device: memory, streams, events, copies and kernels.

Two things answer: CuPy (``devices``), and the stand-in that the tests put in its place.

Work is queued on the calling thread's *current stream*, and done in order there, at some
time; nothing is done before the stream, or an event recorded behind it, is synchronised, as
far as anybody may rely on.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, Protocol, TypeAlias

import numpy as np

from refcoll.transport import Bytes, Merge

Device: TypeAlias = Any
"""An array on a device, of whichever library the runtime is."""
Divide: TypeAlias = Callable[[Device, int], object]
"""divide(values, size): what is done in place to the merge of ``size`` ranks' values."""


class Event(Protocol):
    """A moment in the work of a stream."""

    def synchronize(self) -> object:
        """Wait, on the host, until all that was queued before it is done."""

    @property
    def done(self) -> bool:
        """Whether it is.  Who asks again and again lives to see it."""


class Stream(Protocol):
    """A queue of work.  Within ``with stream:`` it is the thread's current one."""

    def synchronize(self) -> object:
        """Wait, on the host, until all that is queued is done."""

    def wait_event(self, event: Any) -> object:
        """What is queued from now on follows ``event``, which may be another stream's."""

    def is_capturing(self) -> object:
        """Whether what is queued goes into a graph, to be done who knows when."""

    def __enter__(self) -> Any: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> Any: ...


class Runtime(Protocol):
    """A library of device arrays, and what it drives."""

    name: str
    """Whose arrays it has, in words."""

    def devices(self) -> int:
        """How many this process sees.  Raises ArgumentError where there is none, saying why."""

    def use(self, device: int) -> None:
        """From now on ``device`` is the thread's current one."""

    def on(self, device: int) -> AbstractContextManager[Any]:
        """Within it, ``device`` is the thread's current one."""

    def identity(self, device: int) -> str:
        """A name of the device that no other of this machine has, in any process."""

    def stream(self) -> Stream:
        """A new stream of the current device that does not wait for the default one."""

    def current(self) -> Stream:
        """The thread's current stream."""

    def record(self, stream: Stream) -> Event:
        """The moment of all that is queued so far on ``stream``, of the current device."""

    # ---- arrays -------------------------------------------------------------------------

    def owns(self, value: object) -> bool:
        """Whether it is an array of this library."""

    def shared(self, value: Any) -> Device | None:
        """Another library's device array as one of this library's, of the same memory.

        None for what offers neither DLPack nor ``__cuda_array_interface__``, or is not on a
        device.  What this thread queues follows what the other library has queued, as far as
        its protocol tells.
        """

    def address(self, array: Device) -> int:
        """Where its bytes begin."""

    def device_of(self, array: Device) -> int:
        """On which device it lies."""

    def reachable(self, array: Device) -> bool:
        """Whether other processes can open its memory: not that of a stream-ordered pool."""

    def empty(self, nbytes: int) -> Device:
        """Uninitialised bytes on the current device, for the current stream."""

    def pinned(self, nbytes: int) -> Bytes:
        """Host memory that copies to and from the device need not stop for."""

    # ---- work, queued on the current stream ----------------------------------------------

    def copy(self, to: Device, source: Device) -> object:
        """Contiguous arrays of one length, on any devices; of any two dtypes of one kind."""

    def download(self, to: Bytes, source: Device) -> object:
        """From the device into pinned bytes."""

    def upload(self, to: Device, source: Bytes) -> object:
        """From pinned bytes to the device."""

    def require(self, dtype: np.dtype[Any]) -> None:
        """Raise ArgumentError unless there are kernels for ``dtype``."""

    def merging(self, name: str, dtype: np.dtype[Any]) -> Merge:
        """The kernel of the built-in operator ``name``, ready to run; a merge of values to the
        bit as the host's is, NaNs' payloads aside."""

    def finishing(self, name: str, dtype: np.dtype[Any]) -> Divide | None:
        """What the built-in operator does to the merge of all; None for most."""

    # ---- at once --------------------------------------------------------------------------

    def from_host(self, values: np.ndarray[Any, Any]) -> Device:
        """A copy on the device, for the current stream."""

    def to_host(self, array: Device) -> np.ndarray[Any, Any]:
        """A copy on the host, of what the current stream has come to."""
