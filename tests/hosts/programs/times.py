"""How long an all-reduce takes, by algorithm: median of the slowest rank's times, in seconds.

times.py ELEMENTS ITERATIONS ALGORITHM ...
"""

import json
import sys
import time

import numpy as np

import refcoll


def seconds(plan, iterations):
    plan.run()
    taken = np.zeros(iterations)
    for i in range(iterations):
        comm.barrier()
        started = time.perf_counter()
        plan.run()
        taken[i] = time.perf_counter() - started
    return float(np.median(comm.all_reduce(taken, "max")))


comm = refcoll.connect("mpi", timeout=60)
elements, iterations = int(sys.argv[1]), int(sys.argv[2])
one, x = np.zeros(comm.size, np.float32), np.zeros(elements, np.float32)
step = seconds(comm.plan("all_reduce", one, out=one, algorithm="ring"), 10 * iterations)
told = {"alpha": step / (2 * (comm.size - 1)), "nodes": comm.nodes}
for algorithm in sys.argv[3:]:
    plan = comm.plan("all_reduce", x, out=x, algorithm=algorithm)
    told[algorithm] = seconds(plan, iterations)
if comm.rank == 0:
    print(json.dumps(told))
