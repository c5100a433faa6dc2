"""refcoll gpu-probe, and what it says where there is no device."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace

import pytest

from refcoll import TransportError
from refcoll.cli import gpu_probe as command
from refcoll.cli.gpu_probe import Trial
from refcoll_cupy import probe
from refcoll_cupy.probe import Found

FOUND = Found("An MPI", [], "staged", "it does not say", 1, None)
WORKS, CRASHED = "works", "ended by SIGSEGV"
SAYS = 'print(\'trial: {"rank": %d, "device": 0, "identity": "a", "right": %s}\')'


def trials(direct, staged):
    ends = {"direct": direct, "staged": staged}
    return [Trial(mode, ended == WORKS, ended, []) for mode, ended in ends.items()]


@pytest.mark.parametrize(
    ("auto", "direct", "staged", "holds", "said"),
    [
        ("staged", CRASHED, WORKS, True, "holds: mode='auto' is staged, which works"),
        ("staged", WORKS, WORKS, True, "mode='direct' works too, with cuda_aware=True"),
        ("direct", WORKS, WORKS, True, "holds: mode='auto' is direct, which works"),
        ("direct", CRASHED, WORKS, False, "'auto' is direct, which ended by SIGSEGV"),
    ],
)
def test_it_holds_if_auto_goes_a_way_that_works(auto, direct, staged, holds, said):
    found = command._verdict(replace(FOUND, auto=auto), trials(direct, staged))
    assert found[0] == holds
    assert said in found[1]


@pytest.mark.parametrize(
    ("program", "ended", "ranks"),
    [
        ([SAYS % (1, "true"), SAYS % (0, "true")], "works", [0, 1]),
        ([SAYS % (0, "true"), SAYS % (1, "false")], "carried bytes that are wrong", [0, 1]),
        ([SAYS % (0, "true"), "import os; os.abort()"], "ended by SIGABRT", [0]),
        (["import sys; sys.exit('no luck')"], "ended with status 1: no luck", []),
        (["import time; time.sleep(60)"], "did not end within 1 s", []),
        (["pass"], "ended with status 0: nothing was said", []),
    ],
)
def test_how_a_trial_ended(program, ended, ranks, monkeypatch, tmp_path):
    """Of a launcher that runs one process, which says what all ranks say."""
    launcher = tmp_path / "mpirun"
    launcher.write_text('#!/bin/sh\nshift 2\nexec "$@"\n')
    launcher.chmod(0o755)
    monkeypatch.setenv("REFCOLL_MPIRUN", str(launcher))
    trial = ("-uSc", "; ".join(program))
    found = command._tried(replace(FOUND, trial=trial), "direct", 1)
    assert (found.ended, found.works) == (ended, ended == "works")
    assert [each["rank"] for each in found.ranks] == ranks


def test_it_tells_whose_rank_is_on_which_device():
    ranks = [{"rank": rank, "device": rank, "identity": f"GPU {rank}"} for rank in (0, 1)]
    rows = command._rows(FOUND, [Trial("direct", True, WORKS, ranks)])
    assert ("rank 1", "device 1 (GPU 1)") in rows


@pytest.mark.parametrize("missing", ["the driver", pytest.param("CuPy", marks=pytest.mark.long)])
def test_it_says_plainly_that_there_is_no_gpu(missing, refcoll_script, tmp_path):
    """With a status of its own, also where CuPy cannot be imported."""
    if missing == "CuPy":
        (tmp_path / "cupy.py").write_text("raise ImportError('not here')")
    path = f"{tmp_path}:{':'.join(sys.path)}"
    run = subprocess.run(
        ["env", f"PYTHONPATH={path}", refcoll_script, "gpu-probe", "--json", "-"],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    said = json.loads(run.stdout)
    if said["found"]["devices"]:
        pytest.skip("there is a device; tests/gpu/check.py looks at it")
    assert run.returncode == 3
    assert said["holds"] is None
    assert said["verdict"].startswith("no GPU: ")
    assert (missing == "CuPy") <= ("cupy cannot be imported: not here" in said["verdict"])
    assert said["trials"] == []
    assert said["found"]["auto"] in ("staged", "direct")


def test_where_looking_fails_that_is_told(monkeypatch):
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(TransportError, match="ended with status 1: nothing was said"):
        probe.probe()


def test_where_looking_takes_too_long_that_is_told(monkeypatch, tmp_path):
    slow = tmp_path / "python"
    slow.write_text("#!/bin/sh\nexec sleep 60\n")
    slow.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(slow))
    with pytest.raises(TransportError, match=r"did not end within 0\.2 s"):
        probe.probe(0.2)
