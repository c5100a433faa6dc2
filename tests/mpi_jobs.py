"""Start real MPI jobs: the flags that each MPI wants, and a limit on how long they may take.

$REFCOLL_MPIRUN names another mpirun than the one beside this Python, or first on the path.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

LIMIT = 120
"""Seconds after which a job is taken to hang."""
Run = subprocess.CompletedProcess[str]

# Open MPI wants to be asked for more ranks than cores, and to be run as root; MPICH does not.
ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "true",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}


def script(name: str) -> str:
    """The command of that name that belongs to this Python, or else the first on the path."""
    beside = Path(sys.executable).parent / name
    found = str(beside) if beside.exists() else shutil.which(name)
    assert found, f"no {name}: pip install 'refcoll[mpi]'"
    return found


def mpirun_path() -> str:
    """The mpirun that belongs to the MPI under test."""
    return os.environ.get("REFCOLL_MPIRUN") or script("mpirun")


def launch(ranks: int, *command: str, limit: float = LIMIT, options: Sequence[str] = ()) -> Run:
    """``command`` on so many ranks; fails where it takes longer than ``limit`` seconds."""
    return subprocess.run(
        [mpirun_path(), *options, "-n", str(ranks), *command],
        capture_output=True,
        text=True,
        timeout=limit,
        env={**os.environ, **ENVIRONMENT},
        check=False,
    )
