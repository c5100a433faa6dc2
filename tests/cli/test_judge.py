"""refcoll judge: exit status, verdict, files, and bad usage, on threads of this process."""

from __future__ import annotations

import json
import sys
from types import SimpleNamespace

import pytest

from refcoll.cli import judge_mutants
from refcoll.oracle.calls import COLLECTIVES, REDUCING
from refcoll.oracle.judging import VERDICTS

FAST = ("-n", "3", "-c", "all_reduce", "--count", "5", "--dtype", "float32")


@pytest.fixture
def judge(run_refcoll):
    """Exit status, standard output and error of `refcoll judge ARGUMENTS`."""
    return lambda *arguments: run_refcoll("judge", *arguments)


def test_refcoll_itself_holds(judge, tmp_path):
    path = tmp_path / "report.json"
    status, out, _ = judge("refcoll", "-n", "2", "--quick", "--count", "3", "--json", str(path))
    assert status == 0
    told = json.loads(path.read_text())
    assert out.splitlines()[0] == told["verdict"]
    assert told["verdict"].startswith("holds: ")
    assert told["verdict"].endswith("on 2 ranks of refcoll auto")
    assert {each["collective"] for each in told["calls"]} == set(COLLECTIVES)
    assert {each["dtype"] for each in told["calls"]} == {"int32", "float32", "float64"}
    assert {each["outcome"] for each in told["calls"]} == {"right"}


def test_an_algorithm_may_be_chosen(judge):
    status, out, _ = judge("refcoll", "-a", "ring", *FAST)
    assert status == 0
    assert "on 3 ranks of refcoll ring" in out


def test_a_faulty_one_fails_in_words_with_a_reproducer_that_fails_too(judge):
    status, out, _ = judge("oracle_implementations:drops_last", *FAST)
    assert status == 1
    first, *others = out.splitlines()
    assert first.startswith("FAILS: 2 of 10 calls on 3 ranks of refcoll auto: all_reduce sum")
    assert first.endswith("value: on all ranks: rank 2 missing in all 5 elements")
    (command,) = {each.strip() for each in others if "refcoll judge" in each}
    assert command == (
        "refcoll judge oracle_implementations:drops_last -n 3 -c all_reduce --dtype float32 "
        "--op sum --count 5 --seed 0"
    )
    status, again, _ = judge(*command.split()[2:])
    assert status == 1
    assert "rank 2 missing" in again


def test_what_is_declared_holds(judge, tmp_path):
    known = tmp_path / "known.txt"
    known.write_text("all_reduce sum  # it drops the last rank\n* max\n")
    status, out, _ = judge("oracle_implementations:drops_last", *FAST, "--xfails", str(known))
    assert status == 0
    assert "8 calls right, 2 fail as declared" in out
    assert "As declared: value" in out
    assert "XPASS: line 2, * max" in out


def test_what_is_not_supported_is_told_with_its_reason(judge):
    status, out, _ = judge("oracle_implementations:only_sums", *FAST)
    assert status == 0
    assert "8 calls: only sums" in out


def test_markdown_and_json_beside_each_other(judge, tmp_path):
    path = tmp_path / "report.md"
    status, out, _ = judge(
        "oracle_implementations:drops_last", *FAST, "--markdown", str(path), "--json", "-"
    )
    assert status == 1
    told = json.loads(out)
    assert path.read_text().startswith(f"**{told['verdict']}**")
    assert list(told["verdicts"]) == list(VERDICTS)
    assert told["groups"][0]["more"] == 1


def test_a_module_in_the_current_directory_is_found(judge, tmp_path, monkeypatch):
    (tmp_path / "only_here_of_mine.py").write_text(
        "from refcoll.oracle.adapters.own import Own\ndef make(comm):\n    return Own(comm)\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [each for each in sys.path if each])
    assert judge("only_here_of_mine:make", *FAST)[0] == 0


def test_only_these(judge):
    _, out, _ = judge(
        "refcoll", "-n", "2", "-c", "scan,reduce", "-c", "gather", "--op", "min,max",
        "--dtype", "int8", "--count", "1,2", "--json", "-",
    )  # fmt: skip
    calls = json.loads(out)["calls"]
    assert {each["collective"] for each in calls} == {"scan", "reduce", "gather"}
    assert {each["op"] for each in calls if each["collective"] in REDUCING} == {"min", "max"}
    assert {each["dtype"] for each in calls} == {"int8"}
    assert {each["count"] for each in calls} == {1, 2}


def test_progress_is_told_on_standard_error(judge, monkeypatch):
    monkeypatch.setattr("refcoll.cli.judge_report._EVERY", 0.0)
    _, out, err = judge("refcoll", *FAST)
    assert "judging: 3 of 10 calls" in err
    assert "judging" not in out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "implementation is missing"),
        (("nonsense",), "must be one of mpi, refcoll, torch:gloo, or module:function"),
        (("refcoll", "-c", "allreduce"), "collective='allreduce' does not exist"),
        (("refcoll", "--dtype", "half"), "dtype='half' does not exist"),
        (("refcoll", "--op", "plus"), "op='plus' does not exist"),
        (("refcoll", "--count", "-1"), "count='-1' must be elements"),
        (("refcoll", "--op", "avg", "--dtype", "int8", "-c", "scan"), "nothing to judge"),
        (("refcoll", "-a", "nonsense"), "algorithm='nonsense' does not exist"),
        (("mpi", "-a", "ring"), "is for refcoll's own collectives"),
        (("refcoll", "--quick", "--thorough"), "exclude each other"),
        (("refcoll", "--xfails", "/no/such/file"), "cannot be read"),
        (("refcoll", "--markdown", "/no/such/file"), "cannot be written"),
        (("mpi", "-n", "3"), "mpirun -n 3 refcoll judge mpi"),
        (("oracle_implementations:only_processes",), "mpirun -n 4 refcoll judge oracle_impl"),
    ],
)
def test_bad_usage_exits_with_2(judge, arguments, said):
    status, out, err = judge(*arguments)
    assert status == 2
    assert said in err
    assert out == ""


def test_the_score_of_the_oracle(judge, monkeypatch):
    row = SimpleNamespace(
        name="ring too short", fault="contributions", found=True, diagnosis="rank 1 missing",
        simple={"all-ones": False, "rank 0 only": True},
    )  # fmt: skip
    score = SimpleNamespace(found=1, total=1, false_alarms=[], rows=[row], perfect=True)
    module = SimpleNamespace(score=lambda progress: score)
    monkeypatch.setitem(sys.modules, "refcoll.oracle.mutants", module)
    status, out, _ = judge("--mutants")
    assert status == 0
    assert out.splitlines()[0] == "holds: 1 of 1 faults found, 0 false alarms"
    assert "of 1: the oracle 1, all-ones 0, rank 0 only 1" in out
    score.false_alarms, score.perfect = ["ring: all_reduce"], False
    status, out, _ = judge("--mutants", "--json", "-")
    assert status == 1
    assert json.loads(out)["rows"][0]["simple"] == {"all-ones": False, "rank 0 only": True}
    assert judge_mutants.__doc__
