"""The conformance kit over MPI: every check on a transport of its own.

Arguments: which checks ("spare" for those that break the transport), and over what: "shared"
memory as it is found, "fenced" as a processor that reorders would need it, "mixed" as if
every two ranks were a node, or "off"; or "checksums" over shared memory.
"""

import sys

from mpi4py import MPI

from refcoll.checksums import Checksummed
from refcoll.testing.conformance import CHECKS, SPARE_CHECKS
from refcoll_mpi import connect
from refcoll_mpi.connecting import over
from refcoll_mpi.control import control
from refcoll_mpi.sharing import shared

world, how = MPI.COMM_WORLD, sys.argv[2]


def transport():
    if how in ("shared", "off"):
        return connect(world, shared_memory=how == "shared")
    if how == "checksums":
        return Checksummed(connect(world))
    local = world.Split(world.rank // 2 if how == "mixed" else 0, world.rank)
    return over(world.Dup(), local, control(world), *shared(local, fenced=how == "fenced"))


assert transport().nodes == (
    tuple(tuple(range(r, min(r + 2, world.size))) for r in range(0, world.size, 2))
    if how == "mixed"
    else (tuple(range(world.size)),)
)
for check in SPARE_CHECKS if sys.argv[1] == "spare" else CHECKS:
    check(transport())
    print(f"kept: {check.__name__}.", flush=True)
