"""`refcoll calibrate --from-log`: what it writes, says and refuses.  (Measured runs need ranks:
tests/mpi.)"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from refcoll.planning.files import read_machine
from refcoll.planning.machine import NODE

ALPHA, BETA = 5e-6, 1 / 100e9


PAGE = Path(__file__).parents[2] / "docs" / "json.md"


def log(tmp_path, name="osu.log", ranks=8):
    """Of a ring: 2(N-1) (alpha + S beta / N)."""
    steps = 2 * (ranks - 1)
    rows = [
        f"{n} {steps * (ALPHA + n * BETA / ranks) * 1e6:.6f}" for n in (4**k for k in range(5, 14))
    ]
    text = "\n".join(["# OSU MPI Allreduce Latency Test v7.4", "# Size   Avg Latency(us)", *rows])
    path = tmp_path / name
    path.write_text(text)
    return str(path)


def test_a_machine_is_fitted_written_and_planned_with(run_refcoll, tmp_path):
    machine, result = tmp_path / "mine.toml", tmp_path / "result.json"
    status, out, _ = run_refcoll(
        "calibrate", "--from-log", log(tmp_path), "--ranks", "8", "-a", "ring",
        "--save-machine", str(machine), "--json", str(result),
    )  # fmt: skip
    assert status == 0
    assert out.startswith("mine: 1 node of 8 ranks: within a node 5 us, 100 GB/s; overhead 0 us\n")
    assert "every other size held out: median 0.0%" in out
    assert "left out: overhead, merge" in out
    link = read_machine(machine).links[NODE]
    assert (link.latency, link.bandwidth) == pytest.approx((ALPHA, 100e9), rel=1e-5)
    status, out, _ = run_refcoll(
        "plan", "--machine", str(machine), "-a", "ring", "--size", "1000000", "--json", "-"
    )
    seconds = json.loads(out)["predictions"][0]["seconds"]
    assert seconds == pytest.approx(14 * (ALPHA + 10**6 * BETA / 8), rel=1e-5)
    content = json.loads(result.read_text())
    assert content["figures"]["latency within a node"] == pytest.approx(ALPHA, rel=1e-5)
    assert content["fit_error"]["median"] < 1e-5
    page = PAGE.read_text()
    for key in (*content, *content["rows"][0], *content["fit_error"]):
        assert f"`{key}`" in page, key
    assert {*content["rows"][0]} == {
        "where", "collective", "contender", "algorithm", "ranks", "nodes", "nbytes", "seconds",
        "error",
    }  # fmt: skip


def test_logs_of_several_sizes_tell_more(run_refcoll, tmp_path):
    """Rows of several files are fitted together; here the ranks are said once for all."""
    one, two = log(tmp_path, "a.log"), log(tmp_path, "b.log")
    status, out, _ = run_refcoll(
        "calibrate", "--from-log", one, "--from-log", two, "-n", "8", "-a", "ring",
        "--save-machine", str(tmp_path / "m.toml"),
    )  # fmt: skip
    assert status == 0
    assert "fit of 18 times" in out


@pytest.mark.parametrize(("arguments", "said"), [
    ((), "say --ranks"),
    (("--ranks", "8"), "algorithm is not said: which one did MPI use? Say it by --algorithm ring"),
    (("--ranks", "8", "-a", "pony"), "'pony'"),
    (("--ranks", "8", "-a", "ring", "-c", "broadcast"), "nothing is left for collective"),
    (("--ranks", "8", "--nodes", "3", "-a", "ring"), "ranks=8 do not fill nodes=3"),
    (("--ranks", "8", "-c", "x", "-c", "y"), "of a log, say one at most"),
    (("--ranks", "8", "--save-machine", "no/m.toml"), "save-machine='no/m.toml' cannot be written"),
])  # fmt: skip
def test_what_is_missing_is_named(run_refcoll, tmp_path, monkeypatch, arguments, said):
    path = log(tmp_path)
    monkeypatch.chdir(tmp_path)
    status, out, err = run_refcoll("calibrate", "--from-log", path, *arguments)
    assert (status, out) == (2, "")
    assert said in err


def test_without_ranks_or_a_log_there_is_nothing_to_do(run_refcoll, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    status, _, err = run_refcoll("calibrate")
    assert status == 2
    assert "mpirun -n 4 refcoll calibrate" in err
    assert "--from-log" in err
    assert not list(tmp_path.iterdir())
