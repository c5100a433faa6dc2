"""The command line, run within this process."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from refcoll.cli import main


@pytest.fixture
def run_refcoll(monkeypatch, capsys) -> Callable[..., tuple[int, str, str]]:
    """Exit status, standard output and error of `refcoll ARGUMENTS`, as if without a launcher."""
    for name in ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"):
        monkeypatch.delenv(name, raising=False)

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["refcoll", *arguments])
        status = 0
        try:
            main()
        except SystemExit as ended:
            status = ended.code or 0
        return status, *capsys.readouterr()

    return run


@dataclass
class Ended:
    status: int
    out: str
    err: str


@pytest.fixture
def refcoll(run_refcoll) -> Callable[..., Ended]:
    """What came of `refcoll ARGUMENTS`."""
    return lambda *arguments: Ended(*run_refcoll(*arguments))


@pytest.fixture
def as_json(run_refcoll) -> Callable[..., Any]:
    """What `refcoll ARGUMENTS`, which must hold, writes as JSON."""

    def run(*arguments: str) -> Any:
        status, out, _ = run_refcoll(*arguments, "--json", "-")
        assert status == 0
        return json.loads(out)

    return run
