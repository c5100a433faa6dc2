"""What the kernel counts on each host's data link while one all-reduce runs, by algorithm.

    traffic.py ELEMENTS ALGORITHM ...

Ranks sleep around the run, so that acknowledgements that are under way are not counted with it,
and one rank a host reads the counters before any rank starts.
"""

import json
import sys
import time
from dataclasses import asdict
from pathlib import Path

import numpy as np
from mpi4py import MPI

import refcoll
from refcoll.testing.network import counters

SETTLED = 0.25
"""Seconds after which nothing is under way."""


def traffic():
    return counters(Path("/proc/net/dev").read_text())


def sent_again():
    """Segments that this host's TCP has sent once more: /proc/net/snmp, names over values."""
    names, values = (
        line.split() for line in Path("/proc/net/snmp").read_text().splitlines() if "Tcp:" in line
    )
    return int(values[names.index("RetransSegs")])


comm = refcoll.connect("mpi", timeout=20)
x = np.empty(int(sys.argv[1]), np.float32)
told = {}
for algorithm in sys.argv[2:]:
    plan = comm.plan("all_reduce", x, out=x, algorithm=algorithm)
    plan.run()  # connections are made with the first messages
    x[:] = comm.rank
    comm.barrier()
    time.sleep(SETTLED)
    before, again = traffic(), sent_again()
    time.sleep(SETTLED)
    plan.run()
    time.sleep(SETTLED)
    mine = asdict(traffic() - before) | {"sent_again": sent_again() - again}
    moved = MPI.COMM_WORLD.gather(mine)
    right = MPI.COMM_WORLD.gather(bool(np.all(x == sum(range(comm.size)))))
    if comm.rank == 0:
        told[algorithm] = [moved[node[0]] for node in comm.nodes]
        assert all(right), f"{algorithm} is wrong on ranks {np.flatnonzero(~np.array(right))}"
if comm.rank == 0:
    print(json.dumps(told))
