"""Many plans of several communicators, run in a random order, on ranks that come late."""

import random
import sys
import time

import numpy as np

import refcoll

seed, rounds = int(sys.argv[1]), int(sys.argv[2])
alike = random.Random(seed)  # draws the same on all ranks
mine = random.Random(seed + 1 + int(time.time_ns()))
world = refcoll.connect("mpi", timeout=60)
comms = [
    world,
    refcoll.connect("mpi", timeout=60),
    world.split(world.rank % 2, -world.rank),
    world.split(0 if world.rank else None),  # all but rank 0, which gets None
]
COUNTS = [0, 1, 5, 1000, 16_384, 40_000, 300_000, 700_001]
ALGORITHMS = ["ring", "recursive_doubling", "rabenseifner", "one_shot", "two_shot", "binomial"]


def made(comm):
    """A plan and its arrays: lengths from nothing to several of a lane's places."""
    count, algorithm = alike.choice(COUNTS), alike.choice(ALGORITHMS)
    own, in_place = alike.random() < 0.5, alike.random() < 0.5
    if comm is None:
        return None
    x = comm.empty(count, np.int64) if own else np.empty(count, np.int64)
    out = x if in_place else np.empty_like(x)
    return comm, x, out, comm.plan("all_reduce", x, out=out, algorithm=algorithm)


pools = [[made(comm) for _ in range(6)] for comm in comms]
for number in range(rounds):
    pool, place = alike.choice(pools), alike.randrange(6)
    behind, again = alike.random() < 0.05, alike.random() < 0.02
    if mine.random() < 0.1:
        time.sleep(mine.random() * 0.003)
    if pool[place] is not None:
        comm, x, out, plan = pool[place]
        x[:] = np.arange(x.size) % 1000 * (comm.rank + 1) + number
        plan.start().wait() if behind else plan.run()
        ranks = comm.size * (comm.size + 1) // 2
        wanted = np.arange(x.size) % 1000 * ranks + number * comm.size
        assert np.array_equal(out, wanted), (number, plan, np.flatnonzero(out != wanted)[:5])
    if again:  # plans come and go, and their memory is used again
        pools[0][place] = made(world)
print(f"{rounds} rounds alike.", flush=True)
