"""The seam between refcoll and the library whose arrays it works on.

A communicator does six things with arrays: takes the caller's, makes room for results,
copies, merges, finishes, and asks whether two of them are one memory.  Everything else that
it needs of an array is the same in all libraries: ``shape``, ``size``, ``dtype`` (numpy's),
``nbytes``, ``strides``, ``flags.c_contiguous``, ``reshape``, ``view``, ``copy``, and slices
that are views.

A transport says in ``arrays`` whose arrays its messages lie in; HOST, numpy's, is what it
says unless it says otherwise.  Where a library only queues what it is asked for, on a stream
of a device, three more promises order that: ``ordered``, ``mark`` and ``after``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Protocol, TypeVar

import numpy as np

from refcoll.errors import ArgumentError
from refcoll.operators import Array, Merge, Operator

T = TypeVar("T")


class Arrays(Protocol):
    """One library's arrays, as one rank works on them."""

    name: str
    """In words, as in "not a numpy array"."""

    @property
    def ordered(self) -> Callable[[Callable[[], T]], Callable[[], T]] | None:
        """Makes of what a caller asks for a function that any thread may run: what it queues
        follows all that the caller has queued by now, and is done when it returns.

        None where nothing is ever queued.
        """

    def attach(self) -> None:
        """From now on this thread makes arrays where these lie, unless it says otherwise."""

    def owns(self, value: object) -> bool:
        """Whether it is an array of this library."""

    def taken(self, value: Any, name: str) -> Array:
        """The caller's argument ``name`` as an array of this library, the same memory.

        Raises ArgumentError for what is none, or cannot be used where it lies.
        """

    def require(self, dtype: np.dtype[Any]) -> None:
        """Raise ArgumentError for a dtype whose values cannot be copied and merged here."""

    def writable(self, array: Array) -> bool:
        """Whether it may be written."""

    def same(self, one: Array, other: Array) -> bool:
        """Whether two arrays are the same elements of the same memory in the same order."""

    def overlap(self, one: Array, other: Array) -> bool:
        """Whether they may share memory."""

    def empty(self, count: int, dtype: np.dtype[Any]) -> Array:
        """Uninitialised ordinary memory, for what a caller keeps; one-dimensional.

        Where there is ``ordered``, it is asked for in the caller's thread, before that.
        """

    def scratch(self, nbytes: int) -> Array:
        """The same in bytes, for what this thread queues itself."""

    def copy(self, to: Array, source: Array) -> object:
        """Let ``to`` become what ``source`` is, converted if their dtypes differ."""

    def merge(self, op: Operator, dtype: np.dtype[Any]) -> Merge:
        """What merges two arrays of ``dtype`` into a third, which may be one of them."""

    def finish(self, op: Operator, values: Array, size: int) -> None:
        """Turn the merge of ``size`` ranks' values into the result, in place."""

    def mark(self) -> Any:
        """A moment: that of all that this thread has queued so far."""

    def after(self, moment: Any) -> None:
        """What this thread queues from now on follows another's ``mark``."""

    def lent(self, view: Array) -> Array:
        """Another rank's memory, for this one to read."""

    def from_host(self, values: Array) -> Array:
        """A copy of numpy's ``values`` here."""

    def to_host(self, array: Array) -> Array:
        """The values as numpy's, once they are there."""


class HostArrays:
    """numpy's, in the memory of the host.  Nothing is queued: what is asked for is done."""

    name = "numpy"
    ordered: None = None
    copy = staticmethod(partial(np.copyto, casting="unsafe"))

    def attach(self) -> None:
        """See Arrays."""

    def owns(self, value: object) -> bool:
        """See Arrays."""
        return isinstance(value, np.ndarray)

    def taken(self, value: Any, name: str) -> Array:
        """See Arrays."""
        if not isinstance(value, np.ndarray):
            raise ArgumentError(
                f"{name}={value!r:.60} is a {type(value).__name__}, not a numpy array; "
                "use numpy.asarray"
            )
        return value

    def require(self, dtype: np.dtype[Any]) -> None:
        """See Arrays."""

    def writable(self, array: Array) -> bool:
        """See Arrays."""
        return array.flags.writeable

    def same(self, one: Array, other: Array) -> bool:
        """See Arrays."""
        keys = ("data", "shape", "strides", "typestr")
        first, second = one.__array_interface__, other.__array_interface__
        return all(first.get(key) == second.get(key) for key in keys)

    def overlap(self, one: Array, other: Array) -> bool:
        """See Arrays."""
        try:
            return np.shares_memory(one, other, max_work=_OVERLAP_WORK)  # type: ignore[arg-type]
        except np.exceptions.TooHardError:
            return True

    def empty(self, count: int, dtype: np.dtype[Any]) -> Array:
        """See Arrays."""
        return np.empty(count, dtype)

    def scratch(self, nbytes: int) -> Array:
        """See Arrays."""
        return np.empty(nbytes, np.uint8)

    def merge(self, op: Operator, dtype: np.dtype[Any]) -> Merge:
        """numpy's own function where the merge is one: its warnings are the caller's to silence."""
        return op.merge if op.ufunc is None else op.ufunc

    def finish(self, op: Operator, values: Array, size: int) -> None:
        """See Arrays."""
        op.finish(values, size)

    def mark(self) -> None:
        """See Arrays."""

    def after(self, moment: None) -> None:
        """See Arrays."""

    def lent(self, view: Array) -> Array:
        """See Arrays.  It cannot be written by mistake."""
        view.flags.writeable = False
        return view

    def from_host(self, values: Array) -> Array:
        """See Arrays."""
        return values.copy()

    def to_host(self, array: Array) -> Array:
        """See Arrays."""
        return array.copy()


_OVERLAP_WORK = 100_000
"""How many candidate places to try; beyond, arrays count as overlapping."""

HOST = HostArrays()
