"""`mpirun -n N refcoll bench`, beside the MPI library's own collectives."""

from __future__ import annotations

import json
from pathlib import Path

import pytest


@pytest.mark.parametrize(
    "collective",
    [
        "all_reduce",
        *(
            pytest.param(name, marks=pytest.mark.long)
            for name in ("broadcast", "reduce_scatter", "all_gather")
        ),
    ],
)
def test_every_collective_beside_the_librarys(collective, mpirun, refcoll_script, tmp_path):
    named = "chain" if collective == "broadcast" else "ring"
    path: Path = tmp_path / "rows.json"
    plot: Path = tmp_path / "picture.png"
    run = mpirun(
        3, refcoll_script, "bench", collective, "--sizes", "1200", "--iterations", "3",
        "--json", str(path), "-a", named, "--plot", str(plot),
    )  # fmt: skip
    assert run.returncode == 0, run.stdout[:2000] + run.stderr[-2000:]
    content = json.loads(path.read_text())
    assert content["ranks"] == 3
    rows = content["rows"]
    names = {row["contender"] for row in rows}
    assert names == {
        "MPI", "persistent", "auto", "auto, one-off", "auto, comm.empty", named, "copy", "add",
    }  # fmt: skip
    for row in rows:
        assert row["wrong"] == (None if row["contender"] in ("copy", "add") else 0)
        assert row["time_us"] > 0
        if row["contender"] == "MPI":
            assert row["ratios"]["MPI"] == 1
    for name in names:
        assert f"# {name}" in run.stdout
    assert content["machine"]["cores"] > 0
    assert plot.stat().st_size > 10_000


def test_goals_decide_the_exit_status(mpirun, refcoll_script, tmp_path):
    """Ratio and goal side by side; with --goals a missed one is an exit status of 1."""
    path = tmp_path / "rows.json"
    run = mpirun(
        2, refcoll_script, "bench", "--sizes", "256", "--iterations", "5", "--goals",
        "--json", str(path),
    )  # fmt: skip
    stand = json.loads(path.read_text())["goals"]
    assert {each["size"] for each in stand} == {256}
    assert run.returncode == (0 if all(each["met"] for each in stand) else 1), run.stderr
    for each in stand:
        assert each["met"] == (each["ratio"] <= each["goal"]["most"])
        assert f"{each['ratio']:.2f}  {each['goal']['most']:.2f}  MPI" in run.stdout


def test_a_peer_that_is_not_there_is_said(mpirun, refcoll_script):
    run = mpirun(2, refcoll_script, "bench", "--sizes", "256", "--peer", "nonesuch")
    assert run.returncode == 2
    assert run.stderr.count("peer='nonesuch': there is gloo") == 1


def test_what_there_is_no_room_for_is_refused_by_all_and_said_once(mpirun, refcoll_script):
    run = mpirun(2, refcoll_script, "bench", "--sizes", "1kB,1000TB")
    assert run.returncode == 2
    assert run.stderr.count("sizes=1000 TB: each rank needs at least 8 vectors, those on") == 1
    assert (run.stdout, run.stderr.count("\n")) == ("", 1)


def test_without_shared_memory(mpirun, refcoll_script):
    run = mpirun(2, refcoll_script, "bench", "--sizes", "256", "--iterations", "3",
                 "--no-shared-memory")  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert "shared memory off" in run.stdout
