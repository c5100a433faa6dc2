"""Look at refcoll_cupy on a machine that has a GPU: one file, one JSON, ten minutes at most.

    python tests/gpu/check.py --json found.json

Each part is a process of its own with a time limit, so that a crash is a result; parts that
send by MPI are jobs, once for each way.  Status 0: all that was tried is right; 1: something
is not; 3: there is no GPU, and nothing was tried.  Speeds are told, and gated by nothing.

**It has not run on a GPU.**  Its parts but for those that time, or that ask CuPy for something
of their own, have been tried with the tests' stand-in, which says nothing of a device.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

import refcoll
from refcoll.communicator import Communicator
from refcoll.connecting import connect
from refcoll.testing.cases import cases
from refcoll.testing.conformance import CHECKS, SPARE_CHECKS
from refcoll.testing.mpirun import mpirun
from refcoll.testing.verification import verify
from refcoll.transport import Incoming, Outgoing

SECONDS, NO_GPU = 600, 3
SIZES = [8, 4096, 1 << 20, 1 << 26, 1 << 28, 1 << 30]
"""Bytes of a message."""
VECTOR = 1 << 28
"""Bytes of a vector that is all-reduced: past any cache."""
_SPIN = """
extern "C" __global__ void spin(long long cycles) {
    for (long long start = clock64(); clock64() - start < cycles;) {}
}
"""


# ---- right or wrong ------------------------------------------------------------------------


def conformance(arrays="cupy", sizes=(1, 2, 3)):
    """The contract's own kit, ranks as threads."""
    for size in sizes:
        for check in (*CHECKS, *SPARE_CHECKS):
            refcoll.spawn(size, lambda comm, check=check: check(comm.transport), arrays=arrays)
    return {"checks": len(CHECKS) + len(SPARE_CHECKS), "sizes": list(sizes)}


def algorithms(arrays="cupy", size=3):
    """Every algorithm on short vectors, and every dtype and operator of the all-reduce."""
    chosen = [case for case in cases(size) if case.count <= 1000]
    rows = refcoll.spawn(size, _verified, chosen, arrays=arrays)[0]
    wrong = [f"{row.title}: {'; '.join(row.problems)}" for row in rows if not row.ok]
    return {"rows": len(rows), "wrong": wrong, "right": not wrong}


def _verified(comm, chosen):
    return list(verify(comm.transport, chosen, 30))


def random_data(arrays="cupy", size=4, counts=(1, 999, 100_003)):
    """Fresh random values, into outputs that hold something else: the host's bits."""
    seed = time.time_ns() % 2**32
    wrong = []
    for count in counts:
        for op in ("sum", "min", "max", "prod", "avg"):
            inputs = np.random.default_rng([seed, count]).normal(size=(size, count)).astype("f4")
            on_host = refcoll.spawn(size, _reduced, inputs, op)
            found = refcoll.spawn(size, _reduced, inputs, op, arrays=arrays)
            if any(not np.array_equal(*pair) for pair in zip(on_host, found, strict=True)):
                wrong.append(f"{op} of {count}")
    return {"seed": seed, "wrong": wrong, "right": not wrong}


def _reduced(comm, inputs, op):
    arrays = comm.transport.arrays
    poisoned = arrays.from_host(np.full(inputs.shape[1], -7.5e30, inputs.dtype))
    x = arrays.from_host(inputs[comm.rank])
    return arrays.to_host(comm.all_reduce(x, op, out=poisoned))


def race(arrays="cupy", size=2, rounds=20, slow=None):
    """A long kernel right before what is sent is written: it must be waited for."""
    slow = slow or _spin()

    def run(comm):
        own, wrong = comm.transport.arrays, 0
        x = own.from_host(np.zeros(1000))
        for number in range(rounds):
            values = own.from_host(np.full(1000, float(number + comm.rank)))
            slow()
            own.copy(x, values)
            total = own.to_host(comm.all_reduce(x))
            wrong += not (total == size * number + sum(range(size))).all()
        return wrong

    wrong = sum(refcoll.spawn(size, run, arrays=arrays))
    return {"rounds": rounds, "wrong": wrong, "right": not wrong}


def _spin(cycles=20_000_000):
    import cupy

    kernel = cupy.RawKernel(_SPIN, "spin")
    return lambda: kernel((1,), (1,), (np.int64(cycles),))


def torch_tensors():
    """CUDA tensors of PyTorch's, by DLPack, bfloat16 among them."""
    import torch

    def run(comm):
        tensor = torch.full((1000,), 1.0 + comm.rank, dtype=torch.bfloat16, device="cuda")
        comm.all_reduce(tensor, out=tensor)
        return bool((tensor == 3).all())

    return {"torch": torch.__version__, "right": all(refcoll.spawn(2, run, arrays="cupy"))}


def nccl(count=VECTOR // 4):
    """NCCL's own all-reduce on one rank: a copy, as a value to compare with."""
    import cupy
    from cupy.cuda import nccl

    comm = nccl.NcclCommunicator(1, nccl.get_unique_id(), 0)
    x, y = cupy.arange(count, dtype=np.float32), cupy.zeros(count, np.float32)
    stream = cupy.cuda.get_current_stream()

    def once():
        comm.allReduce(x.data.ptr, y.data.ptr, count, nccl.NCCL_FLOAT32, nccl.NCCL_SUM, stream.ptr)
        stream.synchronize()

    return {"seconds": _median(once), "right": bool((x == y).all())}


# ---- how fast ------------------------------------------------------------------------------


def _median(once, rounds=7):
    """Seconds that it takes; the first, which compiles and allocates, is not counted."""
    once()
    taken = []
    for _ in range(rounds):
        begin = time.perf_counter()
        once()
        taken.append(time.perf_counter() - begin)
    return float(np.median(taken))


def ceiling(nbytes=VECTOR):
    """A copy on one device, the most that point to point can reach."""
    import cupy

    x, y = cupy.zeros(nbytes, np.uint8), cupy.empty(nbytes, np.uint8)

    def once():
        y.data.copy_from_device_async(x.data, nbytes)
        cupy.cuda.get_current_stream().synchronize()

    seconds = _median(once)
    return {"nbytes": nbytes, "seconds": seconds, "read_and_written_GBps": 2e-9 * nbytes / seconds}


def in_process(arrays="cupy", sizes=SIZES, vector=VECTOR, ranks=(2, 4, 8)):
    """Point to point, and ring all-reduce with the least time that its own bytes would take."""
    point = [
        {"nbytes": n, "seconds": refcoll.spawn(2, _one_way, n, arrays=arrays)[0]} for n in sizes
    ]
    rings = [
        {"ranks": n, "nbytes": vector, "moved": 5 * (n - 1) * vector,
         "seconds": max(refcoll.spawn(n, _ring, vector, arrays=arrays))}
        for n in ranks
    ]  # fmt: skip
    return {"point_to_point": point, "ring": rings}


def _one_way(comm, nbytes):
    """Seconds of a message from rank 0 to rank 1, as rank 0 sees it, back and forth halved."""
    end, other = comm.transport, 1 - comm.rank
    mine, theirs = end.empty(nbytes), end.empty(nbytes)
    send = end.prepare([Outgoing(mine, other)], [], 1)
    receive = end.prepare([], [Incoming(nbytes, other, theirs)], 1)

    def once():
        for exchange in (send, receive) if comm.rank == 0 else (receive, send):
            exchange.start()
            if exchange is receive:
                exchange.wait(0, 60)
            exchange.release(60)
        end.arrays.runtime.current().synchronize()

    return _median(once) / 2


def _ring(comm, nbytes):
    x = comm.transport.arrays.from_host(np.zeros(nbytes // 4, np.float32))
    plan = comm.plan("all_reduce", x, out=comm.empty(nbytes // 4, np.float32), algorithm="ring")
    return _median(plan.run)


def by_mpi(mode, transport=None, sizes=SIZES, vector=VECTOR):
    """On each rank of a job: right, and how fast, by one way.  Rank 0 tells."""
    comm = Communicator(transport) if transport else connect("cupy", mode=mode, cuda_aware=True)
    chosen = [case for case in cases(comm.size, "all_reduce", "ring") if case.count <= 1000]
    rows = _verified(comm, chosen)
    wrong = [f"{row.title}: {'; '.join(row.problems)}" for row in rows if not row.ok]
    point = []
    if comm.size == 2:
        point = [{"nbytes": n, "seconds": _one_way(comm, n)} for n in sizes]
    seconds = _ring(comm, vector)
    told = {"mode": comm.transport.mode.name, "reason": comm.transport.mode.reason,
            "ranks": comm.size, "sharing": comm.transport.sharing, "rows": len(rows),
            "wrong": wrong, "right": not wrong, "point_to_point": point,
            "ring": {"nbytes": vector, "seconds": seconds}}  # fmt: skip
    return told if comm.rank == 0 else None


# ---- children ------------------------------------------------------------------------------

PARTS = {
    each.__name__: each
    for each in (conformance, algorithms, random_data, race, torch_tensors, nccl, ceiling,
                 in_process, by_mpi)
}  # fmt: skip
JOBS = [
    ([], each)
    for each in ("ceiling", "conformance", "algorithms", "random_data", "race", "torch_tensors",
                 "nccl", "in_process")
]  # fmt: skip
MPI_JOBS = [([str(ranks)], "by_mpi", mode) for mode in ("staged", "direct") for ranks in (2, 4, 8)]
_MARK = "found: "


def child(name, *arguments):
    """One part, in this process: what it found, on a line of its own."""
    found = PARTS[name](*arguments)
    if found is not None:
        print(f"{_MARK}{json.dumps(found)}", flush=True)


def tried(limit, ranks, name, *arguments):
    """A part in a child: what it found, or how it ended."""
    command = [sys.executable, __file__, "--child", name, *arguments]
    command = [mpirun(), "-n", *ranks, *command] if ranks else command
    begin = time.monotonic()
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        return {"right": False, "ended": f"did not end within {limit:.0f} s"}
    lines = [line for line in run.stdout.splitlines() if line.startswith(_MARK)]
    found = json.loads(lines[-1].removeprefix(_MARK)) if lines else {}
    if run.returncode or not lines:
        told = run.stderr.strip().splitlines()[-3:]
        found |= {"right": False, "ended": f"status {run.returncode}", "told": told}
    return {"right": True, **found, "wall_seconds": time.monotonic() - begin}


def versions():
    """Of what takes part; empty words where it is not there."""
    told = {"python": platform.python_version(), "machine": platform.machine()}
    for name in ("cupy", "numpy", "mpi4py", "torch"):
        try:
            told[name] = __import__(name).__version__
        except Exception as error:
            told[name] = f"not there: {error}"
    return told


def device():
    """Its name and the driver's version; raises where there is none, saying why."""
    from refcoll_cupy.devices import CupyRuntime

    count = CupyRuntime().devices()
    import cupy

    known = cupy.cuda.runtime.getDeviceProperties(0)
    return {"devices": count, "name": known["name"].decode(),
            "driver": cupy.cuda.runtime.driverGetVersion(),
            "runtime": cupy.cuda.runtime.runtimeGetVersion()}  # fmt: skip


def judged(found):
    """The verdict in one line.  "direct" need not work: most MPIs cannot."""
    wrong = [name for name, each in found.items()
             if not each["right"] and not name.startswith("by_mpi direct")]  # fmt: skip
    missing = [name for name in wrong if "ModuleNotFoundError" in str(found[name].get("told"))]
    wrong = [name for name in wrong if name not in missing]
    more = f"; not there: {', '.join(missing)}" if missing else ""
    return not wrong, (f"wrong: {', '.join(wrong)}" if wrong else "right") + more


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--child", nargs="+")
    asked = parser.parse_args()
    if asked.child:
        return child(*asked.child)
    until, found = time.monotonic() + SECONDS, {}
    told = {"versions": versions()}
    try:
        told["device"] = device()
    except refcoll.RefcollError as error:
        told |= {"gpu": False, "verdict": f"no GPU: {error}"}
    else:
        for ranks, name, *arguments in (*JOBS, *MPI_JOBS):
            title = " ".join([name, *arguments, *ranks])
            limit = min(90.0, until - time.monotonic())
            found[title] = tried(limit, ranks, name, *arguments) if limit > 5 else {
                "right": False, "ended": "not tried: no time was left"}  # fmt: skip
            print(f"{title}: {json.dumps(found[title])[:300]}", flush=True)
        holds, verdict = judged(found)
        told |= {"gpu": True, "holds": holds, "verdict": verdict, "found": found}
    print(told["verdict"], flush=True)
    if asked.json:
        asked.json.write_text(json.dumps(told, indent=1) + "\n")
    return NO_GPU if not told["gpu"] else int(not told["holds"])


if __name__ == "__main__":
    sys.exit(main())
