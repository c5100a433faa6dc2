"""check.py without a GPU: its children, its verdict, and how it is used."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import check
import pytest

from checking_bounds import GOAL
from checking_children import Part, all_tried, jobs, tried

FILE = Path(check.__file__)
QUICK = {"right": True, "ended": None, "missing": False, "wall_seconds": 1.0}
CRASHED = {"right": False, "ended": "ended by SIGSEGV", "missing": False, "wall_seconds": 1.0}


# ---- children ----------------------------------------------------------------------------

FOUND = 'print(\'found: {"right": true, "rows": 3}\', flush=True); '


@pytest.mark.parametrize(
    ("program", "ended", "missing", "rows"),
    [
        (FOUND, None, False, 3),
        (FOUND + "import os; os.abort()", "ended by SIGABRT", False, 3),
        ("import os; os.kill(os.getpid(), 11)", "ended by SIGSEGV", False, None),
        ("import no_such_library", "ended with status 1: ModuleNotFoundError: No module named "
         "'no_such_library'", True, None),
        ("import time; time.sleep(60)", "did not end within 0.5 s", False, None),
        ("pass", "ended with status 0: nothing was said", False, None),
    ],
)  # fmt: skip
def test_how_a_child_ends_is_a_result(program, ended, missing, rows):
    """It is right only if it has said so and come to its end."""
    found = tried([sys.executable, "-Sc", program], 0.5 if "sleep" in program else 60)
    assert found["right"] == (ended is None)
    assert (found["ended"], found["missing"], found.get("rows")) == (ended, missing, rows)
    assert 0 < found["wall_seconds"] < 60


def test_a_part_runs_in_a_child_of_the_program(tmp_path):
    """The real one, of a name that does not exist, and one that cannot do without CuPy."""
    found = tried(Part("", "no_such_part").command({}), 60)
    assert found["ended"] == "ended with status 1: KeyError: 'no_such_part'"


def test_jobs_have_their_launcher_their_way_and_the_ceiling():
    two, *_ = jobs({"intel": "env A='b c' mpiexec -n {ranks}"}, modes=["direct"])
    assert (two.title, two.group) == ("intel direct 2", "intel direct")
    command = two.command({"memory_bytes_per_second": 1.5}, "check.py")
    assert command[:5] == ["env", "A=b c", "mpiexec", "-n", "2"]
    assert command[6:10] == ["check.py", "--child", "by_mpi", "direct"]
    assert json.loads(command[10]) == {"memory_bytes_per_second": 1.5}


def tell(*_, **__):
    pass


def test_where_few_ranks_fail_more_are_not_tried():
    parts = [Part("ceiling", "ceiling"), *jobs({"a": "run", "b": "run"}, modes=["direct"])]
    calls = []

    def trial(command, limit):
        calls.append(json.loads(command[-1]) if "by_mpi" in command else None)
        return {**(CRASHED if len(calls) == 2 else QUICK), "speed": 7}

    found = all_tried(parts, time.monotonic() + 600, tell=tell, trial=trial)
    assert list(found) == [part.title for part in parts]
    assert found["a direct 4"]["not_tried"] == found["a direct 8"]["not_tried"]
    assert found["a direct 8"]["not_tried"] == "a direct 2 has failed"
    assert calls == [None, *[{**QUICK, "speed": 7}] * 4]  # b's three, and all know the ceiling


def test_what_is_known_is_kept_after_each_part():
    kept = []
    parts = [Part(name, name) for name in "ab"]
    all_tried(parts, time.monotonic() + 600, lambda found: kept.append(list(found)), tell,
              lambda command, limit: QUICK)  # fmt: skip
    assert kept == [["a"], ["a", "b"]]


def test_what_cannot_be_asked_is_an_answer():
    assert check._answer(lambda: 12080) == 12080
    assert check._answer(lambda: {}["uuid"]) == "KeyError: 'uuid'"


def test_no_part_gets_more_time_than_is_left():
    limits = []

    def trial(command, limit):
        limits.append(limit)
        return QUICK

    assert all_tried([Part("a", "a")], time.monotonic() + 600, tell=tell, trial=trial)["a"] == QUICK
    all_tried([Part("a", "a")], time.monotonic() + 30, tell=tell, trial=trial)
    late = all_tried([Part("a", "a")], time.monotonic() + 1, tell=tell, trial=trial)
    assert limits[0] == 90
    assert 20 < limits[1] <= 30
    assert late["a"]["not_tried"] == "no time was left"
    assert len(limits) == 2


# ---- the verdict -------------------------------------------------------------------------

LEFT_OUT = {"right": False, "ended": None, "missing": False, "not_tried": "mpi direct 2 has failed"}
NO_TIME = {**LEFT_OUT, "not_tried": "no time was left"}
ABSENT = {**CRASHED, "missing": True}
WRONG = {**QUICK, "right": False}
AWARE = {**QUICK, "cuda_aware": True}
RINGS = {**QUICK, "ring": [{"ranks": 2, "share": 0.9}, {"ranks": 4, "share": 0.7}]}


@pytest.mark.parametrize(
    ("found", "holds", "verdict"),
    [
        ({"race": QUICK, "mpi direct 2": CRASHED, "mpi direct 4": LEFT_OUT}, True, "right"),
        ({"mpi staged 2": AWARE, "mpi direct 2": CRASHED}, False, "wrong: mpi direct 2"),
        ({"mpi direct 2": WRONG}, False, "wrong: mpi direct 2"),
        ({"mpi direct 2": NO_TIME}, False, "wrong: mpi direct 2"),
        ({"mpi staged 2": CRASHED}, False, "wrong: mpi staged 2"),
        ({"race": WRONG, "nccl": QUICK}, False, "wrong: race"),
        ({"nccl": ABSENT, "torch_tensors": QUICK}, True, "right; not there: nccl"),
        ({"nccl": CRASHED}, False, "wrong: nccl"),
        ({"race": ABSENT}, False, "wrong: race; not there: race"),
        ({"in_process": RINGS}, True, f"right; rings below {GOAL:.0%} of their bound: 4 ranks 70%"),
    ],
)  # fmt: skip
def test_its_verdict(found, holds, verdict):
    assert check.judged(found) == (holds, verdict)


def test_without_cupy_it_says_so_and_ends_with_a_status_of_its_own(tmp_path):
    """Nor does it need mpi4py to say so."""
    for name in ("cupy", "mpi4py"):
        (tmp_path / f"{name}.py").write_text("raise ImportError('not here')")
    path = f"{tmp_path}:{':'.join(sys.path)}"
    command = [sys.executable, str(FILE), "--json", str(tmp_path / "found.json")]
    run = subprocess.run(["env", f"PYTHONPATH={path}", *command], capture_output=True, text=True,
                         timeout=60, check=False)  # fmt: skip
    assert run.returncode == check.NO_GPU == 3, run.stderr
    assert run.stdout.startswith("no GPU: cupy cannot be imported: not here")
    told = json.loads((tmp_path / "found.json").read_text())
    assert set(told) == {"format", "versions", "gpu", "holds", "verdict"}
    assert (told["gpu"], told["holds"]) == (False, None)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--launcher", "mpiexec -n {ranks}"], "is not like 'NAME=mpiexec -n {ranks}'"),
        (["--launcher", "intel=mpiexec -n 2"], "is not like"),
        (["--json", "nowhere/found.json"], "nowhere is no directory"),
    ],
)
def test_bad_usage_is_told_before_anything_is_tried(options, said, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["check.py", *options])
    with pytest.raises(SystemExit) as ended:
        check.main()
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


def test_launchers_have_names():
    """What follows the first = is the command, others in it too."""
    line = "intel=env I_MPI_OFFLOAD=1 mpiexec.hydra -n {ranks}"
    assert check.launchers([line]) == {"intel": "env I_MPI_OFFLOAD=1 mpiexec.hydra -n {ranks}"}
    assert check.launchers(None)["mpi"].endswith("mpirun -n {ranks}")


def test_its_json_is_whole(monkeypatch):
    """As if there were a device, and all parts ended at once."""
    parts = []
    monkeypatch.setattr(check, "device", lambda: {"devices": 1})
    monkeypatch.setattr(check, "probe", lambda: {"holds": True})
    monkeypatch.setattr(check, "all_tried", lambda given, until, keep: parts.extend(given) or keep(
        {"ceiling": QUICK}) or {part.title: QUICK for part in given})  # fmt: skip
    kept = []
    told = check.looked({"mpi": "mpirun -n {ranks}"}, kept.append)
    assert set(told) == {"format", "versions", "gpu", "holds", "verdict", "device", "probe", "goal",
                         "found"}  # fmt: skip
    assert (told["holds"], told["verdict"]) == (True, "right")
    (halfway,) = kept  # if this program is ended there
    assert set(halfway) == set(told)
    assert (halfway["holds"], halfway["found"]) == (None, {"ceiling": QUICK})
    assert {part.name for part in parts} == set(check.PARTS)
    assert parts[0].name == "ceiling"  # what others are told
    json.dumps(told)
