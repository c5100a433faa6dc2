"""MPI jobs over the stand-in for a device (``late_stream``), as fixtures."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mpi_jobs import Run, launch, script

TESTS = Path(__file__).parent.parent


@pytest.fixture(scope="session")
def program() -> Callable[..., Run]:
    """Runs the program of that name in ``programs`` on so many ranks."""
    path = os.pathsep.join([str(TESTS), str(TESTS / "gpu"), os.environ.get("PYTHONPATH", "")])

    def run(ranks: int, name: str, *arguments: str, **how: Any) -> Run:
        file = str(TESTS / "gpu" / "programs" / name)
        return launch(
            ranks, "env", f"PYTHONPATH={path}", sys.executable, file, *arguments, **how
        )  # fmt: skip

    return run


@pytest.fixture(scope="session")
def refcoll_script() -> str:
    return script("refcoll")
