"""The conformance kit over MPI: every check on a transport of its own."""

import sys

from mpi4py import MPI

from refcoll.testing.conformance import CHECKS, SPARE_CHECKS
from refcoll_mpi import connect

for check in SPARE_CHECKS if "spare" in sys.argv else CHECKS:
    check(connect(MPI.COMM_WORLD))
    print(f"kept: {check.__name__}.", flush=True)
