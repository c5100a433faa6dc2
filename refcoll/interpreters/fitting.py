"""What counting, costing, drawing and simulating take for granted: that messages fit."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from refcoll.chunks import Layout
from refcoll.interpreters.delivery import Finished, Place, deliver
from refcoll.interpreters.legality import out_of_bounds
from refcoll.interpreters.table import table
from refcoll.programs import Program
from refcoll.schedule import Chunks, ScheduleError, Send, indices


def require_fit(program: Program, layout: Layout) -> None:
    """Raise ScheduleError where an action names what does not exist, or a message and its
    receive differ in the lengths of their chunks.

    An algorithm of the library is held to that by its tests, and passes unread.
    """
    if program.claims is not None:
        return
    for failure in out_of_bounds(program):
        raise ScheduleError(failure.message)
    rounds = table(program)
    lengths = np.asarray(layout.lengths)
    if rounds is not None and all(
        np.array_equal(lengths[each.sent % lengths.size], lengths[each.written % lengths.size])
        for each in rounds
    ):
        return
    for receive, send in _meetings(program):
        _require_alike(program, receive, send, layout)


def _meetings(program: Program) -> Iterator[tuple[Place, Place]]:
    """Every receive, and the send that it meets.  Raises ScheduleError where one meets none."""
    for event in deliver(program.graphs):
        if isinstance(event, Finished):
            actions = program.graphs[event.rank][event.node].actions
            for position, origin in enumerate(event.partners):
                if origin is not None and not isinstance(actions[position], Send):
                    yield (event.rank, event.node, position), origin


def _require_alike(program: Program, receive: Place, send: Place, layout: Layout) -> None:
    here, there = (program.graphs[rank][node] for rank, node, _ in (receive, send))
    taken, sent = here.actions[receive[2]], there.actions[send[2]]
    one, other = _lengths(taken.chunks, layout), _lengths(sent.chunks, layout)
    if one != other:
        raise ScheduleError(
            f"rank {receive[0]} step {here.number + 1}: {taken} meets {sent} of rank {send[0]} "
            f"step {there.number + 1}, whose chunks have other lengths: {other!s:.80}, "
            f"not {one!s:.80}"
        )


def _lengths(chunks: Chunks, layout: Layout) -> list[int]:
    return [layout.length(index) for index in indices(chunks)]
