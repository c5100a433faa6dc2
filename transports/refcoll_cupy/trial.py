"""Ranks that send device memory to each other, as ``refcoll gpu-probe`` runs them.

    mpirun -n 2 python -m refcoll_cupy.trial direct

Each rank says, as JSON on a line of its own, on which device it is and whether every byte that
came is right.  An MPI that cannot may end the process, so nothing else is done here.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np

from refcoll.transport import Incoming, Outgoing
from refcoll_cupy import connect
from refcoll_cupy.runtime import Runtime

MARK = "trial: "
_LENGTHS = (0, 1, 1 << 20)
_PATIENCE = 30.0


def trial(mode: str, runtime: Runtime | None = None) -> dict[str, Any]:
    """What this rank found by ``mode``: ``rank``, ``device`` (its number in this process),
    ``identity`` (the device's own name) and ``right``: whether it received what its left
    neighbour sent, in all lengths."""
    end = connect(mode=mode, cuda_aware=True, runtime=runtime)
    right, left = (end.rank + 1) % end.size, (end.rank - 1) % end.size
    views = [end.arrays.from_host(np.full(n, 1 + end.rank, np.uint8)) for n in _LENGTHS]
    exchange = end.prepare(
        [Outgoing(view, right) for view in views], [Incoming(n, left) for n in _LENGTHS], channel=1
    )
    exchange.start()
    came = [end.arrays.to_host(exchange.wait(i, _PATIENCE)) for i in range(len(_LENGTHS))]
    exchange.release(_PATIENCE)
    device = end.arrays.device
    identity = end.arrays.runtime.identity(device)
    end.close()
    correct = all(bool((each == 1 + left).all()) for each in came)
    return {"rank": end.rank, "device": device, "identity": identity, "right": correct}


if __name__ == "__main__":
    print(f"{MARK}{json.dumps(trial(sys.argv[1]))}", flush=True)
