"""From a step to a stage: prepared messages and merges on views of the rank's memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from refcoll.chunks import Layout
from refcoll.graph import Node
from refcoll.interpreters.stage import Apply, Stage
from refcoll.interpreters.vector import Input, Vector
from refcoll.operators import Array, Operator
from refcoll.schedule import (
    Copy,
    Reduce,
    Send,
    incoming_goes_left,
    indices,
    reduced_chunks,
    remote,
)
from refcoll.transport import Bytes, Incoming, Outgoing, Transport


class Compiler:
    """Turns a step into a stage: chunk numbers into views of memory."""

    def __init__(
        self,
        transport: Transport,
        memory: Array,
        layout: Layout,
        op: Operator,
        source: Input | None,
    ) -> None:
        self.transport, self.arrays, self.dtype = transport, transport.arrays, memory.dtype
        self._merge = self.arrays.merge(op, memory.dtype)
        self.vector = Vector(memory, layout, source)

    def stage(self, node: Node) -> Stage:
        """The step, its messages not yet prepared."""
        stage = Stage(node.number, self.arrays)
        for action in node.actions:
            stage.before += self.vector.gather(action.chunks)
        reduced = reduced_chunks(node.actions)
        to_self: list[Array] = []
        for action in node.actions:
            if isinstance(action, Send):
                if remote(action, self.transport.rank):
                    self._send(stage, action, reduced)
                else:
                    to_self.append(self._gathered(stage, self.vector.reads(action.chunks)))
        for action in node.actions:
            if not isinstance(action, Send):
                if remote(action, self.transport.rank):
                    self._receive(stage, action)
                else:
                    self._move(stage, action, to_self.pop(0))
        return stage

    def _send(self, stage: Stage, action: Send, reduced: set[int]) -> None:
        views = self.vector.reads(action.chunks)
        merged_into = not reduced.isdisjoint(indices(action.chunks))
        changes = merged_into and self.vector.in_memory(action.chunks)
        if len(views) > 1:
            views, changes = [self._gathered(stage, views)], False
        for part in self._parts(views[0], action.to):
            stage.sends.append(Outgoing(_bytes(part), action.to, changes))

    def _gathered(self, stage: Stage, views: Sequence[Array]) -> Array:
        """A copy of the views in one piece, made anew before every exchange."""
        whole = self._scratch(views)
        stage.before += zip(_split(whole, views), views, strict=True)
        return whole

    def _move(self, stage: Stage, action: Copy | Reduce, moved: Array) -> None:
        apply = self._apply(action, *self._targets(action))
        stage.ends.append((None, lambda _: apply(moved)))

    def _targets(self, action: Copy | Reduce) -> tuple[list[Array], list[Array]]:
        """Where the action's chunks are read, and where they are written."""
        mine = self.vector.reads(action.chunks)
        return mine, self.vector.writes(action.chunks)

    def _receive(self, stage: Stage, action: Copy | Reduce) -> None:
        mine, targets = self._targets(action)
        if len(targets) == 1:
            parts = (self._parts(each[0], action.source) for each in (mine, targets))
            for part, target in zip(*parts, strict=True):
                in_place = isinstance(action, Copy)
                apply = _nothing if in_place else self._apply(action, [part], [target])
                self._expect(stage, action, target, apply, in_place)
        else:
            whole = self._scratch(targets)
            *first, last = self._parts(whole, action.source)
            for part in first:
                self._expect(stage, action, part, _nothing, True)
            unpack = self._apply(action, mine, targets)
            self._expect(stage, action, last, lambda _: unpack(whole), True)

    def _expect(
        self, stage: Stage, action: Copy | Reduce, part: Array, apply: Apply, land: bool
    ) -> None:
        stage.ends.append((len(stage.receives), apply))
        stage.brought.append(action)
        landing = _bytes(part) if land else None
        stage.receives.append(Incoming(part.nbytes, action.source, landing, self.dtype))

    def _apply(
        self, action: Copy | Reduce, mine: Sequence[Array], targets: Sequence[Array]
    ) -> Apply:
        """Copy into the targets, or merge with what is mine, in operand order."""
        pieces = [self._apply_one(action, *pair) for pair in zip(mine, targets, strict=True)]
        if len(pieces) == 1:
            return pieces[0]

        def several(data: Array) -> None:
            for apply, incoming in zip(pieces, _split(data, targets), strict=True):
                apply(incoming)

        return several

    def _apply_one(self, action: Copy | Reduce, mine: Array, target: Array) -> Apply:
        merge, copy = self._merge, self.arrays.copy
        if isinstance(action, Copy):
            return lambda incoming: copy(target, incoming)
        if incoming_goes_left(action, self.transport.rank):
            return lambda incoming: merge(incoming, mine, target)
        return lambda incoming: merge(mine, incoming, target)

    def _scratch(self, like: Sequence[Array]) -> Array:
        """Memory for the views in one piece."""
        return self.transport.empty(sum(view.nbytes for view in like)).view(self.dtype)

    def _parts(self, view: Array, peer: int) -> Iterator[Array]:
        """The view in segments, each a message of its own; at least one."""
        limit = self.transport.segment_bytes(peer)
        step = max(1, limit // view.itemsize) if limit else max(1, view.size)
        yield from (view[i : i + step] for i in range(0, max(1, view.size), step))


def _nothing(_: Any) -> None:
    """What came has landed, or more of it is to come."""


def _split(whole: Array, like: Sequence[Array]) -> Iterator[Array]:
    """``whole`` cut into pieces as long as the views in ``like``."""
    start = 0
    for view in like:
        yield whole[start : start + view.size]
        start += view.size


def _bytes(view: Array) -> Bytes:
    return view.view(np.uint8)
