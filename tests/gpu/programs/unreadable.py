"""All-reduce where nobody but the device can read its memory: a page fault ends the process.

Staged first; then direct, which hands MPI, that knows nothing of devices, such a pointer.
"""

import numpy as np

from late_stream import LateRuntime
from refcoll.communicator import Communicator
from refcoll_cupy.transport import connect

runtime = LateRuntime(devices=8, guarded=True)
for mode in ("staged", "direct"):
    end = connect(None, mode, True, None, runtime, {})
    with Communicator(end) as comm:
        for count in (0, 1, 3000):
            x = end.arrays.from_host(np.arange(count) + comm.rank)
            ranks = sum(range(comm.size))
            found = end.arrays.to_host(comm.all_reduce(x))
            assert np.array_equal(found, np.arange(count) * comm.size + ranks)
    print(f"{mode}: right, and nobody looked.", flush=True)
