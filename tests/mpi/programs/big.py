"""An all-reduce of more than 2 GiB; arguments: algorithm, and "shared", "empty" or "off"."""

import sys
from pathlib import Path

import numpy as np

import refcoll

sys.path.insert(0, str(Path(__file__).parents[2]))
from big_arrays import big_input, big_sum_is_right

algorithm, how = sys.argv[1:]
comm = refcoll.connect("mpi", shared_memory=how != "off")
if how == "empty":
    x = big_input(comm.rank, lambda n: comm.empty(n, np.uint8))
else:
    x = big_input(comm.rank)
comm.all_reduce(x, out=x, algorithm=algorithm)
if big_sum_is_right(x, comm.size):
    print("right.", flush=True)
