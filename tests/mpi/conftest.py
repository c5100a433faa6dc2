"""Real MPI jobs, as fixtures."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mpi_jobs import Run, launch, mpirun_path, script

PROGRAMS = Path(__file__).parent / "programs"


def launch_program(ranks: int, name: str, *arguments: str, **how: Any) -> Run:
    """The program of that name in ``programs`` on so many ranks."""
    return launch(ranks, sys.executable, str(PROGRAMS / name), *arguments, **how)


@pytest.fixture(scope="session")
def mpirun() -> Callable[..., Run]:
    return launch


@pytest.fixture(scope="session")
def is_open_mpi() -> bool:
    """Whether the launcher is Open MPI's."""
    told = subprocess.run([mpirun_path(), "--version"], capture_output=True, text=True, check=True)
    return "Open MPI" in told.stdout


@pytest.fixture(scope="session")
def program() -> Callable[..., Run]:
    return launch_program


@pytest.fixture(scope="session")
def refcoll_script() -> str:
    return script("refcoll")
