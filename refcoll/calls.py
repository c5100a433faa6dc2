"""How a call goes: checked, compared between ranks, planned, run, in order, with its errors."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from refcoll.agreement import Agreement, Said
from refcoll.arguments import checked
from refcoll.buffers import made_result
from refcoll.errors import (
    ArgumentError,
    DisagreementError,
    PoisonedError,
    RefcollError,
    TransportError,
    flag,
    seconds,
)
from refcoll.inorder import Handle, InOrder
from refcoll.oneoff import OneOff
from refcoll.operators import Array
from refcoll.requests import Call, Request, taken
from refcoll.topology import Nodes
from refcoll.transport import Transport
from refcoll.tuning import Tuning
from refcoll.tuning import tuning as find_tuning
from refcoll.words import described

if TYPE_CHECKING:
    from refcoll.stragglers import Watch

DEFAULT_TIMEOUT = 300.0
"""Seconds that any one wait may last."""
T = TypeVar("T")
_FLAGS = (bool, np.bool)


class Calls:
    """One rank's calls, which all ranks of a group make in the same order."""

    def __init__(
        self,
        transport: Transport,
        timeout: float = DEFAULT_TIMEOUT,
        tuning: Tuning | str | os.PathLike[str] | None = None,
    ) -> None:
        if not hasattr(transport, "prepare"):
            raise ArgumentError(
                f"transport={transport!r:.80} is no Transport; refcoll.connect and refcoll.spawn "
                "make communicators"
            )
        self.transport, self._ordered = transport, transport.arrays.ordered
        self.tuning = find_tuning(tuning)
        self.timeout = seconds(timeout)
        self.rank, self.size = transport.rank, transport.size
        self.nodes: Nodes = transport.nodes
        self.agreement = Agreement(transport)
        self._one_off = OneOff(transport)
        self._order = InOrder(transport.threads, self._unheard)
        self._sequence = 0
        self._failure: BaseException | None = None
        self._closed = False
        self.watching: tuple[Watch, ...] = ()
        """What notes calls that are asked for."""
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

    # ---- one call --------------------------------------------------------------------------

    def _call(
        self,
        collective: str,
        async_op: bool,
        timeout: float | None,
        check: bool,
        **arguments: Any,
    ) -> Any:
        """Plan one call, or find its plan, and run it, now or in the background."""
        request = Request(collective=collective, nodes=self.nodes, tuning=self.tuning, **arguments)
        request = self._handed_over(request)
        watching = self.watching

        def whole() -> Array | None:
            sequence = self._next()
            entered = time.monotonic() if watching else 0.0
            call, said = self._agreed(request, sequence, timeout, check, async_op, once=True)
            try:
                result = self._one_off.run(call, said, sequence, self._limit(timeout))
                for watch in watching:
                    watch.note(call.program, sequence, check, entered)
                return result
            except BaseException as error:  # see CollectivePlan._run
                self._abort(error)
                raise

        background = isinstance(async_op, _FLAGS) and async_op
        return self._begin(whole) if background else self._do(whole)

    def _handed_over(self, request: Request) -> Request:
        """The request, on a device with what must be done now, in the caller's thread.

        His arrays are taken: their library may know of his streams.  Where he passes no ``out``
        it is made: what its memory was used for before lies on his stream, among what the call
        follows; later it might be what the call is to overlap with.  What is wrong with the
        request is said when the call's turn comes.
        """
        if self._ordered is not None:
            with suppress(Exception):
                request = taken(request, self.transport.arrays)
                if request.out is None:
                    request = replace(request, out=self._result(request))
        return request

    def _result(self, request: Request) -> Array | None:
        """Room for the result, whose shape no algorithm changes."""
        known, arrays = self._one_off.recall(request), self.transport.arrays
        call = known[0] if known else checked(request, self.rank, self.size, arrays)
        return made_result(call, self.transport)

    def _refuse(self, error: ArgumentError, check: object) -> None:
        """Raise the error, and let the others know unless there is no ``check``."""

        def refuse() -> None:
            sequence = self._next()
            if isinstance(check, _FLAGS) and not check:
                raise error
            self.agreement.require({}, error, self.timeout, sequence)

        self._do(refuse)

    def _agreed(
        self, request: Request, sequence: int, timeout: float | None, check: bool,
        async_op: bool = False, *, once: bool,
    ) -> tuple[Call, Said]:  # fmt: skip
        """The call, once it is right and the same on all ranks; else raise on all of them."""
        found, error = None, None
        limit, compare = self.timeout, True
        try:
            compare = flag(check, "check")
            flag(async_op, "async_op")
            limit = self._limit(timeout)
            request = taken(request, self.transport.arrays)
            found = (self._one_off.recall(request) if once else None) or self._considered(
                request, once
            )
        except RefcollError as wrong:
            error = wrong
        except Exception as wrong:  # of the argument's own making: its __iter__, its __repr__
            error = ArgumentError(f"an argument of {request.collective} cannot be used: {wrong!r}")
            error.__cause__ = wrong
        if compare:
            self.agreement.require(found[1] if found else {}, error, limit, sequence)
        elif error is not None:
            raise error
        assert found is not None
        return found

    def _considered(self, request: Request, once: bool) -> tuple[Call, Said]:
        call = checked(request, self.rank, self.size, self.transport.arrays)
        said = Said(call.record())
        if once:
            self._one_off.remember(call, said)
        return call, said

    def _next(self) -> int:
        """The number of the next call, alike on ranks that are in step.

        Drawn when the call's turn comes: a call within what was submitted may be made before
        or after the caller's next one.
        """
        self._sequence += 1
        return self._sequence

    def _limit(self, timeout: float | None) -> float:
        return self.timeout if timeout is None else seconds(timeout)

    def _do(self, function: Callable[[], T]) -> T:
        function = self._as_called(function)
        return self._order.run(lambda: self._guarded(function))

    def _begin(self, function: Callable[[], T]) -> Handle[T]:
        function = self._as_called(function)
        return self._order.submit(lambda: self._guarded(function))

    def _as_called(self, function: Callable[[], T]) -> Callable[[], T]:
        """What any thread may run: on a device it follows what the caller has queued by now."""
        return function if self._ordered is None else self._ordered(function)

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


def _known_to_all(error: BaseException) -> bool:
    """Whether the other ranks raise too, of themselves: they have compared, or failed before.

    To tell them once more might reach them before they have found out what it was.
    """
    return isinstance(error, DisagreementError | PoisonedError) or "poisons" in vars(error)
