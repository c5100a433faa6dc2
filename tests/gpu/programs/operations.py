"""What two ranks do by either way of device memory over MPI, and whether it was right.

But where copies are to overlap, one operation a case: with a send and a receive on one rank,
the synchronisation for the one would hide that for the other missing.
"""

from contextlib import contextmanager

import numpy as np

from late_stream import LateEvent, LateRuntime, LateStream
from refcoll.transport import Incoming, Outgoing
from refcoll_cupy.direct import Direct
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


def transport(mode):
    end = connect(None, mode, True, None, runtime, {})
    make = {"direct": Direct, "staged": Staged}[mode]
    end.way = make(end.arrays, end.host.comm, PART)
    return end


def values(start, count=N):
    return ((np.arange(count) + start) % 251).astype(np.uint8)


# ---- operations: whether all was right on this rank ---------------------------------------


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


def pinned_memory_is_used_again(end):
    """Rank 1 sends through what it has received in, which its device has not read yet."""
    arrays, count = end.arrays, PART
    mine, landing = arrays.from_host(values(3 + end.rank, count)), arrays.scratch(count)
    send = end.prepare([Outgoing(mine, 1 - end.rank)], [], 1)
    receive = end.prepare([], [Incoming(count, 1 - end.rank, landing)], 1)
    receive.start()
    if end.rank == 1:
        while not receive._inlets[0].done(0):
            receive.progress()
    send.start()
    send.release(30)
    receive.wait(0, 30)
    receive.release(30)
    return np.array_equal(arrays.to_host(landing), values(4 - end.rank, count))


def copies_overlap(end):
    """Two each way are queued at a time, what is queued after the start goes its own way, and
    the host waits for nothing on a stream."""
    arrays, other = end.arrays, 1 - end.rank
    view, landing = arrays.from_host(values(3)), arrays.scratch(N)
    exchange = end.prepare([Outgoing(view, other)], [Incoming(N, other, landing)], 1)
    runtime.log.clear()
    later, waited = [], []

    def note(each):
        waited.append(each)

    with replaced(LateEvent, "synchronize", note), replaced(LateStream, "synchronize", note):
        exchange.start()
        copies = [what for what, _ in runtime.log if what == "download"]
        runtime.current().queue(lambda: later.append("a merge"))
        exchange.wait(0, 30)
        exchange.release(30)
        apart = len(copies) == 2 and not later and not waited
    return apart and np.array_equal(arrays.to_host(landing), values(3))
