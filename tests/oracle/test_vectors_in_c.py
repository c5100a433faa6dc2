"""A reader in C holds MPI_Allreduce to the vectors, and finds what is broken on purpose."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from mpi_jobs import launch, mpirun_path
from refcoll.oracle.vectors.writing import write_vectors

SOURCES = Path(__file__).parent / "vectors"
FAULTS = (
    "LAST_RANK", "NARROW", "TAIL", "DOUBLED", "REVERSED", "IN_PLACE_ONLY", "FLUSHED",
    "THROUGH_DOUBLES", "SIGNED", "UNLIKE",
)  # fmt: skip
BY_ORDER_OF_COMPARISON = "NaNInMinMax"
"""MPI leaves NaN in MIN and MAX open, and MPICH and Open MPI compare as C does: the result
depends on which operand the NaN is."""


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
    sources = str(SOURCES / "check_allreduce.c")
    subprocess.run(
        [compiler(), "-O1", "-Wall", "-Wextra", "-Werror", *options, "-o", str(program), sources],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    return program


@pytest.fixture(scope="module")
def program(folder):
    return compiled(folder, "check")


@pytest.fixture(scope="module")
def broken_program(folder):
    """Which fault it has, it is told when it runs."""
    return compiled(folder, "check_broken", '-DBROKEN=atoi(getenv("BROKEN"))')


def failing(run):
    """By id, the flags of the vectors that failed."""
    found = re.findall(r"FAIL (\S+) \[(\S+)\]", run.stdout)
    return {name: set(flags.split(",")) for name, flags in found}


def excused(run):
    """What the MPI under test is known to do wrong.

    MPICH 4.0 compares unsigned integers as signed ones: pmodels/mpich issue 6083.
    """
    old = re.search(r"MPICH Version:\s+4\.0", run.stdout)
    return {BY_ORDER_OF_COMPARISON} | ({"UnsignedExtremes"} if old else set())


@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_mpi_holds_but_for_what_is_known(folder, program, ranks):
    run = launch(ranks, str(program), str(folder / f"all_reduce-n{ranks}.txt"))
    assert re.search(r"holds?: 20\d vectors, 43 skipped", run.stdout), run.stdout + run.stderr
    failed, known = failing(run), excused(run)
    assert all(flags & known for flags in failed.values()), failed
    assert (run.returncode == 0) == (not failed)


def test_vectors_with_a_flag_can_be_left_out(folder, program):
    file = str(folder / "all_reduce-n2.txt")
    run = launch(2, str(program), file, BY_ORDER_OF_COMPARISON, "UnsignedExtremes")
    assert (run.returncode, failing(run)) == (0, {}), run.stdout
    assert re.search(r"^holds: 200 vectors, 59 skipped", run.stdout, re.M)


def found_in(folder, program, fault, ranks, monkeypatch):
    monkeypatch.setenv("BROKEN", str(FAULTS.index(fault) + 1))
    # Most vectors try every operator: without these a fault has fewer ways to be found.
    file = str(folder / f"all_reduce-n{ranks}.txt")
    run = launch(ranks, str(program), file, "WrongOperator")
    assert run.returncode != 0
    return {flag for flags in failing(run).values() for flag in flags if not flags & excused(run)}


@pytest.mark.parametrize(
    ("fault", "ranks", "flag"),
    [("LAST_RANK", 3, "RankMissing"), ("NARROW", 2, "NarrowAccumulator"), ("TAIL", 3, "LoopTail")],
)
def test_a_broken_all_reduce_is_found(folder, broken_program, fault, ranks, flag, monkeypatch):
    assert flag in found_in(folder, broken_program, fault, ranks, monkeypatch)


@pytest.mark.long
@pytest.mark.parametrize("ranks", [2, 3, 4])
@pytest.mark.parametrize("fault", FAULTS)
def test_every_broken_all_reduce_is_found(folder, broken_program, fault, ranks, monkeypatch):
    flags = {
        "LAST_RANK": "RankMissing", "NARROW": "NarrowAccumulator", "TAIL": "LoopTail",
        "DOUBLED": "RankDoubled", "REVERSED": "NonCommutative", "IN_PLACE_ONLY": "InPlace",
        "FLUSHED": "Subnormal", "THROUGH_DOUBLES": "IntegerBeyondDouble",
        "SIGNED": "UnsignedExtremes", "UNLIKE": "Cancellation",
    }  # fmt: skip
    found = found_in(folder, broken_program, fault, ranks, monkeypatch)
    assert flags[fault] in found


def test_a_file_for_other_ranks_is_refused(folder, program):
    run = launch(2, str(program), str(folder / "all_reduce-n3.txt"))
    assert run.returncode == 2
    assert "other version, collective or number of ranks" in run.stderr
