"""Two ranks or more that send device memory to each other, as ``refcoll gpu-probe`` runs them.

    mpirun -n 2 python -m refcoll_cupy.trial direct

An MPI that cannot may end the process, so nothing else is done here.
"""

from __future__ import annotations

import sys

import numpy as np

from refcoll.transport import Incoming, Outgoing
from refcoll_cupy import connect
from refcoll_cupy.runtime import Runtime

RIGHT = "every byte is right"
_LENGTHS = (0, 1, 1 << 20)
_PATIENCE = 30.0


def trial(mode: str, runtime: Runtime | None = None) -> bool:
    """Whether each rank receives what its left neighbour sends, by ``mode``, in all lengths."""
    end = connect(mode=mode, cuda_aware=True, runtime=runtime)
    right, left = (end.rank + 1) % end.size, (end.rank - 1) % end.size
    views = [end.arrays.from_host(np.full(n, 1 + end.rank, np.uint8)) for n in _LENGTHS]
    exchange = end.prepare(
        [Outgoing(view, right) for view in views], [Incoming(n, left) for n in _LENGTHS], channel=1
    )
    exchange.start()
    came = [end.arrays.to_host(exchange.wait(i, _PATIENCE)) for i in range(len(_LENGTHS))]
    exchange.release(_PATIENCE)
    end.close()
    return all(bool((each == 1 + left).all()) for each in came)


if __name__ == "__main__":
    print(RIGHT if trial(sys.argv[1]) else "what came is not what was sent", flush=True)
