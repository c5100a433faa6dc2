"""Implementations to judge: right ones, faulty ones, and ones that never return."""

import ctypes
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module

import numpy as np

from refcoll.oracle.adapters.own import Own


class OnlySums(Own):
    """All-reduce, and nothing else; right."""

    def __init__(self, comm):
        super().__init__(comm)
        self.name = "only sums"

    def unsupported(self, call):
        return None if call.collective == "all_reduce" and call.op == "sum" else "only sums"


class DropsLast(Own):
    """Forgets the last rank's contribution to sums of float32."""

    def all_reduce(self, x, out, op):
        last = self.comm.rank == self.comm.size - 1
        drop = last and op == "sum" and x.dtype == np.float32
        self.comm.all_reduce(np.zeros_like(x) if drop else x, op, out=out)


class KeepsPlan(Own):
    """The first call's operator is that of all calls of the same length."""

    def __init__(self, comm):
        super().__init__(comm)
        self._operators = {}

    def all_reduce(self, x, out, op):
        super().all_reduce(x, out, self._operators.setdefault(x.size, op))


class AverageAfterThree(Own):
    """A mean is wrong once three other operators have been used."""

    def __init__(self, comm):
        super().__init__(comm)
        self._used = set()

    def all_reduce(self, x, out, op):
        super().all_reduce(x, out, op)
        self._used.add(op)
        if op == "avg" and len(self._used) > 3:
            out[:] = 0


class Crashes(Own):
    """Minima are zeros; behind one rank 1 ends the process in a maximum, with status 0."""

    def __init__(self, comm):
        super().__init__(comm)
        self._fails = False

    def all_reduce(self, x, out, op):
        if op == "max" and self._fails and self.comm.rank == 1:
            self.crash()
        super().all_reduce(x, out, op)
        if op == "min":
            out[:], self._fails = 0, True

    def crash(self):
        os._exit(0)


class Killed(Crashes):
    """The same by a signal."""

    def crash(self):
        os.kill(os.getpid(), signal.SIGKILL)


class CrashesAlone(Own):
    """Minima are zeros; a process whose first call is one does not survive it."""

    calls = 0

    def all_reduce(self, x, out, op):
        if op == "min" and not CrashesAlone.calls:
            os._exit(3)
        super().all_reduce(x, out, op)
        CrashesAlone.calls += 1
        if op == "min":
            out[:] = 0


def crashes_while_made(comm):
    os._exit(7)


class Processes:
    """A ring of sums by mpi4py's messages: its ranks are processes."""

    name = "ring of processes"

    def __init__(self):
        self.comm = import_module("mpi4py.MPI").COMM_WORLD.Dup()

    def all_reduce(self, x, out, op):
        if op != "sum":
            raise NotImplementedError(f"no {op}")
        out[:] = sum(self.comm.allgather(x.copy()))


class HangsOnOne(Processes):
    """The last rank never returns from a long call."""

    def all_reduce(self, x, out, op):
        super().all_reduce(x, out, op)
        if x.size > 100 and self.comm.rank == self.comm.size - 1:
            time.sleep(3600)


class HangsOnAll(Processes):
    """All wait, in MPI, for what nobody sends."""

    def all_reduce(self, x, out, op):
        super().all_reduce(x, out, op)
        if x.size > 100:
            self.comm.Recv(out.view(np.uint8), source=self.comm.rank, tag=7)


class CrashesInJob(Processes):
    """Sums of more than 100 elements are zeros; the one behind them ends rank 1's process."""

    fails = False

    def all_reduce(self, x, out, op):
        if self.fails and x.size < 100 and self.comm.rank == 1:
            os._exit(3)
        super().all_reduce(x, out, op)
        if x.size > 100:
            out[:], self.fails = 0, True


def crashes_in_job():
    return CrashesInJob()


def only_processes():
    return Processes()


def hangs_on_one():
    return HangsOnOne()


def hangs_on_all():
    return HangsOnAll()


def drops_last(comm):
    return DropsLast(comm)


def only_sums(comm):
    return OnlySums(comm)


def with_defaults(timeout=3.0):
    return Processes()


def with_comm_by_default(comm=None):
    return Own(comm)


class LoopsOnOne(Own):
    """Rank 1 waits for a thread of its own, which never ends."""

    def all_reduce(self, x, out, op):
        if x.size > 100 and self.comm.rank == 1:
            with ThreadPoolExecutor(1) as pool:
                pool.submit(self.loop)
        super().all_reduce(x, out, op)

    def loop(self):
        while True:
            pass


class KeepsPython(Own):
    """Native code that never returns, and lets no other thread run meanwhile."""

    def all_reduce(self, x, out, op):
        if self.comm.rank == 1:
            ctypes.PyDLL(None).pause()


class RaisesOnOne(Own):
    """Rank 1 raises, and the other waits for it."""

    def all_reduce(self, x, out, op):
        if self.comm.rank == 1:
            raise OSError("unplugged")
        super().all_reduce(x, out, op)


def raises_on_one(comm):
    return RaisesOnOne(comm)


def loops_on_one(comm):
    return LoopsOnOne(comm)


def keeps_python(comm):
    return KeepsPython(comm)


def unplugged_on_one(comm):
    if comm.rank == 1:
        raise OSError("unplugged")
    return Own(comm)
