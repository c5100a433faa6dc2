"""What check.py would do where there is a GPU, as far as the stand-in can be asked; and that
it says so where there is none."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

from late_stream import LateRuntime
from refcoll_cupy.arrays import DeviceArrays

FILE = Path(__file__).parent / "check.py"


@pytest.fixture(scope="module")
def check():
    spec = importlib.util.spec_from_file_location("gpu_check", FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def on_stand_in(rank):
    return DeviceArrays(LateRuntime(), 0)


def test_without_a_gpu_it_says_so_and_ends_with_a_status_of_its_own(tmp_path):
    program = "import sys, runpy; sys.modules['cupy'] = None; "
    program += f"sys.argv = ['check', '--json', {str(tmp_path / 'found.json')!r}]; "
    program += f"runpy.run_path({str(FILE)!r}, run_name='__main__')"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                         timeout=60, check=False)  # fmt: skip
    assert run.returncode == 3, run.stderr
    assert run.stdout.startswith("no GPU: cupy cannot be imported")
    told = json.loads((tmp_path / "found.json").read_text())
    assert told["gpu"] is False
    assert "found" not in told


def test_its_parts_run(check):
    assert check.random_data(on_stand_in, counts=(1, 99))["right"]
    assert check.race(on_stand_in, rounds=3, slow=lambda: None)["right"]
    found = check.in_process(on_stand_in, sizes=[8, 4096], vector=4096, ranks=(2,))
    assert [each["nbytes"] for each in found["point_to_point"]] == [8, 4096]
    assert found["ring"][0]["moved"] == 5 * 4096


@pytest.mark.long
def test_its_longer_parts_run(check):
    assert check.conformance(on_stand_in, sizes=(2,))["sizes"] == [2]
    assert check.algorithms(on_stand_in)["right"]


def test_wrong_results_are_told(check, monkeypatch):
    monkeypatch.setattr(check, "_reduced", lambda comm, inputs, op: inputs[comm.rank] * (
        1 if comm.transport.arrays.name == "numpy" else 2))  # fmt: skip
    assert not check.random_data(on_stand_in, counts=(9,))["right"]


def test_what_a_child_finds_and_how_it_ends(check, monkeypatch):
    """A part that is not there ends its child, and that is what is told."""
    found = check.tried(60, [], "nothing_of_that_name")
    assert not found["right"]
    assert "KeyError" in found["told"][-1]


@pytest.mark.parametrize(
    ("found", "holds", "verdict"),
    [
        ({"race": {"right": True}, "by_mpi direct 2": {"right": False}}, True, "right"),
        ({"race": {"right": False}}, False, "wrong: race"),
        ({"torch_tensors": {"right": False, "told": ["ModuleNotFoundError: torch"]}}, True,
         "right; not there: torch_tensors"),
    ],
)  # fmt: skip
def test_its_verdict(found, holds, verdict, check):
    assert check.judged(found) == (holds, verdict)
