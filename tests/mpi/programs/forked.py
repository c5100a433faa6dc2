"""What a forked child writes into a result is its own."""

import os

import numpy as np

import refcoll

comm = refcoll.connect("mpi")
result = comm.all_reduce(np.ones(1_000_000))
kept = comm.empty(100_000)
child = os.fork()
if child == 0:
    result[:] = -5
    del kept  # must not free what the parent goes on using
    os._exit(0)
kept[:] = 3
os.waitpid(child, 0)
assert np.all(result == comm.size)
assert np.all(kept == 3)
assert np.all(comm.all_reduce(kept) == 3 * comm.size)
print("its own.", flush=True)
