"""`mpirun -n N refcoll bench`, beside the MPI library's own collectives."""

from __future__ import annotations

import json

import pytest


@pytest.mark.parametrize("collective", ["all_reduce", "reduce_scatter", "all_gather", "broadcast"])
def test_every_collective_beside_the_librarys(collective, mpirun, refcoll_script, tmp_path):
    path = tmp_path / "rows.json"
    run = mpirun(
        3, refcoll_script, "bench", collective, "--sizes", "1200", "--iterations", "3",
        "--json", str(path),
    )  # fmt: skip
    assert run.returncode == 0, run.stdout[:2000] + run.stderr[-2000:]
    content = json.loads(path.read_text())
    assert content["ranks"] == 3
    rows = content["rows"]
    names = {row["contender"] for row in rows}
    assert {"MPI", "auto"} < names
    for row in rows:
        assert row["wrong"] == 0
        assert row["time_us"] > 0
        if row["contender"] == "MPI":
            assert row["ratio"] == 1
    for name in names:
        assert f"# {name}" in run.stdout
