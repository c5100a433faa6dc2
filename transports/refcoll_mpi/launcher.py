"""Do the launcher and the MPI library belong together?

A process under another MPI's mpirun believes that it is rank 0 of 1, and N of them would
report N lonely successes.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from refcoll.transport import TransportError, launched_size, launcher


class WrongLauncherError(TransportError):
    """They do not."""


def require_right_launcher(
    library: str, size: int | None = None, environment: Mapping[str, str] = os.environ
) -> None:
    """Raise WrongLauncherError where launcher and library cannot belong together.

    Before MPI starts (``size`` None) by their names: Open MPI and others do not mix, and
    some pairs end the process when MPI starts, before it could say anything.  Afterwards,
    where MPI sees one process and the launcher started more.
    """
    launched = launched_size(environment)
    if launched is None or launched == 1:
        return
    foreign = ("OMPI_COMM_WORLD_SIZE" in environment) != ("Open MPI" in library)
    if (size is None and foreign) or size == 1:
        raise WrongLauncherError(
            f"{launcher(environment)} started {launched} processes, but mpi4py loads {library}, "
            "under which each of them would be alone, or fail: use the mpirun that belongs to "
            "that MPI, for example the one in this virtual environment's bin directory"
        )
