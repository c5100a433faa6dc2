"""What MPICH's and Open MPI's algorithms, forced by name, are revealed to be."""

from __future__ import annotations

import json
import re
import sys

import pytest

from refcoll.oracle.revealing.agreeing import AS_IT_IS
from refcoll.oracle.revealing.elsewhere import ADDS_ALIKE
from refcoll.registry import ALGORITHMS

MPICH_CALLS = {
    "all_reduce": "ALLREDUCE", "reduce": "REDUCE", "reduce_scatter": "REDUCE_SCATTER_BLOCK",
    "scan": "SCAN", "exscan": "EXSCAN",
}  # fmt: skip
OPEN_MPI = {
    "OMPI_MCA_coll": "basic,libnbc,tuned,self,inter",
    "OMPI_MCA_coll_tuned_use_dynamic_rules": "1",
}


def forced(collective, label, in_open_mpi):
    """The environment in which the library takes that algorithm."""
    call = MPICH_CALLS[collective]
    if in_open_mpi:
        name = {"all_reduce": "allreduce"}.get(collective, call.lower())
        return {**OPEN_MPI, f"OMPI_MCA_coll_tuned_{name}_algorithm": label.partition(" ")[0]}
    return {
        "MPIR_CVAR_DEVICE_COLLECTIVES": "none",
        f"MPIR_CVAR_{call}_INTRA_ALGORITHM": label,
    }


@pytest.fixture
def names(mpirun, is_open_mpi, monkeypatch, tmp_path):
    """Verdict, and names as JSON has them, of a forced algorithm; skips other versions than 5."""

    def of(ranks, collective, label, sizes="1000"):
        for key, value in forced(collective, label, is_open_mpi).items():
            monkeypatch.setenv(key, value)
        path = tmp_path / "found.json"
        run = mpirun(
            ranks, sys.executable, "-m", "refcoll", "reveal", "mpi", "-c", collective,
            "--sizes", sizes, "--json", str(path),
        )  # fmt: skip
        assert run.returncode == 0, run.stdout + run.stderr
        found = json.loads(path.read_text())
        if not re.match(r"(MPICH|Open MPI) 5\.", found["implementation"]):
            pytest.skip(f"{found['implementation']} was not asked")
        return found["verdict"], found["sizes"][-1]["names"]

    return of


def test_a_forced_ring_is_named_and_where_it_starts(names, is_open_mpi):
    """On three ranks, where Bruck's algorithm and others have the same order."""
    verdict, listed = names(3, "all_reduce", "4 ring" if is_open_mpi else "ring")
    assert listed[0]["name"] == "ring"
    assert len(listed) > 5
    if is_open_mpi:
        assert " on 3 ranks: ring, started 1 rank earlier (or " in verdict
        assert listed[0]["adds_alike"] == {}
    else:
        assert " on 3 ranks: ring, in chunks cut elsewhere (or " in verdict  # 334, 334, 332
        assert listed[0]["adds_alike"] == {"MPICH 5": "ring"}


def test_the_names_are_those_of_algorithms():
    assert set(ADDS_ALIKE) <= set(ALGORITHMS)


@pytest.mark.long
@pytest.mark.parametrize("ranks", [3, 5])
@pytest.mark.parametrize(("collective", "name"), ADDS_ALIKE)
def test_what_is_said_to_add_alike_does(names, is_open_mpi, collective, name, ranks):
    """refcoll's algorithm agrees, but for where chunks are cut, with each that is so forced."""
    library = "Open MPI 5" if is_open_mpi else "MPICH 5"
    for label in ADDS_ALIKE[collective, name].get(library, "").split(", "):
        if label:
            _, listed = names(ranks, collective, label)
            alike = {each["name"].partition(" (")[0] for each in listed if each["how"] in AS_IT_IS}
            assert name in alike, label
