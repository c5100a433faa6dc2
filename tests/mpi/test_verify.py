"""`mpirun -n N refcoll verify`: the correctness run itself, on real processes."""

from __future__ import annotations

import json
from functools import cache

import pytest

from refcoll import algorithms

KEYS = {
    "algorithm", "collective", "ranks", "count", "dtype", "op", "transport", "exact", "agree",
    "steps", "steps_claimed", "sent_bytes", "sent_claimed", "received_bytes",
    "lower_bound_bytes", "ok",
}  # fmt: skip


@pytest.fixture(scope="module")
def verified(mpirun, refcoll_script, tmp_path_factory):
    """What `refcoll verify` finds on so many ranks, of one job for all who ask."""

    @cache
    def run(ranks):
        path = tmp_path_factory.mktemp("verified") / "rows.json"
        run = mpirun(ranks, refcoll_script, "verify", "--json", str(path))
        assert run.returncode == 0, run.stdout[:2000] + run.stderr[-2000:]
        assert run.stdout.startswith("holds: ")
        return json.loads(path.read_text())["rows"]

    return run


@pytest.mark.parametrize(
    "ranks", [1, 4, *(pytest.param(n, marks=pytest.mark.long) for n in (2, 3, 6, 8))]
)
def test_everything_holds(ranks, verified):
    rows = verified(ranks)
    for row in rows:
        assert row.keys() >= KEYS
        alone = row["algorithm"] in ("parameter_server_alone", "in_network")
        assert (row["ranks"], row["transport"]) == (ranks, "simulated" if alone else "mpi")
        assert (row["ok"], row["exact"], row["agree"]) == (True, True, True), row
        if row["algorithm"] != "circulant":  # whose claims are bounds
            assert row["steps"] == row["steps_claimed"], row
            assert row["sent_bytes"] == row["sent_claimed"], row
        most = max(row["sent_bytes"], row["received_bytes"])
        assert most >= row["lower_bound_bytes"], row
    covered = {
        (r["algorithm"], r["collective"], r["count"]) for r in rows if r["dtype"] == "float32"
    }
    for each in algorithms():
        if each.sizes.holds(ranks) and each.collective != "barrier":
            whole = ranks if each.collective == "all_to_all" else 1
            for n in (-(-n // whole) * whole for n in (0, ranks + 1, 1000, 65_537)):
                assert (each.name, each.collective, n) in covered


def test_the_ring_sends_what_the_formula_says(verified):
    """2(N-1)/N S for N = 4 and S = 4000 bytes, as in Patarasuk and Yuan."""
    wanted = ("ring", "all_reduce", 1000, "float32", "sum")
    keys = ("algorithm", "collective", "count", "dtype", "op")
    (row,) = [row for row in verified(4) if tuple(row[key] for key in keys) == wanted]
    assert (row["sent_bytes"], row["received_bytes"], row["steps"]) == (6000, 6000, 6)


@pytest.mark.parametrize("collective", ["all_reduce", "scan"])
def test_usage_errors_exit_with_2(collective, mpirun, refcoll_script):
    run = mpirun(2, refcoll_script, "verify", "-c", collective, "-a", "nonsense")
    assert run.returncode == 2
    assert run.stderr.count("algorithm='nonsense' does not exist") == 1
