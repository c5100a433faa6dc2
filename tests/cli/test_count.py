"""refcoll count: steps, bytes, links and times, by closed forms."""

from __future__ import annotations

import json
import re

import pytest


def test_count_of_the_ring(refcoll):
    """2 * 7/8 * 14 GB = 24.5 GB in 2 * 7 steps, which is the least there is."""
    run = refcoll("count", "ring", "-n", "8", "--size", "14GB")
    assert run.status == 0
    assert "14 steps" in run.out
    assert "24.5 GB per rank sent" in run.out
    assert "24.5 GB is the least" in run.out
    assert "no schedule in this model does better" in run.out


@pytest.mark.parametrize(
    ("bandwidth", "latency", "said"),
    [
        ("450GB/s", "3us", ["54.49 ms", "54.44 ms without latency", "14 alpha"]),
        ("50GB/s", "0us", ["490 ms"]),
        ("400Gb/s", "0us", ["490 ms"]),
        ("50GB/s", "100us", ["491.4 ms", "490 ms without latency"]),
    ],
)
def test_count_with_a_bandwidth_gives_times(refcoll, bandwidth, latency, said):
    """24.5 GB / (450 GB/s) = 54.44 ms, and 14 * 3 us more is 54.49 ms; / (50 GB/s) = 0.49 s."""
    run = refcoll("count", "ring", "-n", "8", "-s", "14GB",
                  "--bandwidth", bandwidth, "--latency", latency)  # fmt: skip
    assert run.status == 0
    assert all(each in run.out for each in said), run.out


def test_count_as_json(refcoll):
    run = refcoll("count", "ring", "-n", "8", "-s", "14GB", "--bandwidth", "450GB/s",
                  "--latency", "3us", "--json", "-")  # fmt: skip
    found = json.loads(run.out)
    assert found["steps"] == found["depth"] == found["rounds"] == 14
    assert found["sent_bytes"] == found["received_bytes"] == 24_500_000_000
    assert found["lower_bound_bytes"] == 24.5e9
    assert found["bandwidth_optimal"] is True
    assert found["seconds"]["several_ports"] == pytest.approx(24.5 / 450 + 14 * 3e-6)
    assert found["seconds"]["without_latency"] == pytest.approx(24.5 / 450)
    assert len(found["ranks"]) == 8
    assert all(rank["steps"] == 14 for rank in found["ranks"])
    assert found["links"] == [
        {"source": r, "to": (r + 1) % 8, "bytes": 24_500_000_000} for r in range(8)
    ]


RING_TIME = "2(N-1) alpha + 2(N-1)/N S beta + (N-1)/N S gamma"


def test_count_says_the_time_in_closed_form(refcoll):
    run = refcoll("count", "ring", "-n", "8", "-s", "14GB")
    assert f"  T = {RING_TIME}  (Thakur, Rabenseifner and Gropp 2005)\n" in run.out
    assert "    = 14 alpha + 7/4 S beta + 7/8 S gamma\n" in run.out
    assert "    where N: ranks\n" in run.out
    assert "on one port" not in run.out.partition("  T = ")[2]


def test_count_says_the_time_on_one_port_where_it_differs_and_where_it_is_a_bound(refcoll):
    """Linear on 5 ranks: 4 messages at once, or one after another; and a scan's two forms."""
    run = refcoll("count", "linear", "-c", "broadcast", "-n", "5")
    assert "  T = alpha + (N-1) S beta" in run.out
    assert "    = alpha + 4 S beta\n" in run.out
    assert "  on one port T = (N-1)(alpha + S beta)\n" in run.out
    assert "    = 4 alpha + 4 S beta\n" in run.out
    run = refcoll("count", "recursive_doubling", "-c", "scan", "-n", "17")
    assert "= max(5 alpha + 5 S beta + 6 S gamma, 4 alpha + 4 S beta + 8 S gamma)" in run.out
    assert "  T <= (M+2L-1) alpha" in refcoll("count", "double_binary_tree", "-n", "8").out
    assert "  T = 0: nobody sends anything\n" in refcoll("count", "ring", "-n", "1").out


def test_count_has_the_time_in_json(refcoll):
    found = json.loads(refcoll("count", "two_shot", "-n", "4", "--json", "-").out)["time"]
    assert found == {
        "formula": "2 alpha + 2(N-1)/N S beta + (N-1)/N S gamma",
        "forms": ["2 alpha + 3/2 S beta + 3/4 S gamma"],
        "one_port_formula": "2(N-1)(alpha + S/N beta) + (N-1)/N S gamma",
        "one_port_forms": ["6 alpha + 3/2 S beta + 3/4 S gamma"],
        "where": {"N": "ranks"},
        "exact": True,
        "source": "derived here",
    }


def test_count_says_where_ranks_differ_and_what_is_not_least(refcoll):
    """A parameter server on 4 ranks: rank 0 sends and receives 3 S, twice the least 1.5 S."""
    run = refcoll("count", "parameter_server", "-n", "4", "-s", "1GB")
    assert "3 GB per rank sent, 3 GB received" in run.out
    assert "this one takes 2 times that" in run.out
    assert re.search(r"^ *0 +2 +3 GB +3 GB +3 +3", run.out, re.M)
    assert re.search(r"^ *3 +2 +1 GB +1 GB +1 +1", run.out, re.M)


def test_count_tells_the_classes_of_links(refcoll):
    """A ring on 2 switches of 2 nodes of 2: of 8 links, 4 within nodes, 2 and 2 beyond.

    Each carries 2 (7/8) S.
    """
    found = json.loads(refcoll("count", "ring", "--nodes", "2x2x2", "-s", "80B", "--json", "-").out)
    assert found["link_classes"] == {
        "within a node": {"most_by_a_rank_bytes": 140, "bytes": 4 * 140},
        "between nodes": {"most_by_a_rank_bytes": 140, "bytes": 2 * 140},
        "between switches": {"most_by_a_rank_bytes": 140, "bytes": 2 * 140},
    }
    shown = refcoll("count", "ring", "--nodes", "2x2x2", "-s", "80B").out
    assert "between switches: 140 B sent by a rank at most, 280 B in all" in shown


def test_count_of_a_composition(refcoll):
    found = json.loads(refcoll("count", "pat+ring", "-n", "6", "-s", "60B", "--json", "-").out)
    assert (found["steps"], found["sent_bytes"]) == (3 + 5, 2 * 50)


def test_an_all_to_all_is_counted_for_the_next_length_that_can_be_cut(refcoll):
    found = json.loads(
        refcoll("count", "pairwise", "-c", "all_to_all", "-n", "7", "-s", "50B", "--json", "-").out
    )
    assert found["size_bytes"] == 56
    assert found["sent_bytes"] == 48
