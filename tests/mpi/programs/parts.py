"""Failures in parts of a communicator, whose ranks are numbered otherwise: what each rank hears.

Ranks 3, 1 (in this order) are one part, 2, 0 the other.
"""

import json
import sys
import time

import numpy as np
from mpi4py import MPI

import refcoll


def raising(left, right):
    """A sum, except on rank 3."""
    return left + right if comm.rank != 3 else 1 // 0


comm = refcoll.connect("mpi", timeout=3)
part = comm.split(comm.rank % 2, key=-comm.rank)
heard = None
try:
    match sys.argv[1]:
        case "silent":  # rank 3, number 0 of its part, does not come
            if comm.rank != 3:
                part.all_reduce(np.ones(4), timeout=2)
            else:
                time.sleep(3)
        case "elsewhere":  # rank 3 waits in its part for rank 1, which waits for nobody
            if comm.rank == 3:
                part.all_reduce(np.ones(4), timeout=30)
            elif comm.rank == 1:
                time.sleep(3)
            else:
                comm.all_reduce(np.ones(4), timeout=2 if comm.rank == 0 else 30)
        case "above":  # rank 3 fails in the whole, while rank 1 waits for it in their part
            bad = refcoll.user_operator(raising, "bad", commutative=True)
            plan = comm.plan("all_reduce", np.ones(4), bad, algorithm="ring")
            if comm.rank == 1:
                part.all_reduce(np.ones(4))
            else:
                plan.run()
except (refcoll.RefcollError, ZeroDivisionError) as error:
    heard = [type(error).__name__, str(error), getattr(error, "culprit", None)]
again = None
if sys.argv[1] == "silent" and comm.rank % 2 == 0:
    again = float(part.all_reduce(np.ones(4))[0])  # the other part works on
everyone = MPI.COMM_WORLD.gather([heard, again])
if everyone:
    print(json.dumps(everyone), flush=True)
