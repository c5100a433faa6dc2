"""The communicator over MPI: whatever the transport has a part in."""

import time

import numpy as np
from mpi4py import MPI

import refcoll

world = MPI.COMM_WORLD
comm = refcoll.connect("mpi", timeout=30)
size, rank = comm.size, comm.rank
total = size * (size + 1) // 2
x = np.full(1000, rank + 1, np.int64)

# from a communicator of the caller's own, in another order
backwards = world.Split(0, -rank)
mine = refcoll.connect("mpi", comm=backwards, timeout=30)
assert (mine.rank, mine.size) == (size - 1 - rank, size)
assert mine.broadcast(np.array([rank]), root=0)[0] == size - 1

# alone
alone = refcoll.connect("mpi", comm=MPI.COMM_SELF)
assert alone.all_reduce(x).tolist() == x.tolist()

# split: ranks of one colour, ordered by key; and out of it
half = comm.split(rank % 2, key=-rank)
peers = [r for r in range(size) if r % 2 == rank % 2]
assert half.size == len(peers)
assert half.rank == len(peers) - 1 - peers.index(rank)
assert half.all_reduce(x)[0] == sum(r + 1 for r in peers)
assert comm.split(None if rank == 0 else 1) is None or rank > 0

# in the background, waited for in any order, while others are under way
handles = [comm.all_reduce(x * k, async_op=True) for k in range(5)]
for k in (3, 0, 4, 2, 1):
    assert handles[k].wait()[0] == k * total
plan = comm.plan("all_reduce", x, out=x)
assert plan.start().wait()[0] == total
assert x[0] == total

# long messages go in parts
long = np.ones(3_000_000, np.float64)
assert comm.all_reduce(long, algorithm="ring").sum() == size * long.size

# nobody leaves a barrier before the last has come
time.sleep(0.05 * (rank == size - 1))
entered = np.array([time.time()])
comm.barrier()
left = time.time()
assert left >= comm.all_reduce(entered, "max")[0]
print(f"rank {rank}: as promised", flush=True)
