"""Was this process started by an mpirun, and by that of the MPI that mpi4py loads?

A process under another MPI's mpirun believes that it is rank 0 of 1, and N of them would
report N lonely successes.  Launchers leave the job's size in the environment; that tells.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from refcoll.transport import TransportError

_SIZE_VARIABLES = {
    "OMPI_COMM_WORLD_SIZE": "Open MPI's mpirun",
    "PMI_SIZE": "MPICH's mpirun, or another with PMI",
    "MPI_LOCALNRANKS": "MPICH's mpirun",
    "SLURM_STEP_NUM_TASKS": "srun",
}


class WrongLauncherError(TransportError):
    """The launcher and the MPI library do not belong together."""


def launched_size(environment: Mapping[str, str] = os.environ) -> int | None:
    """How many processes the launcher started; None where there was no launcher."""
    sizes = [environment[name] for name in _SIZE_VARIABLES if environment.get(name, "").isdigit()]
    return max(map(int, sizes), default=None)


def require_right_launcher(
    size: int, library: str, environment: Mapping[str, str] = os.environ
) -> None:
    """Raise WrongLauncherError where MPI sees one process and the launcher started more."""
    launched = launched_size(environment)
    if size == 1 and launched is not None and launched > 1:
        by = next(said for name, said in _SIZE_VARIABLES.items() if name in environment)
        raise WrongLauncherError(
            f"{by} started {launched} processes, but mpi4py loads {library}, which believes "
            "that each of them is alone: use the mpirun that belongs to that MPI "
            "(`python -c 'import mpi4py.MPI as m; print(m.Get_library_version())'` names it), "
            "for example the one in this virtual environment's bin directory"
        )
