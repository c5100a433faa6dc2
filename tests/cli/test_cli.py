"""The command line: exit status 0, 1 or 2, the first line, and JSON with documented keys."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from refcoll import algorithms, choosing, making, registry
from refcoll.collectives import COLLECTIVES
from refcoll.schedule import Copy, Reduce, Send

SCRIPT = Path(sys.executable).with_name("refcoll")


@dataclass
class Ended:
    status: int
    out: str
    err: str


@pytest.fixture
def refcoll(run_refcoll) -> Callable[..., Ended]:
    """The program `refcoll`, run within this process."""
    return lambda *arguments: Ended(*run_refcoll(*arguments))


@pytest.mark.parametrize("command", [[SCRIPT], [sys.executable, "-m", "refcoll"]])
def test_the_installed_program_runs(command):
    run = subprocess.run(
        [*command, "--help"], capture_output=True, text=True, timeout=60, check=False
    )
    assert run.returncode == 0
    for command in ("verify", "list", "count", "show"):
        assert command in run.stdout


def test_version(refcoll):
    assert re.fullmatch(r"refcoll \d+\.\d+\.\d+\n", refcoll("--version").out)


# ---- verify ------------------------------------------------------------------------------

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


def without_last_step(rank, size):
    steps = list(registry.ring.ring_all_reduce(rank, size))
    return iter(steps[:-1])


def twice(rank, size):
    for _ in range(2):
        yield Send(range(size), (rank + 1) % size), Reduce(range(size), (rank - 1) % size)


def raises(rank, size):
    raise IndexError("no such chunk")


@pytest.fixture
def broken(monkeypatch):
    """Put another schedule in the ring all-reduce's place."""

    def put(schedule):
        key = ("all_reduce", "ring")
        wrong = replace(registry.ALGORITHMS[key], schedule=schedule)
        monkeypatch.setitem(registry.ALGORITHMS, key, wrong)
        making.made.cache_clear()
        choosing._ranked.cache_clear()

    yield put
    making.made.cache_clear()
    choosing._ranked.cache_clear()


@pytest.mark.parametrize("schedule", [without_last_step, twice, raises])
def test_a_broken_algorithm_fails_and_the_first_line_names_it(schedule, refcoll, broken, tmp_path):
    broken(schedule)
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


def test_a_deadlock_fails_within_the_timeout(refcoll, broken, monkeypatch):
    """Even if the checker were blind."""
    from refcoll.testing import verification

    def silent(rank, size):
        yield from [(Copy(0, 1 - rank),)]

    monkeypatch.setattr(verification, "_refutations", lambda program: iter(()))
    broken(silent)
    run = refcoll("verify", "--ranks", "2", "-a", "ring", "-c", "all_reduce", "--timeout", "0.3")
    assert run.status == 1
    first = run.out.splitlines()[0]
    assert first.startswith("FAILS: ring all_reduce on 2 ranks")
    assert "waited 0." in first


# ---- count -------------------------------------------------------------------------------


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


@pytest.mark.parametrize(
    "size", [5, *(pytest.param(size, marks=pytest.mark.long) for size in (1, 2, 8))]
)
def test_count_show_and_list_run_for_everything(refcoll, size):
    for each in algorithms():
        chosen = (each.name, "-c", each.collective, "-n", str(size))
        for command in ("count", "show"):
            run = refcoll(command, *chosen)
            if not each.sizes.holds(size):
                assert run.status == 2
                assert f"is defined for {each.sizes.said} only" in run.err
                continue
            assert run.status == 0, (chosen, run.err)
            assert f"{each.collective} by {each.name} on {size} rank" in run.out
            if each.collective == "all_reduce":
                found = json.loads(refcoll(command, *chosen, "--json", "-").out)
                assert (found["algorithm"], found["collective"]) == (each.name, each.collective)


# ---- list and show -----------------------------------------------------------------------


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
            assert (row["steps"], row["sent"], row["received"], row["least"]) == (
                14,
                1.75,
                1.75,
                1.75,
            )
            assert row["time"] == row["time_one_port"] == RING_TIME
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


def test_list_says_what_is_proved_for_every_n(refcoll, monkeypatch):
    monkeypatch.setenv("COLUMNS", "400")
    lines = refcoll("list", "all_reduce").out.splitlines()
    (ring,) = (line for line in lines if " ring " in line)
    (bine,) = (line for line in lines if " bine " in line)
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


def test_a_name_that_several_collectives_have_means_all_reduce(refcoll):
    assert json.loads(refcoll("count", "ring", "--json", "-").out)["collective"] == "all_reduce"
    found = json.loads(refcoll("count", "ring", "-c", "all_gather", "--json", "-").out)
    assert found["collective"] == "all_gather"


@pytest.mark.parametrize("command", ["verify", "count", "list", "show"])
def test_json_alone_on_standard_output(refcoll, command, tmp_path):
    arguments = {"verify": ["--ranks", "2", "-a", "ring"], "list": []}.get(command, ["ring"])
    path = tmp_path / "found.json"
    printed = refcoll(command, *arguments, "--json", "-").out
    run = refcoll(command, *arguments, "--json", str(path))
    assert run.out
    written = json.loads(path.read_text())
    if command == "verify":
        assert written["rows"] == json.loads(printed)["rows"]
    else:
        assert written == json.loads(printed)


# ---- bad usage ---------------------------------------------------------------------------

BAD = [
    (["verify", "--ranks", "2,x"], "ranks='2,x'"),
    (["verify", "--ranks", "0"], "ranks='0'"),
    (["verify", "-a", "dissemination", "--ranks", ""], "ranks=''"),
    (["verify", "-a", "magic"], "algorithm='magic'"),
    (["verify", "-c", "magic"], "collective='magic'"),
    (["verify", "-c", "barrier", "-a", "ring"], "algorithm='ring'"),
    (["verify", "--transport", "pigeon"], "transport='pigeon'"),
    (["verify", "--timeout", "soon"], "--timeout"),
    (["verify", "--transport", "mpi", "--ranks", "2"], "ranks=2"),
    (["count", "magic"], "algorithm='magic'"),
    (["count"], "ALGORITHM"),
    (["count", "ring", "-c", "magic"], "collective='magic'"),
    (["count", "ring", "-n", "0"], "--ranks"),
    (["count", "ring", "-n", "many"], "--ranks"),
    (["count", "ring", "-s", "14Gb"], "size='14Gb'"),
    (["count", "ring", "--bandwidth", "450GB"], "bandwidth='450GB'"),
    (["count", "ring", "--bandwidth", "0GB/s"], "bandwidth"),
    (["count", "ring", "--bandwidth", "1GB/s", "--latency", "3"], "latency='3'"),
    (["count", "ring", "--latency", "3"], "latency='3'"),
    (["count", "ring", "--root", "8"], "root=8"),
    (["count", "hierarchical_rails", "-n", "8", "--nodes", "3x3"], "nodes='3x3'"),
    (["count", "ring", "--radix", "3"], "radix=3 has no meaning for ring all_reduce"),
    (["count", "bcube", "--segments", "3"], "segments=3 has no meaning for bcube all_reduce"),
    (["count", "bine", "-n", "6"], "size=6: bine all_reduce is defined for N a power of two only"),
    (["count", "ring+sideways"], "algorithm='sideways' does not exist for all_gather"),
    (["bench"], "run it as `mpirun -n 4 refcoll bench`"),
    (["choose", "all_sorts"], "collective='all_sorts' does not exist"),
    (["choose", "reduce", "--root", "2", "--in-order"], "no algorithm for reduce with root=2"),
    (["count", "ring", "--json", "/no/such/folder/file.json"], "/no/such/folder"),
    (["show", "magic"], "algorithm='magic'"),
    (["show", "ring", "--segments", "0"], "--segments"),
    (["list", "magic"], "collective='magic'"),
    (["list", "--nodes", "a"], "nodes='a'"),
    (["fly"], "fly"),
    (["list", "--colour"], "colour"),
]


@pytest.mark.parametrize(("arguments", "said"), BAD, ids=[" ".join(each) for each, _ in BAD])
def test_bad_usage_exits_with_2_and_says_what(refcoll, arguments, said):
    run = refcoll(*arguments)
    assert run.status == 2
    assert said in run.err
    assert run.out == ""


def test_no_command_is_bad_usage_with_help(refcoll):
    run = refcoll()
    assert run.status == 2
    assert "verify" in run.out + run.err


# ---- topology and choice -------------------------------------------------------------------


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
