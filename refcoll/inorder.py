"""Do things one after another, in the order in which they were asked for.

Ranks match their calls by order, so an operation in the background must neither overtake
nor be overtaken.  Until the first one there is no thread; from then on everything goes
through one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Handle(Generic[T]):
    """An operation under way."""

    def __init__(self, future: Future[T]) -> None:
        self._future = future

    def wait(self) -> T:
        """Wait for it; its result, or raise what went wrong with it."""
        return self._future.result()

    def done(self) -> bool:
        """Whether ``wait`` would return, or raise, at once."""
        return self._future.done()


class InOrder:
    """Runs functions in order, in the background if asked to and if ``threads`` allows."""

    def __init__(self, threads: bool) -> None:
        self._threads = threads
        self._pool: ThreadPoolExecutor | None = None
        self._worker: int | None = None

    def run(self, function: Callable[[], T]) -> T:
        """Do it now, after all that was asked for before."""
        if self._pool is None or threading.get_ident() == self._worker:
            return function()
        return self._pool.submit(function).result()

    def submit(self, function: Callable[[], T]) -> Handle[T]:
        """Do it in the background; at once where threads are not to be used."""
        if not self._threads:
            return Handle(_settled(function))
        if self._pool is None:
            self._pool = ThreadPoolExecutor(1, "refcoll", initializer=self._note_worker)
        return Handle(self._pool.submit(function))

    def close(self) -> None:
        """Wait for what is under way, and end the thread."""
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None

    def _note_worker(self) -> None:
        self._worker = threading.get_ident()


def _settled(function: Callable[[], T]) -> Future[Any]:
    future: Future[Any] = Future()
    try:
        future.set_result(function())
    except Exception as error:
        future.set_exception(error)
    return future
