"""refcoll plan: what it prints, its JSON, machines by option and by file, and bad usage."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from refcoll.planning.files import read_machine
from refcoll.planning.presets import presets

KEYS = {
    "collective", "size_bytes", "ranks", "machine", "published_error", "predictions", "fastest",
    "fastest_alone",
}  # fmt: skip
PREDICTION_KEYS = {
    "collective", "algorithm", "ranks", "nbytes", "seconds", "basis", "latency", "sent",
    "received", "options", "title", "source", "algbw", "busbw", "half_size_bytes",
    "played_seconds",
}  # fmt: skip


@pytest.fixture
def plan(run_refcoll):
    """Exit status, standard output and error of `refcoll plan ARGUMENTS`."""
    return lambda *arguments: run_refcoll("plan", *arguments)


@pytest.fixture
def found(as_json):
    """What it writes as JSON."""
    return lambda *arguments: as_json("plan", *arguments)


def test_14_gb_on_8_gpus(plan):
    status, out, _ = plan("--size", "14GB", "--ranks", "8", "--machine", "h100-node")
    assert status == 0
    first, second, third, fourth, *_ = out.splitlines()
    assert re.match(r"in_network: 50\.\d+ ms for all_reduce of 14 GB on h100-node: 1 node", first)
    assert second == "  two_shot: 66.66 ms, without switches that add"
    assert third.startswith("  24.5 GB is the least that ranks alone must send each")
    assert fourth.startswith("  that is 54.44 ms at 450 GB/s, the wire's rate, and 66.64 ms at")
    assert re.search(r"^ring; hierarchical_rails; .* 66\.68 ms .* 24\.5 GB +24\.5 GB", out, re.M)
    assert "Fastest by size\n" in out
    assert "Fastest by size, without switches that add\n" in out


def test_the_models_error_stands_beside_the_prediction(plan, run_refcoll):
    """In the words of `refcoll validate`, for vectors of that size."""
    rows = run_refcoll("validate")[1]
    for size, sizes in (("64MiB", "64 MiB to 1 GiB"), ("1GiB", "1 GiB and more")):
        found = re.search(rf"all-reduce, {sizes} +(\d+) +(\S+) +\S+ +(\S+)", rows)
        count, median, worst = found.groups()
        said = f"error of presets on {count} published figures of all-reduce, {sizes}: "
        assert f"{said}median {median}, worst {worst};" in plan("-s", size, "-a", "ring")[1]
    assert (
        "error unknown: no published times of broadcast" in plan("broadcast", "-a", "binomial")[1]
    )


def test_a_machine_that_was_fitted_says_how_well(plan, tmp_path):
    link = "[within_a_node]\nlatency = 1e-6\nbandwidth = 1e9\n"
    said = "fitted to logs, fit error median 1.0%, worst +2.0%"
    sources = f'[sources]\noverhead = "{said}"\n"within_a_node.latency" = "{said}"\n'
    (tmp_path / "mine.toml").write_text(link + sources)
    out = plan("-m", str(tmp_path / "mine.toml"), "-a", "ring")[1]
    assert out.count(f"  mine: {said}\n") == 1


def test_one_rail_and_eight(plan):
    one = plan("-s", "14GB", "-n", "8", "--nodes", "8", "--rails", "1", "-a", "ring")[1]
    assert "that is 490 ms at 50 GB/s, the wire's rate" in one
    eight = plan("-s", "14GB", "--nodes", "4", "--ranks-per-node", "8", "--rails", "8")[1]
    assert "27.12 GB is the least that ranks alone must send each; over 8 rails" in eight
    assert "that is 67.81 ms at 400 GB/s, the wire's rate, and 71.05 ms at" in eight


def test_the_least_time_is_that_of_the_slowest_links_that_a_ring_crosses(plan, tmp_path):
    """2 nodes on switches of their own, a rail each, 1 GB/s beyond: S = 1 GB, and S of 2 ranks."""
    link = "[{}]\nlatency = 1e-6\nbandwidth = {}\n"
    text = "nodes = 2\nranks_per_node = 1\nnodes_per_switch = 1\n" + "".join(
        link.format(*each) for each in (("between_nodes", 4e9), ("between_switches", 1e9))
    )
    (tmp_path / "m.toml").write_text(text)
    out = plan("-m", str(tmp_path / "m.toml"), "-s", "1GB", "-a", "ring")[1]
    assert "m: 2 nodes of 1 rank, 1 rail of 4 GB/s a node, 1 node a switch, 1 GB/s a rail" in out
    assert "over 1 rail of every node, as one ring does between switches\n  that is 1 s at" in out
    for uplinks, said in ((2, "2 uplinks of every switch"), (4, "1 rail of every node")):
        (tmp_path / "m.toml").write_text(f"uplinks = {uplinks}\n{text}")
        out = plan("-m", str(tmp_path / "m.toml"), "-s", "1GB", "-a", "ring")[1]
        assert f"1 node a switch, {uplinks} uplinks of 1 GB/s" in out
        assert f"over {said}, as one ring does\n  that is {1000 // uplinks} ms at" in out


def test_what_was_never_compared_is_not_told_as_if_it_were(plan):
    """No published time is of SHARP between nodes; and what is asked for twice is told once."""
    said = "no published time of it on several nodes is compared: error unknown"
    one, four = (plan("--nodes", n, "-a", "in_network")[1] for n in ("1", "4"))
    assert said in four
    assert said not in one
    twice = plan("--nodes", "4", "-a", "NCCL", "-a", "ring")[1]
    assert "ring; ring" not in twice


PAGE = Path(__file__).parent.parent.parent / "docs" / "planning.md"
BLOCKS = re.findall(r"```console\n\$ refcoll (.*?)\n(.*?)```", PAGE.read_text(), re.DOTALL)


@pytest.mark.parametrize(("command", "output"), BLOCKS)
def test_the_page_shows_what_comes(run_refcoll, command, output):
    status, out, _ = run_refcoll(*command.split())
    assert status == 0
    assert [line.rstrip() for line in out.splitlines()] == output.splitlines()


def test_the_file_that_the_page_shows_is_read(tmp_path):
    (text,) = re.findall(r"```toml\n(.*?)```", PAGE.read_text(), re.DOTALL)
    (tmp_path / "m.toml").write_text(text)
    machine = read_machine(tmp_path / "m.toml")
    assert machine.title == "mine: 4 nodes of 8 ranks, 8 rails of 50 GB/s a node"


def test_json_has_all_its_keys_and_the_table_best_first(found):
    content = found("-s", "1GiB", "-m", "h200-node")
    assert content.keys() == KEYS
    assert all(each.keys() == PREDICTION_KEYS for each in content["predictions"])
    assert (content["ranks"], content["size_bytes"]) == (8, 1 << 30)
    library, *models = content["predictions"]
    assert (library["algorithm"], library["basis"]) == ("NCCL", "measured")
    assert library["busbw"] == pytest.approx(463.58)  # published.tsv
    times = [each["seconds"] for each in models]
    assert times == sorted(times)
    for each in models:
        assert each["algbw"] == pytest.approx((1 << 30) / each["seconds"] / 1e9)
        assert each["busbw"] == pytest.approx(each["algbw"] * 2 * 7 / 8)
        half = each["latency"] * (1 << 30) / (each["seconds"] - each["latency"])
        assert each["half_size_bytes"] == pytest.approx(half)
    assert content["machine"]["sources"]["within_a_node.bandwidth"].startswith("vendor: NVIDIA")


def test_named_algorithms_alone_and_played_too(found):
    content = found(
        "-s", "16MiB", "-m", "a100-cluster", "-a", "ring", "-a", "ring+bruck", "--simulate"
    )  # fmt: skip
    by_name = {each["algorithm"]: each for each in content["predictions"]}
    assert by_name.keys() == {"ring", "ring+bruck"}
    assert content["fastest"] == []
    for each in by_name.values():
        assert each["played_seconds"] == pytest.approx(each["seconds"], rel=1e-6)


def test_break_even_sizes_ascend_and_end_with_the_best_of_long_vectors(found):
    content = found("-s", "64GB", "-m", "a100-cluster")
    sizes = [each["first"] for each in content["fastest"]]
    assert sizes[0] == 0
    assert sizes == sorted(sizes)
    best = min(content["predictions"], key=lambda each: each["seconds"])
    assert content["fastest"][-1]["algorithm"] == best["title"] == "ring"
    assert content["fastest_alone"] == content["fastest"]  # no switch of that machine adds


def test_formulas(plan):
    out = plan("-n", "8", "-a", "ring", "--formulas")[1]
    assert "  ring: 2(N-1) alpha + 2(N-1)/N S beta + (N-1)/N S gamma\n  N = ranks\n" in out


def test_a_machine_is_saved_changed_and_read(plan, found, tmp_path):
    saved = tmp_path / "mine.toml"
    plan("-m", "h100-node", "--nodes", "2", "--rails", "4", "--save-machine", str(saved))
    assert read_machine(saved) == presets()["h100-node"].shaped(nodes=2, rails=4)
    saved.write_text(saved.read_text().replace("bandwidth = 50000000000.0", "bandwidth = 1e9"))
    slow = found("-m", str(saved), "-s", "1GB", "-a", "ring")["predictions"][0]
    assert slow["seconds"] > 2 * 15 / 16 * 1e9 / 4e9


@pytest.mark.parametrize(
    ("arguments", "shape"),
    [
        (("-n", "4"), (1, 4)),
        (("-n", "32"), (4, 8)),
        (("-n", "32", "--nodes", "8"), (8, 4)),
        (("-n", "32", "--ranks-per-node", "16"), (2, 16)),
        (("--nodes", "3"), (3, 8)),
        (("-m", "h100-cluster"), (4, 8)),
        (("-m", "h100-cluster", "-n", "8"), (1, 8)),
    ],
)
def test_which_ranks_on_which_nodes(found, arguments, shape):
    machine = found(*arguments, "-a", "ring")["machine"]
    assert (machine["nodes"], machine["ranks_per_node"]) == shape


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("-m", "h1000"), "machine='h1000' is neither a file nor one of p3.16xlarge, "),
        (("-m", "none.toml"), "machine='none.toml' cannot be read"),
        (("-n", "12"), "ranks=12 do not fill nodes of 8; use --nodes and --ranks-per-node"),
        (("-n", "12", "--nodes", "2", "--ranks-per-node", "8"), "ranks=12 do not fill 2 nodes"),
        (("--size", "14Gb"), "size='14Gb'"),
        (("-a", "rings"), "algorithm='rings' does not exist for all_reduce"),
        (("-m", "a100-node", "-a", "in_network"), "algorithm='in_network' cannot run on a100-node"),
        (("all_reduces",), "collective="),
        (("-n", "3", "-a", "bine"), "algorithm='bine' cannot run on h100-node: 1 node of 3 ranks"),
    ],
)
def test_bad_usage(plan, arguments, said):
    status, out, error = plan(*arguments)
    assert (status, out) == (2, "")
    assert said in error
