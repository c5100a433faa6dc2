"""Calls that are made once at a time, but mostly not for the first time.

A loop that calls ``all_reduce`` on arrays of one shape makes the same call again and again.
What was checked of its arguments, what it says in the handshake and, for vectors that are
copied faster than planned anew, its plan, on memory of its own, are kept for the next.

Plans are found by what the ranks have agreed upon and by nothing else, so all ranks keep
and forget the same ones, whatever their arrays are like.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from refcoll.agreement import CHANNEL, Said
from refcoll.buffers import Buffers
from refcoll.interpreters.execute import Input, Plan
from refcoll.operators import Array, is_builtin
from refcoll.outputs import checked_out
from refcoll.requests import Call, Request
from refcoll.transport import Transport

_NONE = np.empty(0)
LONGEST = 1 << 20
"""Bytes up to which a vector is copied into a kept plan's memory and out again."""
_PLANS, _CALLS = 32, 256
"""How many are kept."""


@dataclass(frozen=True, eq=False)
class _Known:
    call: Call
    said: Said


@dataclass(frozen=True, eq=False)
class _Kept:
    memory: Array
    plan: Plan


class OneOff:
    """One rank's memory of its communicator's one-off calls."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._calls: dict[Hashable, _Known] = {}
        self._plans: dict[bytes, _Kept] = {}

    def recall(self, request: Request) -> tuple[Call, Said] | None:
        """The call, if the same was made before on other arrays.

        Raises ArgumentError for an ``out`` that does not fit.
        """
        signature = self._signature(request)
        known = None if signature is None else self._calls.get(signature)
        if known is None:
            return None
        out = checked_out(known.call, request, self._transport.rank, self._transport.arrays)
        return replace(known.call, request=request, x=request.x, out=out), known.said

    def remember(self, call: Call, said: Said) -> None:
        """For the next time."""
        signature = self._signature(call.request)
        if signature is not None and is_builtin(call.op):
            if len(self._calls) >= _CALLS:
                self._calls.clear()
            # Without the caller's arrays, which are none of ours.
            bare = replace(call.request, x=None, out=None)
            self._calls[signature] = _Known(replace(call, request=bare, x=_NONE, out=None), said)

    def run(self, call: Call, said: Said, sequence: int, timeout: float) -> Array | None:
        """Do the call that all ranks have agreed upon."""
        if not self._keeps(call):
            buffers = Buffers(call, self._transport)
            plan = _plan(call, self._transport, buffers.memory, sequence, buffers.source)
        else:
            kept = self._plans.pop(said.digest, None) or self._made(call, sequence)
            self._plans[said.digest] = kept  # the one used last stands last
            if len(self._plans) > _PLANS:
                del self._plans[next(iter(self._plans))]
            buffers, plan = Buffers(call, self._transport, kept.memory), kept.plan
        buffers.load()
        plan.run(timeout)
        return buffers.store()

    def _keeps(self, call: Call) -> bool:
        """Whether the plan is to be kept; the same on all ranks."""
        nbytes = call.program.areas * call.layout.count * call.dtype.itemsize
        return nbytes <= LONGEST and is_builtin(call.op)

    def _made(self, call: Call, sequence: int) -> _Kept:
        count = call.program.areas * call.layout.count
        memory = self._transport.empty(count * call.dtype.itemsize).view(call.dtype)
        return _Kept(memory, _plan(call, self._transport, memory, sequence))

    def _signature(self, request: Request) -> Hashable:
        """All that a call depends on, apart from the values in the arrays; None for what is not
        of the usual types, which must be looked at anew."""
        x: Any = request.x
        usual = type(request.root) is int and type(request.algorithm) is str
        if not usual or not self._transport.arrays.owns(x) or request.counts is not None:
            return None
        if not isinstance(request.op, str) or not isinstance(request.accumulate, str | None):
            return None
        return (
            request.collective, x.shape, x.dtype, request.op, request.root, request.algorithm,
            request.accumulate,
        )  # fmt: skip


def _plan(
    call: Call, transport: Transport, memory: Array, sequence: int, source: Input | None = None
) -> Plan:
    channel = CHANNEL + sequence
    return Plan(call.program, transport, memory, call.layout, call.op, channel, source)
