"""How tables are printed, and which files are refused before any work is done."""

import re

import pytest

from refcoll import ArgumentError
from refcoll.cli.output import console, require_writable, unwritable


@pytest.mark.parametrize("launched", [False, True])
def test_a_launchers_terminal_is_none(monkeypatch, launched):
    """Open MPI's mpirun gives its processes one, whatever its own output goes to."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    for name in ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"):
        monkeypatch.delenv(name, raising=False)
    if launched:
        monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "2")
    assert console().is_terminal != launched


def test_a_file_that_could_not_be_written_is_refused(tmp_path, monkeypatch):
    there = tmp_path / "there.json"
    there.touch()
    assert unwritable(there) is unwritable(tmp_path / "new.json") is None
    assert unwritable(tmp_path) == "it is a folder"
    with pytest.raises(ArgumentError, match=r"trace='.*' cannot be written: there is no folder"):
        require_writable(tmp_path / "none" / "new.json", "trace")
    asked = []
    monkeypatch.setattr("os.access", lambda path, mode: asked.append(path))
    assert unwritable(there) == unwritable(tmp_path / "new.json") == "permission denied"
    assert asked == [there, tmp_path]


@pytest.mark.parametrize("option", ["--json", "--trace"])
def test_a_folder_is_no_file(run_refcoll, tmp_path, option):
    status, out, err = run_refcoll("train", option, str(tmp_path))
    assert (status, out) == (2, "")
    assert "it is a folder" in re.sub(r"[│\s]+", " ", err)  # typer draws a box
