"""All-reduce for ever, with a time limit; tell how it ended, and when.

endless.py SECONDS
"""

import os
import sys
import time

import numpy as np

import refcoll

comm = refcoll.connect("mpi", timeout=float(sys.argv[1]))
x = np.ones(125_000, np.float32)
plan = comm.plan("all_reduce", x, out=x, algorithm="ring")
while True:
    try:
        started = time.time()
        plan.run()
    except refcoll.RefcollError as error:
        kind, ended = type(error).__name__, time.time()
        transport = isinstance(error, refcoll.TransportError)
        os.write(1, f"rank {comm.rank} {kind} {transport} {started} {ended}\n".encode())
        raise
