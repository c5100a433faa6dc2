"""How a call goes: checked, compared between ranks, planned and run, when its turn comes."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from refcoll.agreement import Agreement, Said
from refcoll.arguments import checked
from refcoll.buffers import made_result
from refcoll.errors import ArgumentError, RefcollError, flag, ours, seconds
from refcoll.oneoff import OneOff
from refcoll.operators import Array
from refcoll.requests import Call, Request, taken
from refcoll.topology import Nodes
from refcoll.transport import Transport
from refcoll.tuning import Tuning
from refcoll.tuning import tuning as find_tuning
from refcoll.turns import Turns, now

if TYPE_CHECKING:
    from refcoll.stragglers import Watch

DEFAULT_TIMEOUT = 300.0
"""Seconds that any one wait may last."""
_FLAGS = (bool, np.bool)


@dataclass(frozen=True)
class Considered:
    """A request, and what comes of considering it."""

    collective: str
    found: Callable[[], tuple[Call, Said]]
    """The call, right by itself, and what it says to the other ranks; or raises what is wrong."""


class Calls(Turns):
    """One rank's calls, which all ranks of a group make in the same order."""

    def __init__(
        self,
        transport: Transport,
        timeout: float = DEFAULT_TIMEOUT,
        tuning: Tuning | str | os.PathLike[str] | None = None,
    ) -> None:
        super().__init__(transport)
        self.tuning = find_tuning(tuning)
        self.timeout = seconds(timeout)
        self.nodes: Nodes = transport.nodes
        self.agreement = Agreement(transport)
        self._one_off = OneOff(transport)
        self.watching: tuple[Watch, ...] = ()
        """What notes calls that are asked for."""

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
        considered = self._handed_over(request, once=True)
        watching = self.watching

        def whole() -> Array | None:
            sequence = self._next()
            entered = time.monotonic() if watching else 0.0
            call, said = self._agreed(considered, sequence, timeout, check, async_op)
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

    # ---- by itself ---------------------------------------------------------------------------

    def _handed_over(self, request: Request, once: bool) -> Considered:
        """The request, considered when its turn comes; on a device at once, in the caller's
        thread: the library of his arrays may know of his streams.

        Where he passes no ``out`` there it is made at once too: what its memory was used for
        before lies on his stream, among what the call follows; later it might be what the call
        is to overlap with.
        """
        if self._ordered is None:
            return Considered(request.collective, lambda: self._considered(request, once))

        def found() -> tuple[Call, Said]:
            call, said = self._considered(request, once)
            return (call if call.out is not None else self._with_room(call)), said

        return Considered(request.collective, now(found))

    def _considered(self, request: Request, once: bool) -> tuple[Call, Said]:
        """What is right by itself; or raises what is wrong."""
        request = taken(request, self.transport.arrays)
        known = self._one_off.recall(request) if once else None
        return known or self._checked(request, once)

    def _checked(self, request: Request, once: bool) -> tuple[Call, Said]:
        call = checked(request, self.rank, self.size, self.transport.arrays)
        said = Said(call.record())
        if once:
            self._one_off.remember(call, said)
        return call, said

    def _with_room(self, call: Call) -> Call:
        """The call with room for its result, whose shape no algorithm changes."""
        try:
            return replace(call, out=made_result(call, self.transport))
        except RefcollError:
            raise
        except Exception as full:  # the library's own
            name = call.request.collective
            raise ArgumentError(
                f"there is no room for the result of {name}: {full!r}; free memory, or pass out="
            ) from full

    # ---- with the others ---------------------------------------------------------------------

    def _agreed(
        self, considered: Considered, sequence: int, timeout: float | None, check: bool,
        async_op: bool = False,
    ) -> tuple[Call, Said]:  # fmt: skip
        """The call, once it is right and the same on all ranks; else raise on all of them."""
        found, error = None, None
        limit, compare = self.timeout, True  # where the arguments themselves are wrong
        try:
            compare = flag(check, "check")
            flag(async_op, "async_op")
            limit = self._limit(timeout)
            found = considered.found()
        except Exception as wrong:
            error = ours(wrong, f"an argument of {considered.collective}")
        if compare:
            self.agreement.require(found[1] if found else {}, error, limit, sequence)
        elif error is not None:
            raise error
        assert found is not None
        return found

    def _refuse(self, error: ArgumentError, check: object) -> None:
        """Raise the error, and let the others know unless there is no ``check``."""

        def refuse() -> None:
            sequence = self._next()
            if isinstance(check, _FLAGS) and not check:
                raise error
            self.agreement.require({}, error, self.timeout, sequence)

        self._do(refuse)

    def _limit(self, timeout: float | None) -> float:
        return self.timeout if timeout is None else seconds(timeout)
