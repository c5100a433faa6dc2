"""refcoll list, show and choose: which algorithms there are, what each does, which is quickest."""

from __future__ import annotations

import json

import pytest

from refcoll import algorithms
from refcoll.collectives import COLLECTIVES


@pytest.mark.parametrize("collective", [None, *COLLECTIVES])
def test_list_as_json(refcoll, collective):
    chosen = [collective] if collective else []
    found = json.loads(refcoll("list", *chosen, "-n", "8", "--json", "-").out)
    assert found.keys() == {"ranks", "algorithms"}
    assert found["ranks"] == 8
    assert [(row["collective"], row["algorithm"]) for row in found["algorithms"]] == [
        (each.collective, each.name) for each in algorithms(collective)
    ]
    for row in found["algorithms"]:
        assert row.keys() == {
            "collective", "algorithm", "steps", "depth", "rounds", "sent", "received", "least",
            "optimal", "bandwidth_optimal", "latency_optimal", "in_rank_order", "proved", "sizes",
            "options", "bounds", "also_known_as", "source", "time", "time_one_port",
            "time_where", "time_exact", "time_source",
        }  # fmt: skip
        if (row["collective"], row["algorithm"]) == ("all_reduce", "ring"):
            assert (row["steps"], row["sent"], row["received"]) == (14, 1.75, 1.75)
            assert row["least"] == 1.75
            time = "2(N-1) alpha + 2(N-1)/N S beta + (N-1)/N S gamma"
            assert row["time"] == row["time_one_port"] == time
            assert (row["time_where"], row["time_exact"]) == ({"N": "ranks"}, "always")


@pytest.mark.parametrize("columns", ["80", "200", "400"])
def test_list_shows_everything_whole(refcoll, monkeypatch, columns):
    """No cell is cut, however narrow the terminal."""
    monkeypatch.setenv("COLUMNS", columns)
    run = refcoll("list")
    assert run.status == 0
    assert "…" not in run.out
    for each in algorithms():
        assert each.name in run.out
        assert each.source in run.out


@pytest.mark.parametrize("chosen", [[], ["all_reduce"]])
def test_list_fits_into_a_terminal(refcoll, chosen):
    """All but the longest formulas, in 140 columns, or 175 where collectives are named."""
    lines = refcoll("list", *chosen).out.splitlines()
    costs, times, names = (
        place for place, line in enumerate(lines) if line.split()[1:2] == ["algorithm"]
        or line.startswith("algorithm ")
    )  # fmt: skip
    assert costs < times < names
    assert max(len(line.rstrip()) for line in lines[:times] + lines[names:]) <= (
        140 if chosen else 175
    )


def test_list_says_what_is_proved_for_every_n(refcoll, monkeypatch):
    monkeypatch.setenv("COLUMNS", "400")
    lines = refcoll("list", "all_reduce").out.splitlines()
    ring, _, _ = (line for line in lines if line.startswith("ring "))
    bine, _, _ = (line for line in lines if line.startswith("bine "))
    assert "proved" in ring
    assert "to N = 64" in bine


def test_list_takes_nodes(refcoll):
    """Rails on 2 nodes of 4, S/4 over each: S 2 (3/4 within, and (1/2) / 4 between) = 1.75 S."""
    found = json.loads(refcoll("list", "all_reduce", "--nodes", "2x4", "--json", "-").out)
    (rails,) = [r for r in found["algorithms"] if r["algorithm"] == "hierarchical_rails"]
    assert rails["sent"] == 2 * (3 / 4 + 1 / 2 / 4)


def test_show_draws_each_step(refcoll):
    run = refcoll("show", "ring", "-n", "3")
    assert run.status == 0
    for step in range(1, 5):
        assert f"step {step}" in run.out
    assert "step 5" not in run.out


def test_show_as_json_is_the_schedule(refcoll):
    """The picture above the ring: in step 1 rank r sends chunk r - 1 to r + 1."""
    found = json.loads(refcoll("show", "ring", "-n", "4", "--json", "-").out)
    assert (found["ranks"], found["chunks"]) == (4, 4)
    first = [row for row in found["steps"] if row["step"] == 1]
    for rank in range(4):
        send = {"action": "send", "chunks": [(rank - 1) % 4], "peer": (rank + 1) % 4}
        take = {"action": "reduce", "chunks": [(rank - 2) % 4], "peer": (rank - 1) % 4}
        assert {"rank": rank, "step": 1, **send} in first
        assert {"rank": rank, "step": 1, **take} in first
    assert len(found["steps"]) == 4 * 6 * 2


def test_choose_ranks_by_prediction(refcoll):
    run = refcoll("choose", "all_reduce", "-n", "8", "-s", "8B")
    assert run.status == 0
    assert run.out.startswith("recursive_doubling for all_reduce of 8 B on 8 ranks")
    found = json.loads(refcoll("choose", "all_reduce", "-n", "8", "-s", "1GB", "--json", "-").out)
    seconds = [choice["seconds"] for choice in found["choices"]]
    assert seconds == sorted(seconds)
    assert {"parameter_server_alone", "in_network"}.isdisjoint(
        choice["algorithm"] for choice in found["choices"]
    )
