"""`mpirun -n N refcoll judge`: the MPI library itself, Gloo, and what hangs."""

from __future__ import annotations

import json
import os
import re
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def in_tests():
    """Implementations of the tests can be imported."""
    path = os.pathsep.join(filter(None, [str(TESTS), os.environ.get("PYTHONPATH")]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", path)
        yield


@pytest.fixture(scope="module")
def judge(mpirun, refcoll_script, tmp_path_factory, in_tests):
    """A job that judges; its JSON beside."""

    def run(ranks, *arguments):
        report = tmp_path_factory.mktemp("judged") / "report.json"
        ended = mpirun(ranks, refcoll_script, "judge", *arguments, "--json", str(report))
        assert report.exists(), ended.stdout[-2000:] + ended.stderr[-2000:]
        return ended, json.loads(report.read_text())

    return run


def undeclared(told):
    return [
        finding | {"call": call["collective"]}
        for call in told["calls"] for finding in call["findings"] if not finding["declared"]
    ]  # fmt: skip


@pytest.fixture(scope="module")
def nan_rules(tmp_path_factory):
    """What MPI says nothing of: NaN in MIN and MAX."""
    path = tmp_path_factory.mktemp("rules") / "nan.txt"
    path.write_text("* min,max float* * special  # NaN: the result depends on the order\n")
    return str(path)


@pytest.fixture(scope="module")
def library(judge, nan_rules):
    """The MPI library, judged."""
    return judge(
        3, "mpi", "--dtype", "float32,bool,bfloat16", "--count", "5", "--xfails", nan_rules
    )


def test_the_library_is_right_but_for_nan(library):
    ended, told = library
    assert undeclared(told) == []
    assert ended.returncode == 0, ended.stdout[-2000:]
    assert re.match(r"holds: \d+ calls right", ended.stdout)
    assert re.search(r"on 3 ranks of (MPICH|Open MPI) \d", told["verdict"])
    assert told["environment"]["ranks"] == "3 processes"
    right = {
        (each["collective"], each["dtype"]) for each in told["calls"] if each["outcome"] == "right"
    }
    assert ("scan", "bool") in right
    assert ("all_to_all", "bfloat16") in right
    assert ("exscan", "bfloat16") not in right
    places = {
        each["collective"]
        for each in told["calls"]
        if each["in_place"] and each["outcome"] == "right"
    }
    assert places == {"all_reduce", "reduce_scatter", "all_gather", "reduce", "scan"}


def test_open_mpi_counts_the_bytes_of_its_all_reduce(judge, library, is_open_mpi):
    if not is_open_mpi:
        assert library[1]["bytes"] is None
        return
    _, told = judge(2, "mpi", "-c", "broadcast", "--count", "1", "--dtype", "int8")
    if told["bytes"] is None:
        pytest.skip("this Open MPI does not offer pml_monitoring_messages_size")
    for row in told["bytes"]:
        assert [row["sent"][rank][rank] for rank in range(2)] == [0, 0]
        assert row["most"] >= row["lower_bound"] == row["nbytes"]  # 2(N-1)/N S for N = 2


@pytest.mark.skipif(
    find_spec("torch") is None, reason="torch is missing: pip install torch==2.13.0"
)
def test_gloo_is_right_but_for_nan(judge, nan_rules):
    ended, told = judge(
        2,
        "torch:gloo",
        "-c",
        "all_reduce,all_gather",
        "--dtype",
        "float32,bfloat16",
        "--count",
        "5",
        "--xfails",
        nan_rules,
    )
    assert undeclared(told) == [] or {f["inputs"] for f in undeclared(told)} == {"special"}
    assert "gloo" in told["verdict"]
    assert ("all_gather", "right") in {(c["collective"], c["outcome"]) for c in told["calls"]}
    assert ended.stdout


def test_refcoll_over_mpi(judge):
    ended, told = judge(2, "refcoll", "-c", "scan", "--dtype", "float32", "--count", "5")
    assert ended.returncode == 0
    assert told["verdict"].endswith("on 2 ranks of refcoll auto")


@pytest.mark.parametrize(
    ("who", "said", "place"),
    [
        ("one", "rank 2: still in it; ranks 0-1: returned, now in the next try", "time.sleep"),
        pytest.param("all", "ranks 0-2: still in it", r"self.comm.Recv\(", marks=pytest.mark.long),
    ],
)
def test_a_hang_is_told_and_ends_the_job(judge, who, said, place):
    """Where one hangs, those that have returned wait for it in MPI, in the next of three tries."""
    started = time.monotonic()
    ended, told = judge(
        3, f"oracle_implementations:hangs_on_{who}", "-c", "all_reduce", "--op", "sum",
        "--dtype", "float32", "--count", "64,200", "--timeout", "2",
    )  # fmt: skip
    assert ended.returncode == 1
    assert time.monotonic() - started < 60
    (finding,) = undeclared(told)
    assert finding["diagnosis"] == f"did not finish within 2 s: {said}"
    last = finding["standing"][2]["stack"][-1]
    assert re.search(rf"oracle_implementations\.py:\d+ in all_reduce: {place}", last)
    assert last in ended.stdout
    first, second, *_ = ended.stdout.splitlines()
    assert first.startswith("FAILS: 1 of 2 calls")
    assert second == told["stopped"] == "stopped after 2 of 8 calls; the rest was not judged"
    assert told["verdicts"]["finished"] == 1
    assert {each["count"] for each in told["calls"] if each["outcome"] == "right"} == {64}


def test_a_job_that_crashes_leaves_what_was_found(mpirun, refcoll_script, in_tests, tmp_path):
    """By a process that launchers need not wait for.  The calls: 131 elements, then 5."""
    path = tmp_path / "report.json"
    ended = mpirun(
        2, refcoll_script, "judge", "oracle_implementations:crashes_in_job", "-c", "all_reduce",
        "--op", "sum", "--dtype", "float32", "--count", "5,131", "--json", str(path),
    )  # fmt: skip
    assert ended.returncode != 0
    deadline = time.monotonic() + 30
    while not path.exists() or not path.read_text().endswith("}\n"):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    told = json.loads(path.read_text())
    assert told["stopped"] == "stopped after 2 of 8 calls; the rest was not judged"
    assert "MPI" in told["environment"]
    crash, zeros = told["groups"]
    assert (crash["call"], zeros["call"]) == (
        "all_reduce sum float32 x 5", "all_reduce sum float32 x 131"
    )  # fmt: skip
    assert crash["diagnosis"].startswith("the job ended in this call: a process crashed")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("oracle_implementations:unplugged_on_one", "cannot be made: rank 1: raised OSError: unpl"),
        ("oracle_unloadable:only_sums", "cannot be loaded: RuntimeError: there is no device"),
    ],
)
def test_what_fails_on_one_rank_before_judging_is_told_once_and_ends_all_with_2(
    mpirun, refcoll_script, in_tests, name, said
):
    ended = mpirun(2, refcoll_script, "judge", name)
    assert ended.returncode == 2
    (line,) = [each for each in ended.stderr.splitlines() if each.startswith("refcoll: ")]
    assert "rank 1: " in line
    assert f"implementation='{name}'" in line
    assert said in line
    assert "Traceback" not in ended.stderr


@pytest.mark.long
def test_a_rank_that_cannot_even_say_where_it_stands_is_told_of_by_the_others(judge):
    ended, told = judge(
        2, "oracle_implementations:keeps_python", "-c", "all_reduce", "--op", "sum",
        "--dtype", "float32", "--count", "5", "--timeout", "2",
    )  # fmt: skip
    assert ended.returncode == 1
    (finding,) = undeclared(told)
    assert "rank 1: gives no answer: it has ended, is stopped, or " in finding["diagnosis"]
    assert finding["diagnosis"].endswith("; rank 0: returned")


@pytest.mark.long
def test_what_fails_as_declared_holds_though_messages_may_be_under_way(judge, tmp_path):
    known = tmp_path / "known.txt"
    known.write_text("* * * * * finished  # a cable\n")
    ended, told = judge(
        2, "oracle_implementations:raises_on_one", "-c", "all_reduce", "--op", "sum",
        "--dtype", "float32", "--count", "200", "--timeout", "2", "--xfails", str(known),
    )  # fmt: skip
    assert told["holds"]
    assert ended.returncode == 0, ended.stderr


def test_the_suite_runs_on_every_rank(mpirun, tmp_path, monkeypatch):
    path = os.pathsep.join([str(TESTS), str(TESTS.parent), os.environ.get("PYTHONPATH", "")])
    monkeypatch.setenv("PYTHONPATH", path)
    monkeypatch.chdir(tmp_path)
    command = (
        sys.executable, "-m", "pytest", "-q", "-p", "refcoll_pytest", "-p", "no:cacheprovider",
        "--refcoll-timeout", "2", "--pyargs", "refcoll.oracle.suite", "--refcoll-implementation",
    )  # fmt: skip
    right = mpirun(2, *command, "mpi", "-k", "sum-int32 or broadcast-float32")
    assert right.returncode == 0, right.stdout[-2000:]
    assert right.stdout.count("6 passed") == 2
    hangs = mpirun(
        2, *command, "oracle_implementations:hangs_on_one", "-k", "all_reduce-sum-float32"
    )
    assert hangs.returncode != 0
    assert (
        "all_reduce sum float32 x 131, any inputs: finished: did not finish within 2 s: rank 1: "
        "still in it"
    ) in hangs.stderr
    assert "in all_reduce: time.sleep(3600)" in hangs.stderr
