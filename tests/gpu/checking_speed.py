"""How fast refcoll_cupy is on a device, beside what the device itself can do: parts of check.py.

Times are the host's, of whole calls, and medians.  ``arrays`` is as in ``checking_right``.
"""

from __future__ import annotations

import time

import numpy as np

import refcoll
from checking_bounds import crossing, held, moved, ring
from checking_right import Slow, on_gpu, racing, rows, spin, told
from refcoll.communicator import Communicator
from refcoll.connecting import connect
from refcoll.testing.cases import cases
from refcoll.transport import Incoming, Outgoing

SIZES = (8, 4096, 1 << 16, 1 << 20, 1 << 24, 1 << 26, 1 << 28, 1 << 30)
"""Bytes of a message."""
VECTOR, LONG_VECTOR = 1 << 28, 1 << 30
"""Bytes of a vector that is all-reduced, past any cache: by MPI, and within a process, where the
host is to queue a step while the device still does the one before."""
COPIES = 10
"""In a row, so that what it takes to queue and to wait for one is not the ceiling's."""


def median(once, rounds=7):
    """Seconds that it takes; the first time, which compiles and allocates, is not counted."""
    once()
    taken = []
    for _ in range(rounds):
        begin = time.perf_counter()
        once()
        taken.append(time.perf_counter() - begin)
    return float(np.median(taken))


def ceiling(nbytes=VECTOR):
    """Bytes a second: through the device's memory, read or written, when it copies; over the
    bus, each way, from and to pinned memory."""
    import cupy

    x, y = cupy.zeros(nbytes, np.uint8), cupy.empty(nbytes, np.uint8)
    pinned = np.frombuffer(cupy.cuda.alloc_pinned_memory(nbytes), np.uint8, nbytes)
    pinned[:] = 1
    address = pinned.ctypes.data
    seconds = {
        "memory": _device(lambda: y.data.copy_from_device_async(x.data, nbytes)) / 2,
        "to_host": _device(lambda: x.data.copy_to_host_async(address, nbytes)),
        "from_host": _device(lambda: x.data.copy_from_host_async(address, nbytes)),
    }
    return {"nbytes": nbytes, "right": True} | {
        f"{name}_bytes_per_second": nbytes / each for name, each in seconds.items()
    }


def _device(queue):
    """Seconds of what is queued, on a stream of its own."""
    import cupy

    with cupy.cuda.Stream(non_blocking=True) as stream:

        def once():
            for _ in range(COPIES):
                queue()
            stream.synchronize()

        return median(once) / COPIES


def in_process(ceiling=None, arrays=on_gpu, sizes=SIZES, vector=LONG_VECTOR, ranks=(2, 4, 8)):
    """Ranks as threads on one device: point to point, and the ring all-reduce."""
    rate = (ceiling or {}).get("memory_bytes_per_second")
    point = [
        held({"nbytes": n, "seconds": refcoll.spawn(2, one_way, n, arrays=arrays)[0]}, 2 * n, rate)
        for n in sizes
    ]
    rings = []
    for n in ranks:
        found = {"ranks": n, "nbytes": vector}
        found["seconds"] = max(refcoll.spawn(n, ringed, vector, arrays=arrays))
        rings.append(held(found, moved(*ring(n, vector), 4, lands=False), rate))
    return {"point_to_point": point, "ring": rings, "right": True}


def one_way(comm, nbytes):
    """Seconds of a message from rank 0 to rank 1: there and back, halved."""
    end, other = comm.transport, 1 - comm.rank
    with end.arrays.runtime.on(end.arrays.device), end.arrays.runtime.stream() as stream:
        mine, theirs = end.empty(nbytes), end.empty(nbytes)
        send = end.prepare([Outgoing(mine, other)], [], 1)
        receive = end.prepare([], [Incoming(nbytes, other, theirs)], 1)
        pair = (send, receive) if comm.rank == 0 else (receive, send)

        def once():
            for exchange in pair:
                exchange.start()
                if exchange is receive:
                    exchange.wait(0, 60)
                exchange.release(60)
            stream.synchronize()

        return median(once) / 2


def ringed(comm, nbytes):
    """Seconds of a ring all-reduce, out of place, as this rank sees it."""
    x = comm.transport.arrays.from_host(np.zeros(nbytes // 4, np.float32))
    plan = comm.plan("all_reduce", x, out=comm.empty(nbytes // 4, np.float32), algorithm="ring")
    return median(plan.run)


# ---- by MPI ------------------------------------------------------------------------------


def by_mpi(mode, ceiling=None, made=None, sizes=SIZES, vector=VECTOR, slow=None, most=1000):
    """On each rank of a job, by one way: right, not in a race, and how fast.  Rank 0 tells.

    ``made`` is the transport, where that is not CuPy's; ``most`` elements of each vector whose
    sum must be right.
    """
    end = made or connect("cupy", mode=mode, cuda_aware=True).transport
    comm, raced = Communicator(end), Communicator(slowed(end, slow or spin()))
    chosen = [case for case in cases(end.size, "all_reduce", "ring") if case.count <= most]
    found = told(rows(comm, chosen)) | about(end)
    found["raced"] = sum(_all(comm, racing(raced, 5, raced.transport.arrays.slow)))
    found["right"] = found["right"] and not found["raced"]
    if end.size == 2:
        found["point_to_point"] = [_timed(comm, one_way, n) for n in sizes]
    found["ring"] = _bounded(_timed(comm, ringed, vector), end, ceiling or {})
    return found if end.rank == 0 else None


def about(end):
    """Over what messages go, and who shares a device."""
    from refcoll_cupy import modes

    said = modes.answers(end.host.comm)
    return {
        "library": modes.library(),
        "cuda_aware": any(answer.yes for answer in said),
        "mode": end.mode.name,
        "ranks": end.size,
        "sharing": end.sharing,
    }


def slowed(end, slow):
    """The same ranks over a transport that is slow before all that it writes, on some of them."""
    slow = slow if end.rank % 2 else lambda: None
    return type(end)(end.host, Slow(end.arrays, slow), end.mode)


def _timed(comm, part, nbytes):
    return {"nbytes": nbytes, "seconds": max(_all(comm, part(comm, nbytes)))}


def _all(comm, value):
    """What every rank has."""
    said = comm.agreement.collect({"collective": "check", "value": value}, (), 60)
    return [each["value"] for each in said]


def _bounded(found, end, ceiling):
    """A ring's time beside its bound, if all ranks share one device."""
    ring_of, layout = ring(end.size, found["nbytes"])
    alone = end.sharing == [list(range(end.size))]
    if end.mode.name == "direct":
        nbytes, rate = moved(ring_of, layout, 4, lands=True), ceiling.get("memory_bytes_per_second")
    else:
        nbytes = crossing(ring_of, layout, 4)
        ways = [ceiling.get(f"{way}_host_bytes_per_second") for way in ("to", "from")]
        rate = min(ways) if all(ways) else None
    return held(found, nbytes, rate if alone else None)


def nccl(count=VECTOR // 4):
    """NCCL's own all-reduce on one rank: a copy, as a value to compare with."""
    import cupy
    from cupy.cuda import nccl

    comm = nccl.NcclCommunicator(1, nccl.get_unique_id(), 0)
    x, y = cupy.empty(count, np.float32), cupy.zeros(count, np.float32)
    x.set(np.arange(count, dtype=np.float32))
    stream = cupy.cuda.get_current_stream()

    def once():
        comm.allReduce(x.data.ptr, y.data.ptr, count, nccl.NCCL_FLOAT32, nccl.NCCL_SUM, stream.ptr)
        stream.synchronize()

    return {"version": nccl.get_version(), "nbytes": 4 * count, "seconds": median(once),
            "right": np.array_equal(x.get(), y.get())}  # fmt: skip
