"""refcoll judge: exit status, verdict, files, and bad usage, on threads of this process."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from refcoll.oracle import mutants
from refcoll.oracle.calls import COLLECTIVES, REDUCING
from refcoll.oracle.judging import VERDICTS
from refcoll.oracle.mutants.scoring import right_ones

TESTS = Path(__file__).parents[1]
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
    assert first.startswith("FAILS: 6 of 18 calls on 3 ranks of refcoll auto: all_reduce sum")
    assert first.endswith("value: on all ranks: rank 2 missing in all 5 elements")
    (command,) = {each.strip() for each in others if "refcoll judge" in each}
    assert command == (
        "refcoll judge oracle_implementations:drops_last -n 3 -c all_reduce --dtype float32 "
        "--op sum --count 5 --seed 0"
    )
    status, again, _ = judge(*command.split()[2:])
    assert status == 1
    assert "rank 2 missing" in again


def shown_again(judge, out):
    """The last words of the first command in a report, and what comes of it."""
    command = next(each.strip() for each in out.splitlines() if "   refcoll judge" in each)
    return command, judge(*shlex.split(command)[2:])


def test_what_an_earlier_call_has_left_is_shown_again_after_it(judge, tmp_path):
    path, kept = tmp_path / "r.json", "oracle_implementations:KeepsPlan"
    status, out, _ = judge(kept, *FAST, "--op", "sum,max", "--json", str(path))
    assert status == 1
    assert "   not alone; after all_reduce sum float32 x 5:\n" in out
    command, (status, again, _) = shown_again(judge, out)
    assert command.endswith("--op max --count 5 --seed 0 --after 'all_reduce sum float32 x 5'")
    assert status == 1
    assert "the sum, not the max" in again
    (group,) = json.loads(path.read_text())["groups"]
    assert group["after"] == ["all_reduce sum float32 x 5"]
    assert judge(kept, *FAST, "--op", "max")[0] == 0


def test_what_several_calls_have_left_is_shown_again_after_all_of_them(judge, tmp_path):
    files = ("--markdown", str(tmp_path / "r.md"), f"--json={tmp_path / 'r.json'}")
    status, out, _ = judge("oracle_implementations:AverageAfterThree", *FAST, *files)
    assert status == 1
    command, (status, again, _) = shown_again(judge, out)
    told = json.loads((tmp_path / "r.json").read_text())
    number = 1 + [each["outcome"] for each in told["calls"]].index("failed")
    assert command == (
        f"refcoll judge oracle_implementations:AverageAfterThree {' '.join(FAST)} --first {number}"
    )
    assert status == 1
    assert f"of {number} calls" in again.splitlines()[0]
    assert told["groups"][0]["after"] is None
    assert "Not alone; after all calls up to it" in (tmp_path / "r.md").read_text()


def test_a_call_before_that_is_none_is_bad_usage(judge):
    status, _, error = judge("refcoll", *FAST, "--after", "all_reduce x 5")
    assert status == 2
    assert "after='all_reduce x 5' is no call: write it as reports do" in error


def test_what_is_declared_holds(judge, tmp_path):
    known = tmp_path / "known.txt"
    known.write_text("all_reduce sum  # it drops the last rank\n* max\n")
    status, out, _ = judge("oracle_implementations:drops_last", *FAST, "--xfails", str(known))
    assert status == 0
    assert "12 calls right, 6 failing as declared" in out
    assert "As declared: value" in out
    assert "XPASS: line 2, * max" in out


def test_what_is_not_supported_is_told_with_its_reason(judge):
    status, out, _ = judge("oracle_implementations:only_sums", *FAST)
    assert status == 0
    assert "not supported: 12 calls: only sums (12)" in out


def test_markdown_and_json_beside_each_other(judge, tmp_path):
    path = tmp_path / "report.md"
    status, out, _ = judge(
        "oracle_implementations:drops_last", *FAST, "--markdown", str(path), "--json", "-"
    )
    assert status == 1
    told = json.loads(out)
    assert path.read_text().startswith(f"**{told['verdict']}**")
    assert list(told["verdicts"]) == list(VERDICTS)
    assert told["groups"][0]["more"] == 5


def test_what_is_all_zero_is_not_printed(judge):
    _, out, _ = judge("refcoll", *FAST)
    header = next(line for line in out.splitlines() if line.startswith("collective"))
    assert header.split() == ["collective", "calls", "right", "failed"]
    assert "verdict" not in out


def test_markdown_has_the_command_line(judge, tmp_path):
    path = tmp_path / "report.md"
    judge("refcoll", *FAST, "--markdown", str(path))
    command = " ".join(("refcoll judge refcoll", *FAST, "--markdown", str(path)))
    assert f"```sh\n{command}\n```" in path.read_text()


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
    monkeypatch.setattr("refcoll.cli.judge_progress._EVERY", 0.0)
    _, out, err = judge("refcoll", *FAST)
    lines = err.splitlines()
    assert re.fullmatch(r"judging: 3 of 18 calls, about \d+ s left", lines[2])
    assert lines[17] == "judging: 18 of 18 calls, about 0 s left"
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
        (
            ("oracle_implementations:unplugged_on_one",),
            "refcoll: implementation='oracle_implementations:unplugged_on_one' cannot be made: "
            "rank 1: raised OSError: unplugged (oracle_implementations.py, line ",
        ),
        (("--mutants", "-n", "3"), "ranks=3 does not go with --mutants"),
        (("refcoll", "--mutants"), "implementation=refcoll does not go with --mutants"),
        (("--mutants", "--quick"), "quick=True does not go with --mutants"),
        (("--mutants", "-c", "barrier"), "collective='barrier' does not exist"),
    ],
)
def test_bad_usage_exits_with_2(judge, arguments, said):
    status, out, err = judge(*arguments)
    assert status == 2
    assert said in err
    assert out == ""


def test_bad_usage_is_told_in_a_line(judge):
    assert judge("oracle_implementations:unplugged_on_one")[2].count("\n") == 1


@pytest.mark.parametrize("arguments", [("--nonsense",), ("--seed", "x"), ("--mutants", "-n", "2")])
def test_of_a_job_rank_0_alone_tells_what_is_wrong_with_the_command_line(
    judge, monkeypatch, arguments
):
    monkeypatch.setenv("PMI_SIZE", "2")
    for rank in ("0", "1"):
        monkeypatch.setenv("PMI_RANK", rank)
        status, out, err = judge(*arguments)
        assert (status, out, bool(err)) == (2, "", rank == "0")


# ---- what does not return, in a process of its own ---------------------------------------------


@pytest.fixture
def alone(tmp_path):
    """Status, output and error of `refcoll judge NAME`, of two ranks and one call or two."""

    def run(name, *arguments):
        ended = subprocess.run(
            [sys.executable, "-m", "refcoll", "judge", f"oracle_implementations:{name}", "-n", "2",
             "-c", "all_reduce", "--op", "sum", "--dtype", "float32", *arguments],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (TESTS, TESTS.parent)))},
            cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        return ended.returncode, ended.stdout, ended.stderr

    return run


def test_an_endless_loop_ends_with_a_report(alone, tmp_path):
    """It is in a thread that Python would wait for.  The call of 64 elements is right, that of 200
    never ends; those in place come behind them."""
    status, out, _ = alone(
        "loops_on_one", "--count", "64,200", "--timeout", "1", "--json", "report.json"
    )
    assert status == 1
    first, second, *others = out.splitlines()
    assert first.startswith("FAILS: 1 of 2 calls on 2 ranks of refcoll auto: all_reduce sum float")
    assert re.search(r"did not finish within 1 s: ranks? (0-)?1: still in it", first)
    assert second == "stopped after 2 of 8 calls; the rest was not judged"
    place = next(line for line in others if "in all_reduce: with ThreadPoolExec" in line)
    assert re.match(r"\s+/.*oracle_implementations\.py:\d+ in ", place)
    assert json.loads((tmp_path / "report.json").read_text())["stopped"] == second


def test_native_code_that_keeps_python_waiting_ends_too_with_all_stacks(alone):
    status, _, err = alone("keeps_python", "--count", "5", "--timeout", "0.2")
    assert status == 1
    stack = err.partition(" in rank 1, call 1 of 2: all_reduce sum float32 x 5")[0]
    assert re.search(r'oracle_implementations\.py", line \d+ in all_reduce', stack)


# ---- what crashes ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "said"),
    [("Crashes", "ended with status 0"), ("Killed", "was ended by SIGKILL")],
)
def test_a_crash_fails_and_what_was_found_before_is_told(judge, tmp_path, name, said):
    """The calls: sum, min and max, out of place, then in place; the first maximum crashes."""
    path, known = tmp_path / "r.json", f"oracle_implementations:{name}"
    status, out, _ = judge(known, *FAST, "--op", "sum,min,max", "--json", str(path))
    told = json.loads(path.read_text())
    first, second, *_ = out.splitlines()
    assert status == 1
    assert first.startswith("FAILS: 2 of 3 calls on 3 ranks of refcoll auto: all_reduce max float")
    assert first.endswith(f"x 5, any inputs: finished: its process {said}")
    assert second == told["stopped"] == "stopped after 3 of 14 calls; the rest was not judged"
    assert [each["op"] for each in told["calls"]] == ["sum", "min", "max"]
    crash, zeros = told["groups"]
    assert crash["after"] == ["all_reduce min float32 x 5"]
    assert "zeros in all 5 elements" in zeros["diagnosis"]
    assert zeros["after"] == []
    status, out, _ = shown_again(judge, out)[1]
    assert (status, said in out) == (1, True)


def test_a_crash_while_a_finding_is_tried_again_takes_nothing_with_it(judge):
    status, out, _ = judge("oracle_implementations:CrashesAlone", *FAST, "--op", "sum,min")
    assert status == 1
    assert out.startswith("FAILS: 6 of 12 calls")
    assert "not alone; after all_reduce sum float32 x 5:" in out
    command, (status, again, _) = shown_again(judge, out)
    assert (status, "zeros in all 5 elements" in again) == (1, True)
    assert "--after 'all_reduce sum float32 x 5'" in command


def test_a_crash_before_there_is_anything_to_judge_is_bad_usage(judge):
    status, out, error = judge("oracle_implementations:crashes_while_made", *FAST)
    assert (status, out) == (2, "")
    assert error.strip().endswith("cannot be made: its process ended with status 7")


# ---- the oracle itself -------------------------------------------------------------------------


@pytest.fixture
def score(monkeypatch):
    """What scoring comes to, of one mutant; it notes what it is asked for."""
    row = SimpleNamespace(
        name="ring too short", fault="contributions", found=True, diagnosis="rank 1 missing",
        simple={"all-ones": False, "rank 0 only": True},
    )  # fmt: skip
    made = SimpleNamespace(found=1, total=1, false_alarms=[], rows=[row], perfect=True)

    def scored(mutants, progress, **how):
        made.asked = mutants, how
        for each in mutants:
            progress(each.name)
        return made

    monkeypatch.setattr("refcoll.oracle.mutants.score", scored)
    return made


def test_the_score_of_the_oracle(judge, score):
    status, out, _ = judge("--mutants")
    assert status == 0
    assert out.splitlines()[0] == "holds: 1 of 1 fault found, 0 false alarms"
    assert "of 1: the oracle 1, all-ones 0, rank 0 only 1" in out
    score.false_alarms, score.perfect = ["ring: all_reduce"], False
    status, out, _ = judge("--mutants", "--json", "-")
    assert status == 1
    assert json.loads(out)["rows"][0]["simple"] == {"all-ones": False, "rank 0 only": True}


def test_the_score_may_be_of_some_collectives_and_is_said_to_take_time(judge, score, monkeypatch):
    monkeypatch.setattr("refcoll.cli.judge_progress._EVERY", 0.0)
    _, _, err = judge("--mutants", "-c", "scan,gather", "--seed", "3")
    chosen, how = score.asked
    assert {each.shows_at.collective for each in chosen} == {"scan", "gather"}
    assert how == {"seed": 3, "collectives": ["scan", "gather"]}
    first, *others = err.splitlines()
    pattern = r"judging (\d+) faulty implementations and (\d+) right ones: about \d+ s where a core"
    faulty, right = map(int, re.match(pattern, first).groups())
    assert faulty == len(chosen)
    assert others[1].startswith(f"judging: 1 of {faulty + right} implementations, about ")


def test_right_algorithms_are_counted_and_chosen_by_collective():
    expected = mutants.expected(mutants=[], sizes=[2, 4], collectives=["scan"])
    judged = mutants.score(mutants=[], sizes=[2], collectives=["scan"])
    names = [str(right) for right, _ in right_ones(2, ["scan"])]
    assert names
    assert all(name.split(",")[0].endswith(" scan") for name in names)
    assert len(expected) == len(names) + len([*right_ones(4, ["scan"])])
    assert judged.judged >= len(names)
