"""A reader in C holds MPI_Allreduce to the vectors, and finds what is broken on purpose."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mpi_jobs import launch, mpirun_path
from refcoll.oracle.vectors.writing import write_vectors

SOURCES = Path(__file__).parent / "vectors"
READER = SOURCES / "check_allreduce.c"
FAULTS = {
    "LAST_RANK": "RankMissing", "NARROW": "NarrowAccumulator", "TAIL": "LoopTail",
    "DOUBLED": "RankDoubled", "IN_PLACE_ONLY": "InPlace", "FLUSHED": "Subnormal",
    "THROUGH_DOUBLES": "IntegerBeyondDouble", "SIGNED": "UnsignedExtremes",
}  # fmt: skip
"""By name in broken.h, in its order: a flag of a vector that finds it."""


def compiler():
    """The mpicc that belongs to the MPI under test: mpicc.mpich to mpirun.mpich, and so on."""
    mpirun = Path(mpirun_path())
    found = shutil.which(str(mpirun.with_name(mpirun.name.replace("mpirun", "mpicc"))))
    if found is None and mpirun.parent == Path():
        found = shutil.which(mpirun.name.replace("mpirun", "mpicc"))
    if found is None:
        pytest.skip(f"there is no mpicc beside {mpirun}: install a C compiler for this MPI")
    cc = subprocess.run([found, "-show"], capture_output=True, text=True, check=False)
    if not cc.stdout or shutil.which(cc.stdout.split()[0]) is None:
        pytest.skip(f"{found} wraps a C compiler that is not there: {cc.stdout or cc.stderr}")
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("vectors")
    write_vectors(made, (2, 3, 4), ["all_reduce"])
    return made


def compiled(folder, name, *options):
    program = folder / name
    subprocess.run(
        [compiler(), "-O1", "-Wall", "-Wextra", "-Werror", *options, "-o", str(program), READER],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    return program


@pytest.fixture(scope="module")
def program(folder):
    return compiled(folder, "check")


@pytest.fixture(scope="module")
def broken_program(folder):
    """Which fault it has, it is told when it runs."""
    return compiled(folder, "check_broken", "-include", str(SOURCES / "broken.h"))


@pytest.fixture(scope="module")
def excused():
    """The flags of what the MPI under test is known to do wrong.

    MPICH 4.0 compares unsigned integers as signed ones: pmodels/mpich issue 6083.
    """
    said = "from mpi4py import MPI; print(MPI.Get_library_version())"
    run = launch(1, sys.executable, "-c", said)
    return {"UnsignedExtremes"} if re.search(r"MPICH Version:\s+4\.0", run.stdout) else set()


def failing(run):
    """By id, the flags of the vectors that failed."""
    found = re.findall(r"FAIL (\S+) \[(\S+)\]", run.stdout)
    return {name: set(flags.split(",")) for name, flags in found}


def test_the_reader_is_short():
    assert len(READER.read_text().splitlines()) <= 60


@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_mpi_holds_but_for_what_is_known(folder, program, excused, ranks):
    run = launch(ranks, str(program), str(folder / "all_reduce"))
    failed = failing(run)
    assert all(flags & excused for flags in failed.values()), failed
    assert (run.returncode == 0) == (not failed), run.stdout + run.stderr


def found_in(folder, program, fault, ranks, monkeypatch, excused):
    monkeypatch.setenv("BROKEN", str([*FAULTS].index(fault) + 1))
    run = launch(ranks, str(program), str(folder / "all_reduce"))
    assert run.returncode != 0
    # Most vectors try every operator: without these a fault has fewer ways to be found.
    few = (flags for flags in failing(run).values() if "WrongOperator" not in flags)
    return {flag for flags in few for flag in flags if not flags & excused}


@pytest.mark.parametrize(("fault", "ranks"), [("LAST_RANK", 3), ("NARROW", 2), ("TAIL", 3)])
def test_a_broken_all_reduce_is_found(folder, broken_program, fault, ranks, monkeypatch, excused):
    found = found_in(folder, broken_program, fault, ranks, monkeypatch, excused)
    assert FAULTS[fault] in found


@pytest.mark.long
@pytest.mark.parametrize("ranks", [2, 3, 4])
@pytest.mark.parametrize("fault", FAULTS)
def test_every_broken_all_reduce_is_found(
    folder, broken_program, fault, ranks, monkeypatch, excused
):
    found = found_in(folder, broken_program, fault, ranks, monkeypatch, excused)
    assert FAULTS[fault] in found or {FAULTS[fault]} <= excused


def test_ranks_without_a_file_are_refused(folder, program):
    run = launch(2, str(program), str(folder / "nothing"))
    assert run.returncode == 2


def test_a_file_that_ends_early_is_refused(folder, program, tmp_path):
    for rank in range(2):
        name = f"all_reduce-n2-rank{rank}.txt"
        lines = (folder / name).read_text().splitlines()
        (tmp_path / name).write_text("\n".join(lines[: len(lines) // 2]))
    assert launch(2, str(program), str(tmp_path / "all_reduce")).returncode == 2
