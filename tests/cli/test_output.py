"""How tables are printed."""

import pytest

from refcoll.cli.output import console


@pytest.mark.parametrize("launched", [False, True])
def test_a_launchers_terminal_is_none(monkeypatch, launched):
    """Open MPI's mpirun gives its processes one, whatever its own output goes to."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    for name in ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"):
        monkeypatch.delenv(name, raising=False)
    if launched:
        monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "2")
    assert console().is_terminal != launched
