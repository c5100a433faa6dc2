"""A job of check.py's, over the MPI that is loaded, with a stand-in for the device."""

import sys
import warnings
from functools import partial

import refcoll_cupy
from checking_children import child
from checking_speed import by_mpi
from late_stream import LateRuntime

CEILING = '{"memory_bytes_per_second": 1e9, "to_host_bytes_per_second": 3e8, \
"from_host_bytes_per_second": 2e8}'

warnings.simplefilter("ignore")  # that they share a device is meant
end = refcoll_cupy.connect(mode=sys.argv[1], cuda_aware=True, runtime=LateRuntime(1))
part = partial(by_mpi, made=end, sizes=(8, 4096), vector=4096, slow=lambda: None, most=10)
child(part, "by_mpi", [sys.argv[1], CEILING])
