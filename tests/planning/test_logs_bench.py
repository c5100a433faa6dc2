"""What `refcoll bench` prints and writes gives its times back; what is malformed is refused."""

from __future__ import annotations

import json

import pytest

from refcoll import ArgumentError
from refcoll.benchmarking import Timing
from refcoll.cli.bench import _tell
from refcoll.planning.logs_fitting import machine_from
from refcoll.planning.logs_reading import read_log
from refcoll.planning.machine import NODE
from written_logs import ALPHA, NOTHING, SIZES, ring, written

BENCH = " size  count  type  redop  root  place  time  algbw  busbw  #wrong  / MPI"


def bench_text(ranks, rows, contender="ring"):
    return "\n".join([
        f"all_reduce on {ranks} ranks over MPICH Version: 5.0.1; float32, time in us", "",
        "# auto", BENCH,
        "1024 256 float sum -1 in 1.00 1.0 1.0 0 0.50", "",
        f"# {contender}", BENCH,
        *(f"{n} {n // 4} float sum -1 {place} {s * 1e6:.4f} 1.0 1.0 0 0.5" for n, place, s in rows),
        "", "# copy", BENCH.removesuffix("  / MPI"),
        "1024 256 float sum -1 in 1.00 1.0 1.0 -", "", "Goals",
        "size place contender ratio goal peer", "1.024 kB in auto 0.5 0.6 MPI met",
    ])  # fmt: skip


def test_bench_tables_and_json_say_the_same(tmp_path):
    """Only of what is an algorithm: "auto" is none, "copy" is a limit."""
    rows = [(n, place, ring(4, n)) for n in SIZES for place in ("out", "in")]
    text = read_log(written(tmp_path, bench_text(4, rows)), NOTHING)
    content = {
        "collective": "all_reduce", "ranks": 4, "ranks_on_nodes": [4],
        "rows": [
            {"contender": name, "size": n, "in_place": place == "in", "time_us": s * 1e6}
            for name in ("auto", "ring", "copy") for n, place, s in rows
        ],
    }  # fmt: skip
    told = read_log(written(tmp_path, json.dumps(content), "a.json"), NOTHING)
    for one, other in zip(text, told, strict=True):
        assert (one.contender, one.ranks, one.nodes, one.nbytes, one.in_place) == (
            other.contender, other.ranks, other.nodes, other.nbytes, other.in_place,
        )  # fmt: skip
        assert one.seconds == pytest.approx(other.seconds, rel=1e-2)
    found = machine_from(told, None)
    assert found.machine.links[NODE].latency == pytest.approx(ALPHA, rel=1e-6)
    assert found.machine.links[NODE].bandwidth == pytest.approx(200e9, rel=1e-6)
    assert found.algorithms == ["ring"] * len(told)


def test_what_bench_prints_is_read(tmp_path, capsys):
    """Its own words, not ours of them: two nodes, a contender that is none, a goal table."""
    rows = [
        Timing(
            name, n, n // 4, "float", "sum", -1, True, ring(4, n) * 1e6, 1.0, 1.5, wrong, {"MPI": 1}
        )
        for name, wrong in (("MPI", 0), ("auto, one-off", 0), ("ring", 0), ("copy", None))
        for n in SIZES
    ]
    here = dict.fromkeys(("processor", "huge_pages", "malloc", "python", "load", "cores"), 1.0)
    content = {
        "collective": "all_reduce", "ranks": 4, "ranks_on_nodes": [2, 2], "library": "MPICH 5.0",
        "machine": here, "shared_memory": True,
    }  # fmt: skip
    _tell(content, rows, ["MPI"], [], None, None)
    found = read_log(written(tmp_path, capsys.readouterr().out), NOTHING)
    assert [each.contender for each in found] == ["MPI"] * len(SIZES) + ["ring"] * len(SIZES)
    assert {(each.ranks, each.nodes, each.in_place) for each in found} == {(4, 2, True)}
    assert [each.nbytes for each in found] == SIZES * 2
    for each in found:
        assert each.seconds == pytest.approx(ring(4, each.nbytes), rel=1e-3)


ONE_ROW = bench_text(4, [(1024, "in", 1e-5)])


@pytest.mark.parametrize(("text", "said"), [
    (ONE_ROW.replace("10.0000", "x", 1), r"a\.log:9: time='x' is no"),
    (ONE_ROW.replace("-1 in 10.0000 1.0 1.0 0", "-1 in 10.0 1.0 1.0 5"), "5 elements are wrong"),
    (ONE_ROW.replace("float sum -1 in 10.0000 1.0 1.0 0 0.5", "float"),
     r"a\.log:9: 3 columns, where the header names 10"),
    (ONE_ROW.partition("\n")[2], "holds no times"),
    ('{"rows": []}', "is no JSON that `refcoll bench --json` has written: KeyError"),
    ("{", "is no JSON that"),
])  # fmt: skip
def test_malformed_bench_logs(tmp_path, text, said):
    with pytest.raises(ArgumentError, match=said):
        read_log(written(tmp_path, text), NOTHING)
