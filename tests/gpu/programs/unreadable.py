"""All-reduce where nobody but the device can read its memory: a page fault ends the process.

Arguments: the mode; "direct" hands MPI, which knows nothing of devices, such a pointer.
"""

import sys

import numpy as np

from late_stream import LateRuntime
from refcoll.communicator import Communicator
from refcoll_cupy.transport import connect

runtime = LateRuntime(devices=8, guarded=True)
end = connect(None, sys.argv[1], True, None, runtime, {})
with Communicator(end) as comm:
    for count in (0, 1, 3000):
        x = end.arrays.from_host(np.arange(count) + comm.rank)
        ranks = sum(range(comm.size))
        found = end.arrays.to_host(comm.all_reduce(x))
        assert np.array_equal(found, np.arange(count) * comm.size + ranks)
print("right, and nobody looked.", flush=True)
