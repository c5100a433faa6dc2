"""refcoll gpu-probe, and what it says where there is no device."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace

import pytest

from refcoll.cli import gpu_probe as command
from refcoll.cli.gpu_probe import Trial
from refcoll_cupy import probe, trial
from refcoll_cupy.probe import Found

FOUND = Found("An MPI", [], "staged", "it does not say", 1, None)
WORKS, CRASHED = "works", "ended by SIGSEGV"


def trials(direct, staged):
    return [Trial("direct", direct == WORKS, direct), Trial("staged", staged == WORKS, staged)]


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
    ("program", "ended"),
    [
        (f"print('{trial.RIGHT}')", "works"),
        ("import os; os.abort()", "ended by SIGABRT"),
        ("import sys; sys.exit('no luck')", "ended with status 1: no luck"),
        ("import time; time.sleep(60)", "did not end within 1 s"),
        ("pass", "ended with status 0: nothing was said"),
    ],
)
def test_how_a_trial_ended(program, ended, monkeypatch, tmp_path):
    """Of a launcher that runs one process, for both, and ends as that does."""
    launcher = tmp_path / "mpirun"
    text = f"#!/bin/sh\nshift 2\n\"$@\" || exit $?\necho '{trial.RIGHT}'\n"
    launcher.write_text(text if "print" in program else text.replace(f"echo '{trial.RIGHT}'\n", ""))
    launcher.chmod(0o755)
    monkeypatch.setenv("REFCOLL_MPIRUN", str(launcher))
    found = command._tried(("-c", program), "direct", 1)
    assert (found.ended, found.works) == (ended, ended == "works")


def test_the_words_of_a_trial_are_the_programs():
    assert command._RIGHT == trial.RIGHT


def test_it_says_plainly_that_there_is_no_gpu(refcoll_script):
    run = subprocess.run(
        [refcoll_script, "gpu-probe", "--json", "-"],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    said = json.loads(run.stdout)
    if said["found"]["devices"]:
        pytest.skip("there is a device; tests/gpu/check.py looks at it")
    assert run.returncode == 1
    assert said["verdict"].startswith("does not hold: no GPU: ")
    assert said["trials"] == []
    assert said["found"]["auto"] in ("staged", "direct")


def test_where_looking_fails_that_is_told(monkeypatch):
    from refcoll import TransportError

    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(TransportError, match="ended with status 1: nothing was said"):
        probe.probe()
