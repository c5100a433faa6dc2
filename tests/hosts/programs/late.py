"""Rank 3 comes late to the last of some runs; rank 0 writes what was seen of it."""

import json
import time

import numpy as np

import refcoll
from refcoll.clocks import offsets

comm = refcoll.connect("mpi", timeout=30)
plan = comm.plan("all_reduce", np.ones(1000))
plan.run()
with comm.watch() as seen:
    for number in range(4):
        if comm.rank == 3 and number == 3:
            time.sleep(0.2)
        plan.run()
found = seen.report()
ahead, error = offsets(comm)
if comm.rank == 0:
    worst = found.worst
    print(json.dumps({
        "rank": worst.late_rank, "by": worst.late_by, "waited": worst.waited,
        "number": found.calls.index(worst), "error": found.clock_error, "ahead": ahead,
        "ahead_error": error,
    }))  # fmt: skip
