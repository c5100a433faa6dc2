"""What each rank sees: where it is, who shares its node, with whom it shares memory."""

import json
import socket

from mpi4py import MPI

import refcoll

comm = refcoll.connect("mpi", timeout=20)
others = [rank for rank in range(comm.size) if rank != comm.rank]
seen = {
    "host": socket.gethostname(),
    "nodes": comm.nodes,
    "shares": [rank for rank in others if comm.transport.outlet(rank) is not None],
    "receives": [rank for rank in others if comm.transport.inlet(rank) is not None],
}
all_seen = MPI.COMM_WORLD.gather(seen)
if comm.rank == 0:
    print(json.dumps(all_seen))
