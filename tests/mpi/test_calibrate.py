"""`mpirun -n N refcoll calibrate`: what it writes, and what "auto" and the planner make of it."""

from __future__ import annotations

import json
from itertools import chain
from pathlib import Path

import pytest

from refcoll.planning.files import read_machine
from refcoll.planning.predicting import predict


def test_what_is_measured_is_used(mpirun, refcoll_script, tmp_path):
    path, rows = tmp_path / "tuning.json", tmp_path / "rows.json"
    machine = tmp_path / "machine.toml"
    for ranks in (2, 1):
        run = mpirun(ranks, refcoll_script, "calibrate", "--out", str(path), "-c", "broadcast",
                     "--sizes", "1kB,40kB", "--iterations", "3", "--json", str(rows),
                     "--save-machine", str(machine), "--time", "1s")  # fmt: skip
        assert run.returncode == 0, run.stderr
        told = json.loads(rows.read_text())
        assert {*told} == KEYS
        assert told["ranks_on_nodes"] == [ranks]
        if ranks == 1:
            assert run.stdout.startswith("no machine is written: ranks=1: there is no link")
            continue
        assert run.stdout.startswith(f"machine: 1 node of 2 ranks, written to {machine}")
        well_formed(told)
        known = read_machine(machine)
        assert known.ranks == 2
        assert predict(known, "all_reduce", 10**6, "ring").seconds > 0
    content = json.loads(path.read_text())["measured"]
    assert [each["ranks_on_nodes"] for each in content] == [[2], [1]]
    best = {"nbytes": 1000, "algorithm": "chain", "seconds": 1e-6}  # as if by far
    content[0]["best"] = [best]
    path.write_text(json.dumps({"version": 1, "measured": content}))
    run = mpirun(2, refcoll_script, "bench", "broadcast", "--sizes", "1kB", "--iterations", "3",
                 "--tuning", str(path))  # fmt: skip
    assert run.returncode == 0, run.stderr


PAGE = Path(__file__).parents[2] / "docs" / "json.md"
KEYS = {
    "ranks_on_nodes", "file", "machine_file", "refused", "machine", "choices", "predictions",
    "formula_error", "planner_error", "untimed",
}  # fmt: skip


def well_formed(told):
    """Whatever there was time for; no time is looked at."""
    machine, page = told["machine"], PAGE.read_text()
    assert {*machine["links"]} == {"within a node"}
    inner = [machine["links"]["within a node"], machine["merging"][0], machine["fit"]["rows"][0]]
    for key in (*told, *machine, *machine["fit"], *chain(*inner, *told["predictions"][:1])):
        assert f"`{key}`" in page, key
    timed = {each["nbytes"] for each in told["predictions"]}
    assert timed <= {1000, 40_000}
    assert len(timed) + len(told["untimed"]) == 2
    for each in told["predictions"]:
        assert min(each["measured"], each["formula"], each["planner"]) > 0
        assert each["error"] == pytest.approx(each["formula"] / each["measured"] - 1)
