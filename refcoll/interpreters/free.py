"""Simulate a native program as ranks would run it: each goes on until it lacks a message.

Mailboxes hold what was sent and not yet received, by (source, to).  A rank that finds none
is put by until somebody sends to it.  What comes out does not depend on who runs when: each
message meets its receive by order, and sends carry what chunks held when their step began.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from refcoll.chunks import Layout
from refcoll.operators import Array, Operator
from refcoll.programs import Program
from refcoll.schedule import Chunks, Copy, Reduce, Send, Step, incoming_goes_left, indices


def played(program: Program, vectors: Sequence[Array], layout: Layout, op: Operator) -> bool:
    """Run the program on all ranks' memory.

    False where messages and receives do not match, or nothing moves any more: what was wrong
    is for ``replay`` to find out, and memory is then of no use.
    """
    if program.steps is None:
        return False
    with np.errstate(all="ignore"):
        return _World(program, vectors, layout, op).run()


class _World:
    def __init__(
        self, program: Program, vectors: Sequence[Array], layout: Layout, op: Operator
    ) -> None:
        assert program.steps is not None
        self.cuts = list(accumulate(layout.lengths * program.areas, initial=0))
        self.merge: Any = op.merge if op.ufunc is None else op.ufunc
        self.ranks = [
            _Rank(self, rank, iter(program.steps(rank)), vector)
            for rank, vector in enumerate(vectors)
        ]
        self.mail: dict[tuple[int, int], deque[Array]] = {}
        self.waiting: dict[tuple[int, int], _Rank] = {}
        self.ready = deque(self.ranks)

    def run(self) -> bool:
        """Until nobody can go on; whether all have ended, and no message is left."""
        try:
            while self.ready:
                self.ready.popleft().go_on()
        except (_MismatchError, IndexError):
            return False
        return not self.waiting and not any(self.mail.values())


class _MismatchError(Exception):
    """A message does not fit its receive, or goes nowhere."""


class _Rank:
    """One rank: where it stands in its schedule, and its memory."""

    __slots__ = ("_at", "_rank", "_step", "_steps", "_vector", "_world")

    def __init__(self, world: _World, rank: int, steps: Iterator[Step], vector: Array) -> None:
        self._world, self._rank, self._steps, self._vector = world, rank, steps, vector
        self._step: Step = ()
        self._at = 0
        """Actions of the step that are done, among its receives."""

    def go_on(self) -> None:
        """Until a message is missing, or the schedule ends."""
        world, rank = self._world, self._rank
        mail = world.mail
        while True:
            for at in range(self._at, len(self._step)):
                action = self._step[at]
                if type(action) is not Send:
                    way = (action.source, rank)  # type: ignore[union-attr]
                    box = mail.get(way)
                    if not box:
                        self._at = at
                        world.waiting[way] = self
                        return
                    self._apply(action, box.popleft())  # type: ignore[arg-type]
            step = next(self._steps, None)
            if step is None:
                return
            self._step, self._at = step, 0
            for action in step:
                if type(action) is Send:
                    self._send(action)

    def _send(self, action: Send) -> None:
        world, way = self._world, (self._rank, action.to)
        box = world.mail.get(way)
        if box is None:
            if not 0 <= action.to < len(world.ranks):
                raise _MismatchError
            box = world.mail[way] = deque()
        span = self._span(action.chunks)
        if span is not None:
            box.append(self._vector[span].copy())
        else:
            each = [self._vector[self._span(index)] for index in indices(action.chunks)]
            box.append(np.concatenate(each))
        waiting = world.waiting.pop(way, None)
        if waiting is not None:
            world.ready.append(waiting)

    def _apply(self, action: Copy | Reduce, came: Array) -> None:
        span = self._span(action.chunks)
        if span is not None:
            self._end(action, self._vector[span], came)
            return
        start = 0
        for index in indices(action.chunks):
            mine = self._vector[self._span(index)]
            self._end(action, mine, came[start : start + mine.size])
            start += mine.size
        if start != came.size:
            raise _MismatchError

    def _end(self, action: Copy | Reduce, mine: Array, incoming: Array) -> None:
        if mine.size != incoming.size:
            raise _MismatchError
        if type(action) is Copy:
            mine[:] = incoming
        elif incoming_goes_left(action, self._rank):  # type: ignore[arg-type]
            self._world.merge(incoming, mine, mine)
        else:
            self._world.merge(mine, incoming, mine)

    def _span(self, chunks: Chunks) -> slice | None:
        """Where the chunks lie; None if they are not neighbours."""
        cuts = self._world.cuts
        if isinstance(chunks, int):
            first, last = chunks, chunks + 1
        elif isinstance(chunks, range) and chunks.step == 1 and chunks:
            first, last = chunks.start, chunks.stop
        else:
            return None if chunks else slice(0, 0)
        if first < 0:
            raise _MismatchError
        return slice(cuts[first], cuts[last])
