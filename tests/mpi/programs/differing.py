"""One rank wants no shared memory, and the others do."""

from mpi4py import MPI

import refcoll

try:
    refcoll.connect("mpi", shared_memory=MPI.COMM_WORLD.rank != 1)
except refcoll.ArgumentError as error:
    print(error, flush=True)
