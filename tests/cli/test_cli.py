"""The program: how it is called, and that what it is asked wrongly ends with status 2."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from refcoll import algorithms

SCRIPT = Path(sys.executable).with_name("refcoll")


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
