"""Which launcher started the process, and as one of how many, from the environment."""

from __future__ import annotations

import os

import pytest

from refcoll.launching import launched_rank, launched_size, launcher


@pytest.mark.parametrize(
    ("environment", "size", "who"),
    [
        ({}, None, None),
        ({"HOME": "/", "PMI_RANK": "0", "OMPI_COMM_WORLD_RANK": "0"}, None, None),
        ({"OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_RANK": "3"}, 4, "Open MPI's mpirun"),
        ({"PMI_SIZE": "8", "PMI_RANK": "0"}, 8, "MPICH's mpirun, or another with PMI"),
        ({"SLURM_STEP_NUM_TASKS": "16"}, 16, "srun"),
        ({"PMI_SIZE": "1"}, 1, "MPICH's mpirun, or another with PMI"),
        ({"PMI_SIZE": "1", "OMPI_COMM_WORLD_SIZE": "4"}, 4, "Open MPI's mpirun"),
        ({"SLURM_STEP_NUM_TASKS": "1", "PMI_SIZE": "6"}, 6, "MPICH's mpirun, or another with PMI"),
        ({"PMI_SIZE": ""}, None, None),
        ({"PMI_SIZE": "many"}, None, None),
        ({"PMI_SIZE": "-1"}, None, None),
        ({"PMI_SIZE": "many", "SLURM_STEP_NUM_TASKS": "2"}, 2, "srun"),
    ],
)
def test_the_size_of_the_job(environment, size, who):
    assert launched_size(environment) == size
    assert launcher(environment) == who


@pytest.mark.parametrize(
    ("environment", "rank"),
    [
        ({}, None),
        ({"PMI_RANK": "3"}, None),
        ({"PMI_SIZE": "8", "PMI_RANK": "3"}, 3),
        ({"OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_RANK": "0"}, 0),
        ({"SLURM_STEP_NUM_TASKS": "4", "SLURM_PROCID": "2", "PMI_SIZE": "1", "PMI_RANK": "0"}, 2),
        ({"SLURM_STEP_NUM_TASKS": "1", "SLURM_PROCID": "0", "PMI_SIZE": "6", "PMI_RANK": "5"}, 5),
        ({"PMI_SIZE": "4"}, None),
        ({"PMI_SIZE": "4", "PMI_RANK": "first"}, None),
    ],
)
def test_the_rank_in_the_job(environment, rank):
    assert launched_rank(environment) == rank


def test_the_default_is_the_environment_of_this_process(monkeypatch):
    for name in ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"):
        monkeypatch.delenv(name, raising=False)
    assert launched_size() is None
    monkeypatch.setitem(os.environ, "OMPI_COMM_WORLD_SIZE", "5")
    assert launched_size() == 5
