"""One step of a plan: messages that are prepared, and what is done with what they bring."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from refcoll.arrays import Arrays
from refcoll.errors import DeadlineError, TransportError
from refcoll.operators import Array
from refcoll.schedule import Copy, Reduce, indices
from refcoll.transport import Exchange, Incoming, Outgoing, Transport
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
