"""Run one rank of a program over a transport.

A plan is compiled once: every step becomes a stage of prepared messages and merges on fixed
views of the rank's memory.  Running it is a loop over the stages:

    pack the chunks that are scattered
    start the exchange
    for each receive, in the order written: wait for it, merge or unpack it
    release the exchange: now the sent chunks may change

What a step both sends and merges into, the transport keeps as it was (``changes``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextvars import copy_context
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from refcoll.chunks import Layout, runs
from refcoll.errors import DeadlineError, TransportError
from refcoll.graph import Node, is_chain
from refcoll.operators import Array, Operator
from refcoll.programs import Program
from refcoll.schedule import (
    Chunks,
    Copy,
    Reduce,
    ScheduleError,
    Send,
    incoming_goes_left,
    indices,
    reduced_chunks,
    remote,
)
from refcoll.transport import Bytes, Exchange, Incoming, Outgoing, Transport

Apply: TypeAlias = Callable[[Any], object]
"""What to do with the elements that a receive brought, or that move within the rank."""


@dataclass
class _Stage:
    """One step, compiled."""

    number: int
    before: list[tuple[Array, Array]] = field(default_factory=list)
    """(to, from): copies made before the exchange starts."""
    sends: list[Outgoing] = field(default_factory=list)
    receives: list[Incoming] = field(default_factory=list)
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
            np.copyto(to, source)
        self.start()
        for receive, apply in self.ends:
            apply(None if receive is None else self.wait(receive, timeout))
        self.release(timeout)


def _never(index: int, timeout: float) -> Array:
    raise AssertionError("a step without messages waits for one")


class Plan:
    """One rank's part in ``program``, on ``memory``, to be run any number of times.

    ``memory`` is the rank's vector, 1-D and contiguous, and any scratch areas behind it.
    """

    def __init__(
        self,
        program: Program,
        transport: Transport,
        memory: Array,
        layout: Layout,
        op: Operator,
        channel: int,
    ) -> None:
        self.program, self.transport = program, transport
        graph = program.graph(transport.rank)
        if not is_chain(graph):
            raise ScheduleError(f"{program.title} has steps side by side; they cannot be run")
        compiler = _Compiler(transport, memory, layout, op)
        self.stages = [compiler.stage(node) for node in graph]
        for stage in self.stages:
            stage.prepare(transport, channel)
        # numpy keeps its error state in the context: entering one is cheaper than errstate.
        self._quiet = copy_context() if op.ufunc is not None else None
        if self._quiet is not None:
            self._quiet.run(np.seterr, all="ignore")

    def run(self, timeout: float) -> None:
        """Do it once.  No wait lasts longer than ``timeout`` seconds.

        Raises TransportError, or a kind of it, that says at which step it went wrong.
        """
        if self._quiet is not None:
            self._quiet.run(self._run_all, timeout)
        else:
            self._run_all(timeout)

    def _run_all(self, timeout: float) -> None:
        stage = None
        try:
            for stage in self.stages:
                stage.run(timeout)
        except TransportError as error:
            assert stage is not None
            where = f"rank {self.transport.rank}, step {stage.number + 1}"
            remedy = "; see that rank's output, or allow more time by timeout="
            remedy = remedy if isinstance(error, DeadlineError) else ""
            raise type(error)(f"{self.program.title}, {where}: {error}{remedy}") from error


class _Compiler:
    """Turns a step into a stage: chunk numbers into views of memory."""

    def __init__(self, transport: Transport, memory: Array, layout: Layout, op: Operator) -> None:
        self.transport, self.memory, self.layout, self.op = transport, memory, layout, op

    def stage(self, node: Node) -> _Stage:
        stage = _Stage(node.number)
        reduced = reduced_chunks(node.actions)
        to_self: list[Array] = []
        for action in node.actions:
            if isinstance(action, Send):
                if remote(action, self.transport.rank):
                    self._send(stage, action, reduced)
                else:
                    to_self.append(self._gathered(stage, self._views(action.chunks)))
        for action in node.actions:
            if not isinstance(action, Send):
                if remote(action, self.transport.rank):
                    self._receive(stage, action)
                else:
                    self._move(stage, action, to_self.pop(0))
        return stage

    def _send(self, stage: _Stage, action: Send, reduced: set[int]) -> None:
        views = self._views(action.chunks)
        changes = not reduced.isdisjoint(indices(action.chunks))
        if len(views) > 1:
            views, changes = [self._gathered(stage, views)], False
        for part in self._parts(views[0], action.to):
            stage.sends.append(Outgoing(_bytes(part), action.to, changes))

    def _gathered(self, stage: _Stage, views: Sequence[Array]) -> Array:
        """A copy of the views in one piece, made anew before every exchange."""
        whole = self._scratch(views)
        stage.before += zip(_split(whole, views), views, strict=True)
        return whole

    def _move(self, stage: _Stage, action: Copy | Reduce, moved: Array) -> None:
        apply = self._apply(action, self._views(action.chunks))
        stage.ends.append((None, lambda _: apply(moved)))

    def _receive(self, stage: _Stage, action: Copy | Reduce) -> None:
        views = self._views(action.chunks)
        if len(views) == 1:
            for part in self._parts(views[0], action.source):
                in_place = isinstance(action, Copy)
                apply = _nothing if in_place else self._apply(action, [part])
                self._expect(stage, action, part, apply, in_place)
        else:
            whole = self._scratch(views)
            *first, last = self._parts(whole, action.source)
            for part in first:
                self._expect(stage, action, part, _nothing, True)
            unpack = self._apply(action, views)
            self._expect(stage, action, last, lambda _: unpack(whole), True)

    def _expect(
        self, stage: _Stage, action: Copy | Reduce, part: Array, apply: Apply, land: bool
    ) -> None:
        stage.ends.append((len(stage.receives), apply))
        landing = _bytes(part) if land else None
        stage.receives.append(Incoming(part.nbytes, action.source, landing, self.memory.dtype))

    def _apply(self, action: Copy | Reduce, targets: Sequence[Array]) -> Apply:
        """Copy into the targets, or merge into them in operand order."""
        if len(targets) == 1:
            return self._apply_one(action, targets[0])
        pieces = [self._apply_one(action, target) for target in targets]

        def several(data: Array) -> None:
            for apply, incoming in zip(pieces, _split(data, targets), strict=True):
                apply(incoming)

        return several

    def _apply_one(self, action: Copy | Reduce, mine: Array) -> Apply:
        merge = self.op.merge if self.op.ufunc is None else self.op.ufunc
        if isinstance(action, Copy):
            return lambda incoming: np.copyto(mine, incoming)
        if incoming_goes_left(action, self.transport.rank):
            return lambda incoming: merge(incoming, mine, mine)
        return lambda incoming: merge(mine, incoming, mine)

    # ---- memory ------------------------------------------------------------------------

    def _views(self, chunks: Chunks) -> list[Array]:
        """The memory of the chunks: one view per run of neighbours, at least one view."""
        spans = [self.layout.span(first, last) for first, last in runs(indices(chunks))]
        return [self.memory[span] for span in spans] or [self.memory[:0]]

    def _scratch(self, like: Sequence[Array]) -> Array:
        """Memory for the views in one piece."""
        return self.transport.empty(sum(view.nbytes for view in like)).view(self.memory.dtype)

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
