"""MPI over host memory, by mpi4py: point-to-point messages of bytes, nothing pickled.

comm = refcoll.connect("mpi")                  # COMM_WORLD
comm = refcoll.connect("mpi", comm=mine)       # an mpi4py.MPI.Comm of your own
"""

import refcoll_mpi.driver  # noqa: F401 - before anything else loads mpi4py
from refcoll_mpi.connecting import connect
from refcoll_mpi.launcher import WrongLauncherError
from refcoll_mpi.transport import MPITransport

__all__ = ["MPITransport", "WrongLauncherError", "connect"]
