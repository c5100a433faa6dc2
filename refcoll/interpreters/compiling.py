"""From a step to a stage: prepared messages and merges on views of the rank's memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from refcoll.arrays import Arrays
from refcoll.chunks import Layout, runs
from refcoll.errors import DeadlineError, TransportError
from refcoll.graph import Node
from refcoll.operators import Array, Operator
from refcoll.schedule import (
    Chunks,
    Copy,
    Reduce,
    Send,
    incoming_goes_left,
    indices,
    reduced_chunks,
    remote,
)
from refcoll.transport import Bytes, Exchange, Incoming, Outgoing, Transport
from refcoll.words import spans

Apply: TypeAlias = Callable[[Any], object]
"""What to do with the elements that a receive brought, or that move within the rank."""


_SPANS = 8
"""So many runs of chunks of a message are told of."""


@dataclass
class Stage:
    """One step, compiled."""

    number: int
    arrays: Arrays
    before: list[tuple[Array, Array]] = field(default_factory=list)
    """(to, from): copies made before the exchange starts."""
    sends: list[Outgoing] = field(default_factory=list)
    receives: list[Incoming] = field(default_factory=list)
    brought: list[Copy | Reduce] = field(default_factory=list)
    """The action of each receive; a long message is several receives."""
    ends: list[tuple[int | None, Apply]] = field(default_factory=list)
    """What is done at the end of the step, in order, each after waiting for a receive."""

    def prepare(self, transport: Transport, channel: int) -> None:
        """Make the exchange, once all messages are known."""
        if self.sends or self.receives:
            exchange: Exchange = transport.prepare(self.sends, self.receives, channel)
            self.start, self.wait, self.release = exchange.start, exchange.wait, exchange.release
        else:
            self.start, self.wait, self.release = (lambda: None), _never, (lambda timeout: None)

    def run(self, timeout: float) -> None:
        """Do it once."""
        for to, source in self.before:
            self.arrays.copy(to, source)
        self.start()
        receive = None
        try:
            for receive, apply in self.ends:
                apply(None if receive is None else self.wait(receive, timeout))
            receive = None
            self.release(timeout)
        except TransportError as error:
            if receive is None:
                raise
            late = isinstance(error, DeadlineError)
            told = error.told(f"{error.message} ({self.where(receive, late)})")
            raise told from error.__cause__

    def where(self, awaited: int, late: bool) -> str:
        """What receive ``awaited`` is of, and, where it is ``late``, how much of that has come."""
        action = self.brought[awaited]
        parts = [i for i, each in enumerate(self.brought) if each is action]
        came = sum(self.receives[i].nbytes for i in parts if i < awaited)
        whole = sum(self.receives[i].nbytes for i in parts)
        chunks = indices(action.chunks)
        what = f"chunk{'' if len(chunks) == 1 else 's'} {spans(chunks, _SPANS)}"
        had_come = f"; {came} of {whole} bytes had come" if late else ""
        return f"{what} from rank {action.source}{had_come}"


def _never(index: int, timeout: float) -> Array:
    raise AssertionError("a step without messages waits for one")


@dataclass(frozen=True, eq=False)
class Input:
    """A rank's input that does not lie in the plan's memory."""

    values: Array
    """1-D, contiguous, of the memory's dtype."""
    chunks: range
    """Which chunks it holds."""
    needed: range
    """Which chunks must lie in memory in the end."""


class Vector:
    """The rank's memory as chunks.  What was not yet written is read from its input."""

    def __init__(self, memory: Array, layout: Layout, source: Input | None) -> None:
        self.memory, self._layout, self._source = memory, layout, source
        self._unwritten = set(source.chunks) if source is not None else set()

    def reads(self, chunks: Chunks) -> list[Array]:
        """Where the chunks are to be read: a view per run of neighbours, at least one."""
        spans = runs(indices(chunks))
        return [self._read(first, last) for first, last in spans] or [self.memory[:0]]

    def writes(self, chunks: Chunks) -> list[Array]:
        """Where the chunks are to be written, likewise.  From now on they are read there."""
        spans = runs(indices(chunks))
        self._unwritten.difference_update(indices(chunks))
        return [self.memory[self._layout.span(*each)] for each in spans] or [self.memory[:0]]

    def gather(self, chunks: Chunks) -> list[tuple[Array, Array]]:
        """(to, from): what to copy into memory so that no run of neighbours lies half there."""
        copies = []
        for first, last in runs(indices(chunks)):
            fresh = self._unwritten.intersection(range(first, last))
            if 0 < len(fresh) < last - first:
                copies += [self._load(index) for index in sorted(fresh)]
        return copies

    def in_memory(self, chunks: Chunks) -> bool:
        """Whether all of the chunks are read from memory, not from the input."""
        return self._unwritten.isdisjoint(indices(chunks))

    def rest(self) -> list[tuple[Array, Array]]:
        """(to, from): what no step has written and is needed all the same."""
        needed = set(self._source.needed) if self._source is not None else set()
        return [self._load(index) for index in sorted(self._unwritten & needed)]

    def _load(self, index: int) -> tuple[Array, Array]:
        taken = self._read(index, index + 1)
        (to,) = self.writes(index)
        return to, taken

    def _read(self, first: int, last: int) -> Array:
        span = self._layout.span(first, last)
        if self._source is None or first not in self._unwritten:
            return self.memory[span]
        start = self._layout.span(self._source.chunks.start, self._source.chunks.start + 1).start
        return self._source.values[span.start - start : span.stop - start]


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
