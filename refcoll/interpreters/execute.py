"""Run one rank of a program over a transport.

A plan is compiled once: every step becomes a stage of prepared messages and merges on fixed
views of the rank's memory.  Running it is a loop over the stages:

    stage the chunks that the step both sends and reduces into, pack those that are scattered
    start the exchange
    for each receive, in the order written: wait for it, merge or unpack it
    release the exchange: now the sent chunks may change
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
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

Apply: TypeAlias = Callable[[Array], object]
"""What to do with the elements that a receive brought."""


@dataclass
class _End:
    """What is done at the end of a step for one receive, or for one move within the rank."""

    receive: int | None
    """Which receive to wait for first; None for a move."""
    moved: Array | None
    """The elements of a move."""
    apply: Apply | None
    """None where a receive lands in place, or where more parts of it are to come."""
    dtype: np.dtype[Any]
    _bytes: Bytes | None = None
    _elements: Array | None = None

    def arrived(self, data: Bytes) -> None:
        """Apply what the receive has brought; bytes that come again are not viewed again."""
        if self.apply is not None:
            if data is not self._bytes:
                self._bytes, self._elements = data, data.view(self.dtype)
            assert self._elements is not None
            self.apply(self._elements)


@dataclass
class _Stage:
    """One step, compiled."""

    number: int
    before: list[tuple[Array, Array]] = field(default_factory=list)
    """(to, from): copies made before the exchange starts."""
    sends: list[Outgoing] = field(default_factory=list)
    receives: list[Incoming] = field(default_factory=list)
    ends: list[_End] = field(default_factory=list)
    exchange: Exchange | None = None

    def run(self, timeout: float) -> None:
        """Do it once."""
        for to, source in self.before:
            np.copyto(to, source)
        exchange = self.exchange
        if exchange is not None:
            exchange.start()
        for end in self.ends:
            if end.moved is not None and end.apply is not None:
                end.apply(end.moved)
            elif exchange is not None and end.receive is not None:
                end.arrived(exchange.wait(end.receive, time.monotonic() + timeout))
        if exchange is not None:
            exchange.release(time.monotonic() + timeout)


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
        self._quiet = op.ufunc is not None
        graph = program.graph(transport.rank)
        if not is_chain(graph):
            raise ScheduleError(f"{program.title} has steps side by side; they cannot be run")
        compiler = _Compiler(transport, memory, layout, op)
        self.stages = [compiler.stage(node) for node in graph]
        for stage in self.stages:
            if stage.sends or stage.receives:
                stage.exchange = transport.prepare(stage.sends, stage.receives, channel)

    def run(self, timeout: float) -> None:
        """Do it once.  No wait lasts longer than ``timeout`` seconds.

        Raises TransportError, or a kind of it, that says at which step it went wrong.
        """
        if self._quiet:
            with np.errstate(all="ignore"):
                self._run_all(timeout)
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
                    stage.ends.append(
                        _End(None, to_self.pop(0), self._apply(action), self.memory.dtype)
                    )
        return stage

    def _send(self, stage: _Stage, action: Send, reduced: set[int]) -> None:
        views = self._views(action.chunks)
        if len(views) > 1 or reduced.intersection(indices(action.chunks)):
            views = [self._gathered(stage, views)]
        for part in self._parts(views[0]):
            stage.sends.append(Outgoing(_bytes(part), action.to))

    def _gathered(self, stage: _Stage, views: Sequence[Array]) -> Array:
        """A copy of the views in one piece, made anew before every exchange."""
        whole = self._scratch(views)
        stage.before += zip(_split(whole, views), views, strict=True)
        return whole

    def _receive(self, stage: _Stage, action: Copy | Reduce) -> None:
        views = self._views(action.chunks)
        if len(views) == 1:
            for part in self._parts(views[0]):
                in_place = isinstance(action, Copy)
                apply = None if in_place else self._apply(action, [part])
                self._expect(stage, action, part, apply, in_place)
        else:
            whole = self._scratch(views)
            *first, last = self._parts(whole)
            for part in first:
                self._expect(stage, action, part, None, True)
            unpack = self._apply(action, views)
            self._expect(stage, action, last, lambda _: unpack(whole), True)

    def _expect(
        self, stage: _Stage, action: Copy | Reduce, part: Array, apply: Apply | None, land: bool
    ) -> None:
        stage.ends.append(_End(len(stage.receives), None, apply, self.memory.dtype))
        landing = _bytes(part) if land else None
        stage.receives.append(Incoming(part.nbytes, action.source, landing))

    def _apply(self, action: Copy | Reduce, views: Sequence[Array] | None = None) -> Apply:
        """Copy into ``views``, by default the action's, or merge, in operand order."""
        merge = self.op.merge if self.op.ufunc is None else self.op.ufunc
        targets = self._views(action.chunks) if views is None else list(views)
        left = isinstance(action, Reduce) and incoming_goes_left(action, self.transport.rank)

        def one(mine: Array, incoming: Array) -> None:
            if isinstance(action, Copy):
                np.copyto(mine, incoming)
            elif left:
                merge(incoming, mine, mine)
            else:
                merge(mine, incoming, mine)

        def several(data: Array) -> None:
            for mine, incoming in zip(targets, _split(data, targets), strict=True):
                one(mine, incoming)

        return partial(one, targets[0]) if len(targets) == 1 else several

    # ---- memory ------------------------------------------------------------------------

    def _views(self, chunks: Chunks) -> list[Array]:
        """The memory of the chunks: one view per run of neighbours, at least one view."""
        spans = [self.layout.span(first, last) for first, last in runs(indices(chunks))]
        return [self.memory[span] for span in spans] or [self.memory[:0]]

    def _scratch(self, like: Sequence[Array]) -> Array:
        """Memory for the views in one piece."""
        return self.transport.empty(sum(view.nbytes for view in like)).view(self.memory.dtype)

    def _parts(self, view: Array) -> Iterator[Array]:
        """The view in segments, each a message of its own; at least one."""
        limit = self.transport.segment_bytes
        step = max(1, limit // view.itemsize) if limit else max(1, view.size)
        yield from (view[i : i + step] for i in range(0, max(1, view.size), step))


def _split(whole: Array, like: Sequence[Array]) -> Iterator[Array]:
    """``whole`` cut into pieces as long as the views in ``like``."""
    start = 0
    for view in like:
        yield whole[start : start + view.size]
        start += view.size


def _bytes(view: Array) -> Bytes:
    return view.view(np.uint8)
