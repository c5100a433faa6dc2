"""One run of a call on one rank: what was seen of it when it returned, and later."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from refcoll.operators import Array
from refcoll.oracle.buffers import Buffers
from refcoll.oracle.calls import Call
from refcoll.oracle.comparing import Truth
from refcoll.oracle.diagnosing.places import where
from refcoll.oracle.guarded import poisoned


@dataclass(frozen=True)
class Seen:
    """One run on this rank, of ``size``."""

    call: Call
    size: int
    buffers: Buffers
    status: str
    """"done", "refused" or what was raised."""
    output: Array | None
    """As it was when the call returned."""
    input_changed: bool
    guards: str | None

    def said(self, right: Truth | None) -> dict[str, Any]:
        """For the other ranks.  ``right`` is what this one was to get."""
        raw = b"" if self.output is None else with_one_nan(self.call, self.output).tobytes()
        told = {
            "status": self.status,
            "digest": hashlib.sha256(raw).hexdigest(),
            "input changed": self.input_changed,
            "guards": self.guards,
            "wrong": 0,
            "rules": None,
        }
        if self.output is None or right is None or self.status != "done":
            return told
        rules = [name for name, check in right.nan_rules.items() if not check(self.output).any()]
        wrong = int(right.check(self.output).sum())
        return {**told, "wrong": wrong, "rules": rules if right.nan_rules else None}

    def late(self, right: Truth | None) -> str | None:
        """What has been written since the call returned, in words, or None."""
        held = self.buffers
        if self.status != "done":
            return None
        if right is not None and held.target is not None and self.output is not None:
            changed = _changed(held.target, self.output)
            if len(changed):
                return self._completed(right, self.output, held.target, changed)
        if held.keeps_input and held.source is not None and not poisoned(held.source).all():
            return "the input was written to after the call had returned"
        if self.guards is None and (broken := held.broken()):
            return f"memory {broken} was written to after the call had returned"
        return None

    def _completed(self, right: Truth, then: Array, now: Array, changed: Array) -> str:
        """What the elements that have changed were, and are."""
        was, now = right.check(then), right.check(now)
        place = where(changed, then.size, self.size)
        if was[changed].any() and not now[changed].any():
            return f"returned before its result was complete: {place} came later"
        return f"the result was written to after the call had returned: {place}"


@dataclass(frozen=True)
class Watched:
    """A run, to whose buffers something may be written still."""

    probe: str
    run: Seen
    right: Truth | None


def seen(call: Call, size: int, held: Buffers, mine: Array, status: str) -> Seen:
    """Of a call that has just returned; from now on its input is poison."""
    kept = held.source if held.keeps_input else None
    changed = kept is not None and kept.tobytes() != mine.tobytes()
    if kept is not None and held.x is not None:
        held.x.poison()  # who reads it only now gets that
    output = None if held.target is None else held.target.copy()
    return Seen(call, size, held, status, output, changed, held.broken())


def _changed(now: Array, then: Array) -> Array:
    """Elements with other bits."""
    if now.tobytes() == then.tobytes():
        return np.empty(0, int)
    width = then.dtype.itemsize
    one, other = (np.ascontiguousarray(x).view(np.uint8).reshape(-1, width) for x in (now, then))
    return np.flatnonzero((one != other).any(axis=1))


def with_one_nan(call: Call, output: Array) -> Array:
    """Where values are merged it is left open which NaN a NaN is."""
    with np.errstate(invalid="ignore"):
        nan = output != output
    if call.op is None or not nan.any():
        return output
    same = output.copy()
    same[nan] = np.nan
    return same
