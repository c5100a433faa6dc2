"""refcoll verify: what it finds, on algorithms that are right and on broken ones."""

from __future__ import annotations

import json
import re

import pytest

from broken_ring import twice, without_last_step
from refcoll import algorithms
from refcoll.collectives import COLLECTIVES
from refcoll.schedule import Copy

ROW_KEYS = {
    "algorithm", "collective", "ranks", "count", "dtype", "op", "options", "transport", "exact",
    "agree", "steps", "steps_claimed", "sent_bytes", "sent_claimed", "received_bytes",
    "received_claimed",
    "lower_bound_bytes", "ok", "problems",
}  # fmt: skip


def test_verify_writes_what_it_found(refcoll, tmp_path):
    path = tmp_path / "rows.json"
    run = refcoll("verify", "--ranks", "1,2", "--json", str(path))
    assert run.status == 0
    content = json.loads(path.read_text())
    assert content.keys() == {"holds", "verdict", "rows"}
    assert content["holds"] is True
    assert run.out.splitlines()[0] == content["verdict"]
    assert re.match(r"holds: \d+ rows on 1, 2 ranks over in-process", content["verdict"])
    rows = content["rows"]
    assert str(sum(row["transport"] == "in-process" for row in rows)) in content["verdict"]
    assert {row["ranks"] for row in rows} == {1, 2}
    for row in rows:
        assert row.keys() == ROW_KEYS
        assert (row["ok"], row["exact"], row["agree"], row["problems"]) == (True, True, True, [])
        alone = row["algorithm"] in ("parameter_server_alone", "in_network")
        assert row["transport"] == ("simulated" if alone else "in-process")
        if row["algorithm"] != "circulant":  # whose claims are bounds
            assert row["steps"] == row["steps_claimed"]
            assert row["sent_bytes"] == row["sent_claimed"]
            assert row["received_bytes"] == row["received_claimed"]
        assert max(row["sent_bytes"], row["received_bytes"]) >= row["lower_bound_bytes"]
        assert (row["op"] is None) == (not COLLECTIVES[row["collective"]].reduces)
    run_rows = {(r["algorithm"], r["collective"], r["ranks"]) for r in rows}
    for each in algorithms():
        if not each.needs_helpers:
            sizes = [n for n in (1, 2) if each.sizes.holds(n)]
            assert {(each.name, each.collective, n) for n in sizes} <= run_rows


def test_verify_of_one_algorithm(refcoll):
    """2(N-1) = 4 steps and 2(N-1)/N S = 16000/3 bytes, up to one element, on 3 ranks."""
    run = refcoll("verify", "--ranks", "3", "-a", "ring", "-c", "all_reduce", "--json", "-")
    assert run.status == 0
    rows = json.loads(run.out)["rows"]
    assert {(row["algorithm"], row["collective"]) for row in rows} == {("ring", "all_reduce")}
    (row,) = [r for r in rows if (r["count"], r["dtype"], r["op"]) == (1000, "float32", "sum")]
    assert row["steps"] == 4
    assert abs(row["sent_bytes"] - 16_000 / 3) < 8
    assert row["lower_bound_bytes"] == pytest.approx(16_000 / 3)


def raises(rank, size):
    raise IndexError("no such chunk")


@pytest.mark.parametrize("schedule", [without_last_step, twice, raises])
def test_a_broken_algorithm_fails_and_the_first_line_names_it(
    schedule, refcoll, change_ring, tmp_path
):
    change_ring(schedule=schedule)
    path = tmp_path / "rows.json"
    run = refcoll("verify", "--ranks", "3", "--collective", "all_reduce", "--json", str(path))
    assert run.status == 1
    first = run.out.splitlines()[0]
    assert first.startswith("FAILS: ")
    assert "ring all_reduce on 3 ranks" in first
    content = json.loads(path.read_text())
    assert content["holds"] is False
    assert content["verdict"] == first
    assert {row["algorithm"] for row in content["rows"] if not row["ok"]} == {"ring"}
    assert len({row["algorithm"] for row in content["rows"]}) > 20


def test_a_deadlock_fails_within_the_timeout(refcoll, change_ring, monkeypatch):
    """Even if the checker were blind."""
    from refcoll.testing import verification

    def silent(rank, size):
        yield from [(Copy(0, 1 - rank),)]

    monkeypatch.setattr(verification, "_refutations", lambda program: iter(()))
    change_ring(schedule=silent)
    run = refcoll("verify", "--ranks", "2", "-a", "ring", "-c", "all_reduce", "--timeout", "0.3")
    assert run.status == 1
    first = run.out.splitlines()[0]
    assert first.startswith("FAILS: ring all_reduce on 2 ranks")
    assert "waited 0." in first


def test_verify_of_one_algorithm_thoroughly(refcoll):
    run = refcoll("verify", "--ranks", "4", "-a", "bcube", "--thorough", "--json", "-")
    rows = json.loads(run.out)["rows"]
    assert run.status == 0
    assert {tuple(map(tuple, row["options"])) for row in rows} == {
        (), (("radix", 2),), (("radix", 3),),
    }  # fmt: skip
    assert {row["count"] for row in rows} >= {0, 1, 3, 4, 5, 1000, 65_537}


def test_verify_of_a_composition(refcoll):
    run = refcoll("verify", "--ranks", "3", "-a", "pairwise+bruck")
    assert run.status == 0
    assert "pairwise+bruck" in run.out
