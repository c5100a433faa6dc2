"""Ways in which a job goes wrong; the test looks at how it ends."""

import os
import sys
import time

import numpy as np

import refcoll

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
        comm.all_reduce(x)
    case "exits":
        if last:
            sys.exit(0)
        comm.all_reduce(x)
    case "is killed":
        if last:
            os.kill(os.getpid(), 9)
        comm.all_reduce(x)
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
