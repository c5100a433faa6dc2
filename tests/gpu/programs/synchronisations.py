"""Each synchronisation of the two ways over MPI, left out in turn: then something is wrong.

One operation a case, on two ranks: rank 0 sends and rank 1 receives.  With a send and a
receive on one rank, the synchronisation for the one would hide that for the other missing.
"""

from contextlib import contextmanager

import numpy as np

from late_stream import LateRuntime
from refcoll.transport import Incoming, Outgoing
from refcoll_cupy.direct import Direct
from refcoll_cupy.pinned import Piece
from refcoll_cupy.staged import Staged
from refcoll_cupy.transport import connect

N, PART = 50_000, 10_000
runtime = LateRuntime(devices=2)


@contextmanager
def replaced(thing, name, by):
    before = getattr(thing, name)
    setattr(thing, name, by)
    yield
    setattr(thing, name, before)


class Never:
    """An event that nobody waits for."""

    def synchronize(self):
        pass


def transport(mode):
    end = connect(None, mode, True, None, runtime, {})
    make = {"direct": Direct, "staged": Staged}[mode]
    end.way = make(runtime, end.host.comm, PART)
    return end


def values(start):
    return ((np.arange(N) + start) % 251).astype(np.uint8)


def sent_is_what_was_queued(end):
    """What is sent was queued right before."""
    arrays = end.arrays
    if end.rank == 0:
        exchange = end.prepare([Outgoing(arrays.from_host(values(3)), 1)], [], 1)
    else:
        landing = arrays.from_host(values(0))
        runtime.current().synchronize()
        exchange = end.prepare([], [Incoming(N, 0, landing)], 1)
    exchange.start()
    if end.rank == 1:
        exchange.wait(0, 30)
    exchange.release(30)
    return end.rank == 0 or np.array_equal(arrays.to_host(landing), values(3))


def what_lay_where_it_lands_was_read(end):
    """Where the message lands, what lay there is to be read by something queued right before."""
    arrays = end.arrays
    if end.rank == 0:
        view = arrays.from_host(values(3))
        runtime.current().synchronize()
        exchange = end.prepare([Outgoing(view, 1)], [], 1)
    else:
        landing, saved = arrays.from_host(values(5)), arrays.scratch(N)
        runtime.current().synchronize()
        arrays.copy(saved, landing)
        exchange = end.prepare([], [Incoming(N, 0, landing)], 1)
    exchange.start()
    if end.rank == 1:
        exchange.wait(0, 30)
    exchange.release(30)
    return end.rank == 0 or (
        np.array_equal(arrays.to_host(saved), values(5))
        and np.array_equal(arrays.to_host(landing), values(3))
    )


def kept_is_what_it_was(end):
    """What changes is written again right after the start."""
    arrays = end.arrays
    if end.rank == 0:
        view = arrays.from_host(values(3))
        exchange = end.prepare([Outgoing(view, 1, changes=True)], [], 1)
    else:
        exchange = end.prepare([], [Incoming(N, 0)], 1)
    exchange.start()
    if end.rank == 0:
        arrays.copy(view, arrays.from_host(values(9)))
        runtime.current().synchronize()
        came = None
    else:
        came = arrays.to_host(exchange.wait(0, 30))
    exchange.release(30)
    return end.rank == 0 or np.array_equal(came, values(3))


def nothing(self):
    pass


def unordered(end):
    end.way.copies.record = Never


CASES = [
    ("direct: before a send", "direct", sent_is_what_was_queued, 0, (Direct, "order", nothing)),
    ("direct: before a receive", "direct", what_lay_where_it_lands_was_read, 1,
     (Direct, "order", nothing)),
    ("staged: copies follow what is queued", "staged", sent_is_what_was_queued, 0,
     (Staged, "order", nothing)),
    ("staged: a copy is over before it is sent", "staged", sent_is_what_was_queued, 0, unordered),
    ("staged: a piece was read before more lands there", "staged", sent_is_what_was_queued, 1,
     (Piece, "free", lambda self: self.octets)),
]  # fmt: skip

for mode in ("direct", "staged"):
    for operation in (sent_is_what_was_queued, what_lay_where_it_lands_was_read,
                      kept_is_what_it_was):  # fmt: skip
        end = transport(mode)
        assert all(end.host.comm.allgather(operation(end))), (mode, operation.__name__)
for name, mode, operation, culprit, left_out in CASES:
    end = transport(mode)
    if end.rank != culprit:
        right = operation(end)
    elif callable(left_out):
        left_out(end)
        right = operation(end)
    else:
        with replaced(*left_out):
            right = operation(end)
    caught = not all(end.host.comm.allgather(right))
    if end.rank == 0:
        print(f"{'caught' if caught else 'NOT SEEN'}: {name}.", flush=True)
