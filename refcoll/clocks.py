"""How far the clocks of different nodes are apart.

The monotonic clock is one for all processes of a node.  The first rank of every other node is
asked for its reading a few times by rank 0, which compares it with the middle of the time that
question and answer took; the quickest answer counts, and is wrong by half of its time at most
(Cristian 1989).  By how much clocks have drifted since something happened is not in that:
mostly some millionths of the time.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from refcoll.transport import Incoming, Outgoing

if TYPE_CHECKING:
    from refcoll.group import Group

_ASKED = 20
"""Times."""


def offsets(comm: Group) -> tuple[list[float], float]:
    """By rank, the seconds by which its clock is ahead of rank 0's; and by how much two of
    these may be wrong between them at most.  Collective."""
    found = np.zeros((comm.size, 2))
    others = [node for node in comm.nodes if 0 not in node]
    for node in others:
        if comm.rank == 0:
            found[list(node)] = _asked(comm, node[0])
        elif comm.rank == node[0]:
            _answer(comm)
    if others:
        arrays = comm.transport.arrays
        found = arrays.to_host(comm.plan("broadcast", arrays.from_host(found)).run())
    errors = sorted(float(found[node[0], 1]) for node in comm.nodes)
    return found[:, 0].tolist(), sum(errors[-2:])


def _asked(comm: Group, other: int) -> tuple[float, float]:
    """The other's offset, and its error."""
    question, reading = np.zeros(1, np.uint8), np.zeros(8, np.uint8)
    exchange = comm.transport.prepare([Outgoing(question, other)], [Incoming(8, other, reading)], 0)
    best = (0.0, float("inf"))
    for _ in range(_ASKED):
        started = time.monotonic()
        exchange.start()
        exchange.wait(0, comm.timeout)
        took = time.monotonic() - started
        exchange.release(comm.timeout)
        there = float(reading.view(np.float64)[0])
        best = min(best, (there - started - took / 2, took / 2), key=lambda each: each[1])
    return best


def _answer(comm: Group) -> None:
    reading = np.zeros(8, np.uint8)
    question = comm.transport.prepare([], [Incoming(1, 0)], 0)
    answer = comm.transport.prepare([Outgoing(reading, 0)], [], 0)
    for _ in range(_ASKED):
        question.start()
        question.wait(0, comm.timeout)
        question.release(comm.timeout)
        reading.view(np.float64)[0] = time.monotonic()
        answer.start()
        answer.release(comm.timeout)
