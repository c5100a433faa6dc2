"""refcoll reveal: what it prints, its JSON, its exit status, and bad usage."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from mpi_jobs import launch

PAGE = Path(__file__).parent.parent.parent / "docs" / "json.md"


@pytest.fixture
def reveal(run_refcoll):
    """Exit status, standard output and error of `refcoll reveal ARGUMENTS`."""
    return lambda *arguments: run_refcoll("reveal", *arguments)


def test_a_ring(reveal):
    status, out, _ = reveal("refcoll", "-n", "3", "-a", "ring", "--sizes", "1,9")
    assert status == 0
    assert re.match(
        r"holds: refcoll ring: all_reduce float32 on 3 ranks: ring \(or \d+ more\); ", out
    )
    assert "\n1 element (" in out
    assert "\n9 elements (" in out
    assert "  name: ring, exactly [MPICH 5: ring]" in out
    assert "  also consistent:\n    segmented_ring (segments=1; segments=3), exactly" in out
    assert "    elements 3-5: ((0+2)+1)\n      0 -.\n      2 -+-.\n      1 ---+-\n" in out
    assert "precision: every partial sum is rounded to float32" in out
    assert "768 of 768 elements" not in out
    assert "1728 of 1728 elements, 64 of 64 vectors, to the bit" in out  # 64 x 3 x 9


def test_accumulating_in_float32(reveal):
    status, out, _ = reveal(
        "refcoll", "-n", "3", "-a", "ring", "--dtype", "bfloat16", "--accumulate", "float32",
        "--sizes", "4",
    )  # fmt: skip
    assert status == 0
    assert "partial sums are kept in float32, and rounded once, to bfloat16" in out


class Random:
    """Another order at every call."""

    name = "random"
    calls = 0

    def __init__(self, comm):
        self.comm = comm

    def all_reduce(self, x, out, op):
        size = self.comm.size
        rows = self.comm.all_gather(x).reshape(size, -1)
        self.calls += 1
        out[:] = 0
        for k in range(size):
            out += rows[(k * self.calls * self.calls + self.calls) % size]


def make_random(comm):
    return Random(comm)


@pytest.fixture
def module(monkeypatch):
    """The name under which this file can be imported."""
    monkeypatch.setitem(sys.modules, "random_reducer", sys.modules[__name__])
    return "random_reducer"


def test_what_does_not_hold(reveal, module):
    status, out, _ = reveal(f"{module}:make_random", "-n", "5", "--sizes", "3")
    assert status == 1
    assert out.startswith("FAILS: random: all_reduce float32 on 5 ranks: with 3 elements ")


def keys(value, prefix=""):
    """All keys, those of dicts in lists too, but not names of ranks and libraries."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if not key.isdigit() and prefix != "adds_alike":
                yield key
            yield from keys(inner, key)
    elif isinstance(value, list):
        for inner in value:
            yield from keys(inner, prefix)


def test_json_and_its_page(reveal):
    _, out, _ = reveal("refcoll", "-n", "4", "-a", "ring", "--sizes", "6", "--json", "-")
    content = json.loads(out)
    told = PAGE.read_text().partition("**`refcoll reveal`**")[2].partition("\n\n")[0]
    assert set(keys(content)) <= set(re.findall(r"`(\w+)`", told))
    first = content["sizes"][0]
    assert first["orders"]["0"][0] == {
        "start": 0, "stop": 2, "tree": "(0+((1+2)+3))", "why_none": "",
    }  # fmt: skip
    assert first["names"][0]["name"] == "ring"
    assert first["names"][0]["how"] == "exactly"
    assert first["prediction"]["elements_right"] == 64 * 4 * 6


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["refcoll", "-n", "3", "--sizes", "0"], "sizes='0' must be numbers of elements"),
        (["refcoll", "-n", "3", "-c", "all_gather"], "collective='all_gather' merges nothing"),
        (["refcoll", "-n", "3", "--dtype", "int32"], "dtype='int32'"),
        (["refcoll", "-n", "3", "--root", "3"], "root=3"),
        (["mpi", "-a", "ring"], "algorithm='ring' is for refcoll's own"),
        (["nothing"], "implementation='nothing'"),
        (["refcoll", "-n", "3", "-a", "nothing"], "nothing"),
        (["mpi", "-n", "3"], "use `mpirun -n 3 refcoll reveal mpi ...`"),
    ],
)
def test_bad_usage(reveal, arguments, said):
    status, out, err = reveal(*arguments)
    assert status == 2
    assert said in err
    assert not out


def test_under_mpirun(tmp_path):
    """Each process a rank; the exit status of rank 0 is the job's."""
    path = tmp_path / "found.json"
    run = launch(
        3, sys.executable, "-m", "refcoll", "reveal", "refcoll", "-a", "ring", "--sizes", "5",
        "--json", str(path),
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith("holds: refcoll ring: all_reduce float32 on 3 ranks: ring (or ")
    assert json.loads(path.read_text())["ranks"] == 3
