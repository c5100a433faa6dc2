"""`mpirun -n N refcoll train`: the real run, in processes."""

from __future__ import annotations

import json

import pytest


@pytest.mark.parametrize(
    "options",
    [
        ["--bucket-mb", "0.01"],
        pytest.param(["--zero", "2"], marks=pytest.mark.long),
        pytest.param(["--compress", "onebit"], marks=pytest.mark.long),
    ],
    ids=" ".join,
)
def test_four_processes_train_as_one(options, mpirun, refcoll_script, tmp_path):
    path = tmp_path / "train.json"
    trace = tmp_path / "trace.json"
    run = mpirun(
        4, refcoll_script, "train", "--epochs", "2", "--json", str(path), "--trace", str(trace),
        *options,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout[-2000:] + run.stderr[-2000:]
    assert "holds: 4 replicas alike to the bit" in run.stdout
    (trial,) = json.loads(path.read_text())["trials"]
    assert trial["differing"] == {}
    assert trial["losses"][1] < trial["losses"][0]
    assert trial["nbytes"] == 4 * (64 * 64 + 64 + 64 * 10 + 10)
    if "onebit" not in options:
        # The roll call (to two ranks), and at most an element a chunk.
        counts = 40 if "--zero" in options else 24
        assert 0 <= trial["sent"] - trial["least"] <= 2 * counts + 4 * 2 * 4
    events = json.loads(trace.read_text())["traceEvents"]
    assert {each["pid"] for each in events} == {0, 1, 2, 3}


def test_a_wrong_option_is_told_once_and_ends_the_job(mpirun, refcoll_script):
    run = mpirun(2, refcoll_script, "train", "--straggler", "5:1ms", limit=60)
    assert run.returncode != 0
    assert run.stderr.count("straggler: there is no rank 5 of 2") == 1
