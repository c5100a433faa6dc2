"""Do things one after another, in the order in which they were asked for.

Ranks match their calls by order, so an operation in the background must neither overtake
nor be overtaken.  Until the first one there is no thread; from then on everything goes
through one.
"""

from __future__ import annotations

import atexit
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Handle(Generic[T]):
    """An operation under way."""

    def __init__(self, future: Future[T]) -> None:
        self._future = future
        self._heard = False

    def wait(self) -> T:
        """Wait for it; its result, or raise what went wrong with it."""
        self._heard = True
        return self._future.result()

    def __del__(self) -> None:
        if not self._heard:
            self._future.add_done_callback(_tell_failure)

    def done(self) -> bool:
        """Whether ``wait`` would return, or raise, at once."""
        return self._future.done()


def _tell_failure(future: Future[Any]) -> None:
    error = future.exception()
    if error is not None:
        said = "refcoll: an operation failed and nobody waited for it"
        print(f"{said}: {error}", file=sys.stderr, flush=True)


class InOrder:
    """Runs functions in order, in the background if asked to and if ``threads`` allows."""

    def __init__(self, threads: bool) -> None:
        self._threads = threads
        self._tasks: SimpleQueue[Callable[[], object] | None] = SimpleQueue()
        self._worker: threading.Thread | None = None

    def run(self, function: Callable[[], T]) -> T:
        """Do it now, after all that was asked for before."""
        if self._worker is None or self._worker is threading.current_thread():
            return function()
        return self._enqueued(function).result()

    def submit(self, function: Callable[[], T]) -> Handle[T]:
        """Do it in the background; at once where threads are not to be used."""
        if not self._threads:
            future: Future[T] = Future()
            _settle(future, function)
            return Handle(future)
        if self._worker is None:
            # Not ThreadPoolExecutor: an exit after an error must not wait for its thread.
            self._worker = threading.Thread(target=self._work, name="refcoll", daemon=True)
            self._worker.start()
            atexit.register(self.close)
        return Handle(self._enqueued(function))

    def close(self) -> None:
        """Wait for what is under way, and end the thread."""
        self._stop(join=True)

    def abandon(self) -> None:
        """Wait for nothing: the process, or the communicator, has failed."""
        self._stop(join=False)

    def _stop(self, join: bool) -> None:
        if self._worker is not None:
            self._tasks.put(None)
            if join:
                self._worker.join()
            self._worker = None
            atexit.unregister(self.close)

    def _enqueued(self, function: Callable[[], T]) -> Future[T]:
        future: Future[T] = Future()
        self._tasks.put(lambda: _settle(future, function))
        return future

    def _work(self) -> None:
        while (task := self._tasks.get()) is not None:
            task()


def _settle(future: Future[Any], function: Callable[[], Any]) -> None:
    try:
        future.set_result(function())
    except BaseException as error:
        future.set_exception(error)
