"""A rank gives up waiting, drops its plan and uses its memory again; the other comes late."""

import gc
import time

import numpy as np

import refcoll

comm = refcoll.connect("mpi", timeout=1)
x = np.full(12_000, 6.0 if comm.rank == 0 else 8.0)
plan = comm.plan("all_reduce", x, algorithm="recursive_doubling")
if comm.rank == 0:
    try:
        plan.run()
    except refcoll.DeadlineError:
        del plan
        gc.collect()
        mine = [np.full(12_000, -1.0) for _ in range(50)]
        time.sleep(2)
        if all(np.all(each == -1) for each in mine):
            print("rank 0: untouched", flush=True)
else:
    time.sleep(2)
    try:
        print(f"rank 1: {plan.run()[0]}", flush=True)
    except refcoll.RefcollError:
        print("rank 1: refused", flush=True)
