"""Buckets that become ready while backward runs, reduced one after another.

backward   |=======compute======|          bucket i is ready when the work before it is done
bucket 0         [=====]                   start_i = max(ready_i, end_(i-1))
bucket 1               [====]
bucket 2                       [==####]    exposed = max(0, end_last - end of backward)

With nothing else in the way all ends are known at once, as in any queue with one server:

    end_i = max over j <= i of (ready_j + length_j + ... + length_i)

Computing may be slower while a bucket is being reduced (both want memory and processors):
then ready times depend on earlier buckets, and are found one after another.  Works on floats
and on fractions alike.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Reduced:
    """One bucket.  Seconds."""

    ready: float
    start: float
    end: float


class Computing:
    """A rank that computes from ``begin`` on, ``slowdown`` times slower while ``busy``.

    ``busy`` are the times of reductions, in order; more may be appended as they become known.
    """

    def __init__(self, begin: float, slowdown: float, busy: Iterable[Reduced] = ()) -> None:
        self.now, self._slowdown, self.busy = begin, slowdown, deque(busy)

    def advance(self, work: float) -> float:
        """When so many more seconds of work, at full speed, are done."""
        while self.busy:
            span = self.busy[0]
            alone = max(span.start - self.now, 0)
            beside = max(span.end - max(span.start, self.now), 0) / self._slowdown
            if work <= alone:
                break
            if work <= alone + beside:
                self.now += alone + (work - alone) * self._slowdown
                return self.now
            self.now, work = max(self.now, span.end), work - alone - beside
            self.busy.popleft()
        self.now += work
        return self.now


def reduced(
    work: Sequence[float],
    lengths: Sequence[float],
    *,
    begin: float = 0,
    slowdown: float = 1,
    after: float = 0,
) -> tuple[list[Reduced], float]:
    """The buckets, and when backward ends.

    Bucket i is ready ``work[i]`` seconds after the bucket before it, were there no slowdown, and
    takes ``lengths[i]``; ``after`` is the work behind the last bucket.
    """
    computing, free, found = Computing(begin, slowdown), begin, []
    for needed, length in zip(work, lengths, strict=True):
        ready = computing.advance(needed)
        start = max(ready, free)
        free = start + length
        found.append(Reduced(ready, start, free))
        computing.busy.append(found[-1])
    return found, computing.advance(after)
