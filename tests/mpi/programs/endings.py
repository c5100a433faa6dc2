"""Ways in which a job goes wrong; the test looks at how it ends."""

import os
import signal
import sys
import time

import numpy as np

import refcoll


def trouble(kind):
    """An addition that ends badly on the last rank, the second time that it is called."""
    calls = []

    def plus(left, right):
        calls.append(None)
        if last and len(calls) == 2:
            match kind:
                case "raises":
                    raise ValueError("an accident of the user's own")
                case "exits":
                    sys.exit(0)
                case "killed":
                    os.kill(os.getpid(), signal.SIGKILL)
                case "stopped":
                    os.kill(os.getpid(), signal.SIGSTOP)
        return left + right

    return plus


def print_error(call):
    started = time.monotonic()
    try:
        call()
    except refcoll.RefcollError as error:
        seconds = time.monotonic() - started
        told = f"rank {comm.rank} after {seconds:.1f} s: {type(error).__name__}: {error}\n"
        os.write(2, told.encode())  # in one piece
        raise


comm = refcoll.connect("mpi", timeout=3)
last = comm.rank == comm.size - 1
x = np.ones(10)
match sys.argv[1]:
    case "raises":
        if last:
            raise ValueError("an accident of the user's own")
        comm.all_reduce(x)
    case "never calls":
        if last:
            time.sleep(60)
        comm.all_reduce(x, timeout=1)
    case "exits":
        if last:
            sys.exit(0)
        comm.all_reduce(x)
    case "is killed":
        if last:
            os.kill(os.getpid(), 9)
        comm.all_reduce(x)
    case "raises midway" | "exits midway" | "is killed midway" | "is stopped midway":
        op = refcoll.user_operator(trouble(sys.argv[1].split()[-2]), "plus", commutative=True)
        print_error(lambda: comm.all_reduce(np.ones(1000), op, algorithm="ring"))
    case "differs, and carries on":
        try:
            comm.all_reduce(np.ones(10 + last))
        except refcoll.DisagreementError:
            print(f"rank {comm.rank}: told", flush=True)
        try:
            comm.all_reduce(x)
        except refcoll.PoisonedError:
            print(f"rank {comm.rank}: refused", flush=True)
    case "differs":
        comm.all_reduce(np.ones(10 + last))
