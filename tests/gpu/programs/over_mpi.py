"""What ``connect`` does, over the MPI that is loaded, with a stand-in for the device."""

import gc
import sys
import warnings
import weakref

import numpy as np
import pytest

import refcoll
import refcoll_cupy
import refcoll_mpi
from late_stream import LateArray, LateRuntime
from refcoll.communicator import Communicator
from refcoll.testing.cases import cases
from refcoll.testing.verification import verify
from refcoll.transport import Incoming, Outgoing
from refcoll_cupy import modes
from refcoll_cupy.staged import Staged
from refcoll_cupy.trial import trial
from refcoll_mpi import ending
from refcoll_mpi.messages import Isend


def end(mode, devices=8, **options):
    runtime = LateRuntime(devices)
    return refcoll_cupy.connect(mode=mode, cuda_aware=True, runtime=runtime, **options), runtime


def refused(**options):
    with pytest.raises(refcoll.ArgumentError) as caught:
        refcoll_cupy.connect(**options)
    return str(caught.value)


def errors():
    """On every rank, whichever rank it is of."""
    transport, _ = end("staged")
    rank = transport.rank
    said = refused(runtime=LateRuntime(8 if rank == 0 else 0))
    assert "on rank 1: there is no device" in said, said
    assert "on every rank: fast is no option" in refused(runtime=LateRuntime(), fast=True)
    assert "mode='direkt' must be one of" in refused(runtime=LateRuntime(), mode="direkt")
    said = refused(runtime=LateRuntime(), mode="direct" if rank else "staged", cuda_aware=True)
    assert "give all ranks the same mode" in said, said
    said = refused(runtime=LateRuntime(), mode="direct")
    assert modes.library() in said, said
    assert "mode='staged'" in said, said
    assert "there is no CUDA device" in refused() or "cupy cannot be imported" in refused()


def checksums():
    """Checksums are computed on the host, of what lies there."""
    with pytest.raises(refcoll.ArgumentError, match="checksums=True is for host memory"):
        refcoll.connect("cupy", runtime=LateRuntime(8), checksums=True)


class Busy(LateRuntime):
    """Whose driver refuses, as where the device belongs to one process alone."""

    def stream(self):
        raise RuntimeError("cudaErrorDevicesUnavailable")


class Nameless(LateRuntime):
    """Whose driver does not say which device that is."""

    def identity(self, device):
        raise RuntimeError("cudaErrorUnknown")


def drivers():
    """What a driver raises on one rank is told to all: nobody waits for that rank."""
    rank = refcoll_cupy.connect(mode="staged", runtime=LateRuntime(8)).rank
    for kind, error in ((Busy, "cudaErrorDevicesUnavailable"), (Nameless, "cudaErrorUnknown")):
        said = refused(mode="staged", runtime=kind(8) if rank else LateRuntime(8))
        assert f"on rank 1: RuntimeError: {error}" in said, said


def auto():
    """This MPI does not say that it is CUDA-aware, so messages are staged."""
    found = refcoll_cupy.connect(runtime=LateRuntime(8))
    assert found.mode.name == "staged", found.mode
    assert {answer.yes for answer in modes.answers(found.host.comm)} == {False}


def sharing():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found, _ = end("staged", devices=1)
    assert found.sharing == [list(range(found.size))]
    assert len(caught) == (found.rank == 0)
    assert not end("staged", devices=8)[0].sharing


def algorithms():
    """Values to the bit, steps and bytes as claimed, by either way."""
    for mode in ("staged", "direct"):
        transport, runtime = end(mode)
        if mode == "staged":  # parts so short that there are several
            transport.way = Staged(transport.arrays, transport.host.comm, 8192)
        ring = cases(transport.size, "all_reduce", "ring")
        chosen = [case for case in ring if case.op == "sum"]
        if mode == "staged":
            every = cases(transport.size, "all_reduce")
            chosen += [case for case in every if case.count == transport.size + 1]
        rows = list(verify(transport, chosen, 30))
        assert not [row.problems for row in rows if not row.ok]
        assert bool(runtime.log) == (mode == "staged")


def copies():
    """A staged byte is copied to the host once and to the device once, and no other is."""
    transport, runtime = end("staged")
    other = 1 - transport.rank
    views = [transport.arrays.from_host(np.zeros(n, np.uint8)) for n in (0, 5, 9_000_001)]
    sends = [Outgoing(view, other) for view in views]
    exchange = transport.prepare(sends, [Incoming(view.nbytes, other) for view in views], 1)
    for pinned in (4, 0):  # two for each direction, and those are used again
        runtime.log.clear()
        exchange.start()
        for index in range(3):
            exchange.wait(index, 30)
        assert [exchange.received(index) for index in range(3)] == [0, 5, 9_000_001]
        exchange.release(30)
        assert [n for what, n in runtime.log if what == "pinned"] == [4 << 20] * pinned
        for what in ("download", "upload"):
            lengths = [nbytes for each, nbytes in runtime.log if each == what]
            assert lengths == [0, 5, 4 << 20, 4 << 20, 9_000_001 - (8 << 20)], lengths


def lifetimes():
    """What is under way is held by the exchange, whatever the caller lets go of."""
    for mode in ("staged", "direct"):
        transport, _ = end(mode)
        other = 1 - transport.rank
        kept = np.full(70_000, transport.rank, np.uint8)
        memory = weakref.ref(kept)
        exchange = transport.prepare(
            [Outgoing(LateArray(kept), other)], [Incoming(70_000, other)], 1
        )
        del kept
        exchange.start()
        gc.collect()
        assert memory() is not None
        came = transport.arrays.to_host(exchange.wait(0, 30))
        exchange.release(30)
        assert (came == other).all()
        del exchange
        gc.collect()
        assert memory() is None
        unheld(transport, np.full(70_000, transport.rank, np.uint8))


def unheld(transport, kept):
    """Also where the caller lets go of the exchange before it is over."""
    other, memory = 1 - transport.rank, weakref.ref(kept)
    sent = transport.prepare([Outgoing(LateArray(kept), other)], [], 2)
    exchange = transport.prepare([], [Incoming(kept.nbytes, other)], 2)
    sent.start()
    sent = weakref.ref(sent)
    del kept
    gc.collect()
    assert memory() is not None
    exchange.start()
    assert (transport.arrays.to_host(exchange.wait(0, 30)) == other).all()
    exchange.release(30)
    sent().release(30)


def half_started():
    """Where a start raises, its receives are in MPI's hands already: their memory is kept."""

    def refuse(message):
        raise OSError("no")

    own = refcoll_mpi.connect(shared_memory=False)
    for transport in (own, end("staged")[0], end("direct")[0]):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Isend, "start", refuse)
            memory = failing(transport)
        gc.collect()
        assert memory() is not None, transport.name
        assert ending.failed()
        transport.forgive()


def failing(transport):
    """A start that fails; what it has put under way is in what that returns.  Staged, what is
    copied is sent a little later."""
    other = 1 - transport.rank
    send = Outgoing(transport.empty(70_000), other)
    exchange = transport.prepare([send], [Incoming(70_000, other)], 1)

    def begin():
        exchange.start()
        exchange.release(30)

    with pytest.raises(OSError, match="no"):
        begin()
    return weakref.ref(exchange)


def ordinary_use():
    """Calls, plans, the background, groups, and arrays of another library's."""
    transport, runtime = end("staged")
    with Communicator(transport) as comm:
        x = transport.arrays.from_host(np.arange(10.0) + comm.rank)
        plan = comm.plan("all_reduce", x, out=comm.empty(10))
        handle = comm.all_reduce(x, async_op=True)
        assert (runtime.peek(plan.run()) == 2 * np.arange(10.0) + 1).all()
        assert (runtime.peek(handle.wait()) == 2 * np.arange(10.0) + 1).all()
        half = comm.split(comm.rank)
        assert (runtime.peek(half.all_reduce(x)) == np.arange(10.0) + comm.rank).all()
        comm.barrier()
    assert refcoll.spawn(1, lambda comm: comm.size) == [1]


def trials():
    """What `refcoll gpu-probe` has ranks do."""
    for mode in ("staged", "direct"):
        assert trial(mode, LateRuntime(8))["right"]


for case in sys.argv[1:]:
    globals()[case]()
    print(f"done: {case}.", flush=True)
