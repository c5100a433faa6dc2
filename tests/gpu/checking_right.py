"""Whether refcoll_cupy is right on a device: the parts of check.py that time nothing.

``arrays`` makes the arrays of a rank: on a GPU ``on_gpu``, in tests the stand-in's.
"""

from __future__ import annotations

import time

import numpy as np

import refcoll
from refcoll.operators import OPERATORS
from refcoll.testing.cases import cases
from refcoll.testing.conformance import CHECKS, SPARE_CHECKS
from refcoll.testing.verification import verify
from refcoll_cupy.arrays import DeviceArrays

POISON = -7.5e30
"""What outputs hold before: no result of what is put in."""
_SPIN = """
extern "C" __global__ void spin(long long cycles) {
    for (long long start = clock64(); clock64() - start < cycles;) {}
}
"""
_CYCLES = 10_000_000
"""Some milliseconds: longer than anything that is to wait for it takes to be queued."""


def on_gpu(rank):
    """Arrays of the first device, which all ranks share."""
    from refcoll_cupy.devices import CupyRuntime

    return DeviceArrays(CupyRuntime(), 0)


def conformance(arrays=on_gpu, sizes=(1, 2, 3)):
    """The contract's own kit, ranks as threads."""
    for size in sizes:
        for check in (*CHECKS, *SPARE_CHECKS):
            refcoll.spawn(size, lambda comm, check=check: check(comm.transport), arrays=arrays)
    return {"checks": len(CHECKS) + len(SPARE_CHECKS), "sizes": list(sizes), "right": True}


def algorithms(arrays=on_gpu, size=3):
    """Every algorithm on short vectors, and every dtype and operator of the all-reduce."""
    chosen = [case for case in cases(size) if case.count <= 1000]
    return told(refcoll.spawn(size, rows, chosen, arrays=arrays)[0])


def rows(comm, chosen):
    """What running the cases shows on every rank."""
    return list(verify(comm.transport, chosen, 30))


def told(rows):
    """The same, in short."""
    wrong = [f"{row.title}: {'; '.join(row.problems)}" for row in rows if not row.ok]
    return {"rows": len(rows), "wrong": wrong, "right": not wrong}


def random_data(arrays=on_gpu, size=4, counts=(1, 999, 100_003), seed=None):
    """Fresh random values into poisoned outputs, of every floating-point operator: the bits
    that the host's own ranks have."""
    seed = time.time_ns() % 2**32 if seed is None else seed
    ops = [name for name in OPERATORS if name in ("sum", "prod", "min", "max", "avg")]
    pairs = [(count, op) for count in counts for op in ops]
    wrong = [f"{op} of {count}" for count, op in pairs if not _same(arrays, size, count, op, seed)]
    return {"seed": seed, "ran": len(pairs), "wrong": wrong, "right": not wrong}


def _same(arrays, size, count, op, seed):
    inputs = np.random.default_rng([seed, count]).normal(size=(size, count)).astype("f4")
    on_host = refcoll.spawn(size, reduced, inputs, op)
    found = refcoll.spawn(size, reduced, inputs, op, arrays=arrays)
    return all(np.array_equal(*pair) for pair in zip(on_host, found, strict=True))


def reduced(comm, inputs, op):
    """The all-reduce of the rows of ``inputs``, into an output that holds something else."""
    arrays = comm.transport.arrays
    out = arrays.from_host(np.full(inputs.shape[1], POISON, inputs.dtype))
    return arrays.to_host(comm.all_reduce(arrays.from_host(inputs[comm.rank]), op, out=out))


# ---- races -------------------------------------------------------------------------------


class Slow(DeviceArrays):
    """On every other rank something long runs right before all that it writes: whoever reads
    it, and does not wait, reads too early."""

    def __init__(self, made, slow):
        super().__init__(made.runtime, made.device)
        self.slow = slow

    def copy(self, to, source):
        self.slow()
        return super().copy(to, source)

    def merge(self, op, dtype):
        merge = super().merge(op, dtype)

        def late(left, right, out):
            self.slow()
            merge(left, right, out)

        return late


class Careless(Slow):
    """And ranks do not wait for one another: which must be seen, or this test sees nothing."""

    def after(self, moment):
        pass


def race(arrays=on_gpu, size=4, rounds=10, slow=None):
    """All-reduces among ranks that are fast and slow in turn, with and without waiting."""
    slow = slow or spin()
    wrong = _raced(Slow, arrays, size, rounds, slow)
    caught = _raced(Careless, arrays, size, rounds, slow)
    return {"rounds": rounds, "wrong": wrong, "wrong_without_waiting": caught,
            "right": wrong == 0 and caught > 0}  # fmt: skip


def _raced(kind, arrays, size, rounds, slow):
    def made(rank):
        return kind(arrays(rank), slow if rank % 2 else lambda: None)

    return sum(refcoll.spawn(size, racing, rounds, slow, arrays=made))


def racing(comm, rounds, slow):
    """How many rounds were wrong on this rank: each writes x anew, behind something long, on a
    stream of the caller's, and poisons the output."""
    arrays = comm.transport.arrays
    with arrays.runtime.on(arrays.device), arrays.runtime.stream():
        x, out = (arrays.from_host(np.zeros(1000)) for _ in range(2))
        return sum(not _round(comm, arrays, number, slow, x, out) for number in range(rounds))


def _round(comm, arrays, number, slow, x, out):
    values = arrays.from_host(np.full(1000, float(number + comm.rank)))
    poison = arrays.from_host(np.full(1000, POISON))
    slow()
    arrays.runtime.copy(x, values)
    arrays.runtime.copy(out, poison)
    total = arrays.to_host(comm.all_reduce(x, algorithm="ring", out=out))
    return bool((total == comm.size * number + sum(range(comm.size))).all())


def spin():
    """Something long, on the current stream."""
    import cupy

    kernel = cupy.RawKernel(_SPIN, "spin")
    return lambda: kernel((1,), (1,), (np.int64(_CYCLES),))


# ---- others' -----------------------------------------------------------------------------


def torch_tensors():
    """CUDA tensors of PyTorch's, by DLPack, bfloat16 among them, written on a stream of its
    own behind something long."""
    import torch

    def run(comm):
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            found = [_torch_sum(torch, comm, dtype) for dtype in (torch.bfloat16, torch.float32)]
        return all(found)

    return {"torch": torch.__version__, "right": all(refcoll.spawn(2, run, arrays=on_gpu))}


def _torch_sum(torch, comm, dtype):
    tensor = torch.zeros(1000, dtype=dtype, device="cuda")
    torch.cuda._sleep(_CYCLES)
    tensor += 1 + comm.rank
    comm.all_reduce(tensor, out=tensor)
    return bool((tensor == 3).all())
