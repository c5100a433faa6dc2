"""The suite for pytest, run by pytest on right and faulty implementations."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
TOP = TESTS.parent
LAUNCHERS = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS")
SUITE = ("--pyargs", "refcoll.oracle.suite")
FILE = "refcoll/oracle/suite.py"


@pytest.fixture
def pytest_run(tmp_path):
    """Exit status and output of a pytest of its own, warnings being errors."""

    def run(*arguments, cache=False):
        path = os.pathsep.join([str(TESTS), str(TOP), os.environ.get("PYTHONPATH", "")])
        environment = {k: v for k, v in os.environ.items() if k not in LAUNCHERS}
        ended = subprocess.run(
            [sys.executable, "-m", "pytest", "-p", "refcoll_pytest", "-W", "error", "-q", "-rA",
             *(() if cache else ("-p", "no:cacheprovider")), *arguments],
            cwd=tmp_path, env={**environment, "PYTHONPATH": path},
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        return ended.returncode, ended.stdout + ended.stderr

    return run


def judged(name, *more):
    where = f"oracle_implementations:{name}"
    return ("--refcoll-implementation", where, "--refcoll-ranks", "2", *more, *SUITE)


def test_a_right_one_passes_and_says_what_is_not_there(pytest_run):
    status, out = pytest_run(*judged("only_sums"), "-k", "float32 and (all_reduce or gather)")
    assert status == 0, out
    assert f"PASSED {FILE}::test_collective[all_reduce-sum-float32]" in out
    assert "only sums" in out
    assert re.search(r"^1 passed, 6 skipped", out, re.M), out


def test_a_faulty_one_fails_where_it_is_faulty_with_a_diagnosis_and_a_reproducer(pytest_run):
    status, out = pytest_run(*judged("drops_last"), "-k", "all_reduce and (float32 or int8)")
    assert status == 1, out
    assert re.findall(r"^FAILED .*\[(.*)\]", out, re.M) == ["all_reduce-sum-float32"]
    assert re.search(r"value: on .*(rank 0's input alone|rank 1 missing)", out)
    assert "refcoll judge oracle_implementations:drops_last -n 2 -c all_reduce" in out


def test_a_test_may_be_run_again_by_its_name_or_because_it_failed(pytest_run):
    """The name is that of a file which is not there, in the directory that pytest is run in."""
    name = f"{FILE}::test_collective[all_reduce-sum-float32]"
    *options, _, _ = judged("drops_last")
    status, out = pytest_run(*options, name, cache=True)
    assert status == 1, out
    assert re.findall(r"^FAILED (\S+)", out, re.M) == [name]
    assert re.search(r"^1 failed", out, re.M), out
    status, out = pytest_run(*options, FILE, "--lf", cache=True)
    assert re.findall(r"^FAILED (\S+)", out, re.M) == [name]
    assert re.search(r"^1 failed, \d+ deselected", out, re.M), out


def test_a_file_of_that_name_that_is_there_is_meant(pytest_run, tmp_path):
    mine = tmp_path / FILE
    mine.parent.mkdir(parents=True)
    mine.write_text("def test_mine():\n    pass\n")
    status, out = pytest_run(FILE)
    assert status == 0, out
    assert f"PASSED {FILE}::test_mine" in out


def test_what_does_not_return_fails_and_ends_the_run(pytest_run):
    status, out = pytest_run(
        *judged("loops_on_one", "--refcoll-timeout", "1"),
        "-k", "all_reduce-min-float16 or broadcast-int8",
    )  # fmt: skip
    assert status == 1
    assert re.findall(r"^FAILED .*\[(.*)\]", out, re.M) == ["all_reduce-min-float16"]
    assert re.search(r"^stopped after 1 of \d+ calls; the rest was not judged$", out, re.M)
    assert "in all_reduce: with ThreadPoolExecutor(1) as pool:" in out
    assert "what hangs is still at work" in out
    assert re.search(r"^1 failed, \d+ deselected", out, re.M), out


def test_declared_failures_are_xfailed_and_what_works_though_declared_is_told(pytest_run, tmp_path):
    known = tmp_path / "known.txt"
    known.write_text("all_reduce sum float32  # forgets the last rank\nall_reduce max\n")
    more = ("--refcoll-xfails", str(known))
    status, out = pytest_run(*judged("drops_last", *more), "-k", "all_reduce and float32")
    assert status == 0, out
    assert f"XFAIL {FILE}::test_collective[all_reduce-sum-float32] - forgets the last" in out
    assert f"XPASS {FILE}::test_collective[all_reduce-max-float32] - declared: all_reduce" in out


def test_without_an_implementation_it_says_what_is_missing(pytest_run):
    status, out = pytest_run(*SUITE)
    assert status != 0
    assert "--refcoll-implementation is missing" in out


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("only_processes", "mpirun -n 2 python -m pytest"),
        ("nothing", "has no attribute 'nothing'"),
        pytest.param(
            "unplugged_on_one",
            "cannot be made: rank 1: raised OSError: unplugged",
            marks=pytest.mark.long,
        ),
    ],
)
def test_what_cannot_be_judged_here_ends_the_run_at_once(pytest_run, name, said):
    status, out = pytest_run(*judged(name), "-k", "all_reduce")
    assert status == 4
    assert said in out


def test_other_peoples_pytest_loads_neither_refcoll_nor_numpy(pytest_run, tmp_path):
    (tmp_path / "test_mine.py").write_text(
        "import sys\n"
        "def test_it():\n"
        "    assert 'refcoll_pytest' in sys.modules\n"
        "    assert not {'refcoll', 'numpy', 'mpi4py', 'typer'} & set(sys.modules)\n"
    )
    status, out = pytest_run("test_mine.py")
    assert status == 0, out
