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
    size: int, library: str, environment: Mapping[str, str] = os.environ
) -> None:
    """Raise WrongLauncherError where MPI sees one process and the launcher started more."""
    launched = launched_size(environment)
    if size == 1 and launched is not None and launched > 1:
        raise WrongLauncherError(
            f"{launcher(environment)} started {launched} processes, but mpi4py loads {library}, "
            "which believes that each of them is alone: use the mpirun that belongs to that MPI, "
            "for example the one in this virtual environment's bin directory"
        )
