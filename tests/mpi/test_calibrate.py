"""`mpirun -n N refcoll calibrate`, and what "auto" makes of it."""

from __future__ import annotations

import json


def test_what_is_measured_is_used(mpirun, refcoll_script, tmp_path):
    path, rows = tmp_path / "tuning.json", tmp_path / "rows.json"
    for ranks in (2, 3):
        run = mpirun(ranks, refcoll_script, "calibrate", "--out", str(path), "-c", "broadcast",
                     "--sizes", "1kB,40kB", "--iterations", "3", "--json", str(rows))  # fmt: skip
        assert run.returncode == 0, run.stderr
        assert "the model's choice" in run.stdout
        choices = json.loads(rows.read_text())["choices"]
        assert {each["collective"] for each in choices} == {"broadcast"}
    content = json.loads(path.read_text())["measured"]
    assert [each["ranks_on_nodes"] for each in content] == [[2], [3]]
    for each in content[0]["best"]:  # as if one had been best by far
        each["algorithm"] = "chain"
    path.write_text(json.dumps({"version": 1, "measured": content}))
    run = mpirun(2, refcoll_script, "bench", "broadcast", "--sizes", "1kB", "--iterations", "3",
                 "--tuning", str(path))  # fmt: skip
    assert run.returncode == 0, run.stderr
