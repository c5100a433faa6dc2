"""Was this process started by an mpirun or the like, as one of how many?

Launchers leave the size of the job in the environment.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

_SIZE_VARIABLES = {
    "OMPI_COMM_WORLD_SIZE": "Open MPI's mpirun",
    "PMI_SIZE": "MPICH's mpirun, or another with PMI",
    "SLURM_STEP_NUM_TASKS": "srun",
}
_RANK_VARIABLES = {
    "OMPI_COMM_WORLD_SIZE": "OMPI_COMM_WORLD_RANK",
    "PMI_SIZE": "PMI_RANK",
    "SLURM_STEP_NUM_TASKS": "SLURM_PROCID",
}


def launched_size(environment: Mapping[str, str] = os.environ) -> int | None:
    """How many processes the launcher started; None where there was no launcher."""
    sizes = [int(environment[name]) for name in _present(environment)]
    return max(sizes, default=None)


def launched_rank(environment: Mapping[str, str] = os.environ) -> int | None:
    """Which of them this one is; None where there was no launcher, or it does not say."""
    largest = max(_present(environment), key=lambda name: int(environment[name]), default="")
    said = environment.get(_RANK_VARIABLES.get(largest, ""), "")
    return int(said) if said.isdigit() else None


def launcher(environment: Mapping[str, str] = os.environ) -> str | None:
    """The launcher in words, as far as its traces tell."""
    return next((_SIZE_VARIABLES[name] for name in _present(environment)), None)


def _present(environment: Mapping[str, str]) -> list[str]:
    return [name for name in _SIZE_VARIABLES if environment.get(name, "").isdigit()]
