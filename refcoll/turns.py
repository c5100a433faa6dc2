"""Whose turn it is: what one rank asks for, one after another, and what ends it.

What goes wrong poisons a communicator, whose ranks may then be out of step, and is told to
those that may be waiting for this one.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar

from refcoll.errors import (
    ArgumentError,
    DisagreementError,
    PoisonedError,
    RefcollError,
    TransportError,
)
from refcoll.inorder import Handle, InOrder
from refcoll.transport import Transport
from refcoll.words import described

T = TypeVar("T")


class Turns:
    """One rank's operations over a transport, in the order in which they were asked for."""

    def __init__(self, transport: Transport) -> None:
        if not hasattr(transport, "prepare"):
            raise ArgumentError(
                f"transport={transport!r:.80} is no Transport; refcoll.connect and refcoll.spawn "
                "make communicators"
            )
        self.transport, self._ordered = transport, transport.arrays.ordered
        self.rank, self.size = transport.rank, transport.size
        self._order = InOrder(transport.threads, self._unheard)
        self._sequence = 0
        self._failure: BaseException | None = None
        self._closed = False
        self.unheard: BaseException | None = None
        """What went wrong in the background, and no ``wait`` has raised, once it is closed."""

    def submit(self, function: Callable[[], T]) -> Handle[T]:
        """Run ``function`` in the background, in order with this communicator's other calls.

        It may call them itself, one after another; ``wait()`` of the handle returns what it
        returns, or raises what it raises.  What it raises poisons the communicator and is told
        to the other ranks, as of a call.  Without threads (``transport.threads``) it runs at once.
        Raises ArgumentError for what cannot be called, PoisonedError once it has failed or closed.
        """
        if not callable(function):
            raise ArgumentError(f"function={function!r:.80} must be a function without arguments")
        self._require_usable()

        def told() -> T:
            try:
                return function()
            except BaseException as error:
                if not _known_to_all(error):
                    self._abort(error)
                raise

        return self._begin(told)

    def close(self) -> None:
        """Free what the communicator holds.  Waits for operations under way on this rank.

        Later calls raise PoisonedError.
        """
        self._order.close()
        if not self._closed:
            self._closed = True
            self.transport.close()

    def fail(self, error: BaseException) -> None:
        """This rank cannot go on: tell the others, and refuse later calls.  Waits for nothing."""
        self._failure = self._failure or error
        if not _known_to_all(error):
            self._abort(error)
        self._order.abandon()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} rank {self.rank} of {self.size} over {self.transport.name}>"

    # ---- in order ----------------------------------------------------------------------------

    def _next(self) -> int:
        """The number of the next call, alike on ranks that are in step.

        Drawn when the call's turn comes: a call within what was submitted may be made before
        or after the caller's next one.
        """
        self._sequence += 1
        return self._sequence

    def _do(self, function: Callable[[], T]) -> T:
        function = self._as_called(function)
        return self._order.run(lambda: self._guarded(function))

    def _begin(self, function: Callable[[], T]) -> Handle[T]:
        function = self._as_called(function)
        return self._order.submit(lambda: self._guarded(function))

    def _as_called(self, function: Callable[[], T]) -> Callable[[], T]:
        """What any thread may run: on a device it follows what the caller has queued by now."""
        if self._ordered is None:
            return function
        order = self._ordered
        ready = now(lambda: order(function))
        return lambda: ready()()

    # ---- what ends it ------------------------------------------------------------------------

    def _unheard(self, error: BaseException) -> None:
        """An operation has failed and nobody waited for it: say so, and let the job fail."""
        self.unheard = error
        said = f"rank {self.rank}: an operation failed and nobody waited for it: {error}"
        sys.stderr.write(f"refcoll: {said}\n")
        sys.stderr.flush()
        self.transport.abort(said, self.rank)

    def _require_usable(self) -> None:
        if self._closed:
            raise PoisonedError("this communicator was closed and cannot be used again")
        if self._failure is not None:
            raise PoisonedError(
                f"this communicator failed before and cannot be used again: {self._failure}"
            ) from self._failure

    def _guarded(self, function: Callable[..., T], *arguments: Any) -> T:
        """Refuse if poisoned; be poisoned by what goes wrong."""
        self._require_usable()
        try:
            return function(*arguments)
        except BaseException as error:
            if getattr(error, "poisons", True):
                self._failure = error
            if not isinstance(error, RefcollError) or isinstance(error, TransportError):
                self._abort(error)
            raise

    def _abort(self, error: BaseException) -> None:
        """Let the others, who may be waiting for this rank, know that it has failed."""
        guilty: int | None = self.rank
        said = f"failed: {described(error)}"
        if isinstance(error, TransportError):
            said, guilty = f"gave up: {error}", error.culprit
        self.transport.abort(f"rank {self.rank} {said}", guilty)


def now(function: Callable[[], T]) -> Callable[[], T]:
    """The function, run at once: what it has returned or raised is for whoever calls it."""
    try:
        found = function()
    except Exception as error:
        wrong = error  # Python forgets ``error`` at the end of this block

        def failed() -> T:
            raise wrong

        return failed
    return lambda: found


def _known_to_all(error: BaseException) -> bool:
    """Whether the other ranks raise too, of themselves: they have compared, or failed before.

    To tell them once more might reach them before they have found out what it was.  Who raises
    what all know sets ``poisons`` of that error.
    """
    return isinstance(error, DisagreementError | PoisonedError) or "poisons" in vars(error)
