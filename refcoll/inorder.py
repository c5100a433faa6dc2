"""Do things one after another, in the order in which they were asked for.

Ranks match their calls by order, so an operation in the background must neither overtake
nor be overtaken.  Until the first one there is no thread; from then on everything goes
through one.
"""

from __future__ import annotations

import atexit
import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Handle(Generic[T]):
    """An operation under way."""

    def __init__(self) -> None:
        self._future: Future[T] = Future()
        self._heard = False

    def wait(self) -> T:
        """Wait for it; its result, or raise what went wrong with it."""
        self._heard = True
        return self._future.result()

    def ignore(self) -> None:
        """Nobody will wait for it: its error, if it has one, is that of something else."""
        self._heard = True

    def done(self) -> bool:
        """Whether ``wait`` would return, or raise, at once."""
        return self._future.done()

    def __repr__(self) -> str:
        return f"<Handle of an operation that is {'done' if self.done() else 'under way'}>"

    def _settle(self, function: Callable[[], T]) -> None:
        try:
            self._future.set_result(function())
        except BaseException as error:
            self._future.set_exception(error)


class InOrder:
    """Runs functions in order, in the background if asked to and if ``threads`` allows.

    ``unheard`` is told, at the end, of the first error in the background that no ``wait``
    has raised.
    """

    def __init__(self, threads: bool, unheard: Callable[[BaseException], None]) -> None:
        self._threads = threads
        self._unheard = unheard
        self._tasks: SimpleQueue[Callable[[], object] | None] = SimpleQueue()
        self._worker: threading.Thread | None = None
        self._failed: list[Handle[Any]] = []
        self._at_exit = False

    @property
    def idle(self) -> bool:
        """Whether nothing was ever asked for in the background: what is run now is in order."""
        return self._worker is None

    def run(self, function: Callable[[], T]) -> T:
        """Do it now, after all that was asked for before."""
        if self._worker is None or self._worker is threading.current_thread():
            return function()
        return self._enqueued(function).wait()

    def submit(self, function: Callable[[], T]) -> Handle[T]:
        """Do it in the background; at once where threads are not to be used."""
        if not self._at_exit:
            self._at_exit = True
            atexit.register(self.close)
        if not self._threads:
            handle: Handle[T] = Handle()
            self._settle(handle, function)
            return handle
        if self._worker is None:
            # Not ThreadPoolExecutor: an exit after an error must not wait for its thread.
            work, tasks = self._work, self._tasks
            self._worker = threading.Thread(target=work, args=[tasks], name="refcoll", daemon=True)
            self._worker.start()
        return self._enqueued(function)

    def close(self) -> None:
        """Wait for what is under way, end the thread, and tell of errors that nobody heard."""
        self._stop(join=True)
        for handle in self._failed:
            error = handle._future.exception()
            if not handle._heard and error is not None:
                self._unheard(error)
                break
        self._failed.clear()

    def abandon(self) -> None:
        """Wait for nothing: the process, or the communicator, has failed.

        What was asked for before still runs; what comes later never meets its thread.
        """
        self._stop(join=False)
        self._tasks = SimpleQueue()

    def _stop(self, join: bool) -> None:
        if self._worker is not None:
            self._tasks.put(None)
            if join:
                self._worker.join()
            self._worker = None
        atexit.unregister(self.close)
        self._at_exit = False

    def _enqueued(self, function: Callable[[], T]) -> Handle[T]:
        handle: Handle[T] = Handle()
        self._tasks.put(lambda: self._settle(handle, function))
        return handle

    def _settle(self, handle: Handle[Any], function: Callable[[], Any]) -> None:
        handle._settle(function)
        if handle._future.exception() is not None:
            self._failed.append(handle)

    def _work(self, tasks: SimpleQueue[Callable[[], object] | None]) -> None:
        while (task := tasks.get()) is not None:
            task()
