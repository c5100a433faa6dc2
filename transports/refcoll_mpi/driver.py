"""mpi4py, loaded without starting MPI, for packages that load it before this one has."""

import sys

import mpi4py

if "mpi4py.MPI" not in sys.modules:
    # Not yet: some pairs of launcher and library end the process when MPI starts.
    mpi4py.rc.initialize, mpi4py.rc.finalize = False, True
from mpi4py import MPI

__all__ = ["MPI"]
