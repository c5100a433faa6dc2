"""Logs of nccl-tests, OSU and refcoll bench, synthetic from known figures or with published
ones, give those figures back; what is malformed is refused with file and line."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from refcoll import ArgumentError
from refcoll.benchmarking import Timing
from refcoll.cli.bench import _tell
from refcoll.planning.logs import Given, Sample
from refcoll.planning.logs_fitting import machine_from
from refcoll.planning.logs_reading import read_log
from refcoll.planning.machine import NETWORK, NODE

NOTHING = Given()
SAMPLE = Path(__file__).parent / "samples" / "nccl_16_h100.log"
ALPHA, BETA = 4e-6, 1 / 200e9


def ring(ranks, nbytes, alpha=ALPHA, beta=BETA):
    """Seconds: 2(N-1) alpha + 2(N-1)/N S beta."""
    return 2 * (ranks - 1) * (alpha + nbytes * beta / ranks)


def nccl_row(nbytes, seconds, ranks, redop="sum", factor=None):
    factor = 2 * (ranks - 1) / ranks if factor is None else factor
    algbw = nbytes / seconds / 1e9
    half = f"{seconds * 1e6:9.2f} {algbw:7.2f} {algbw * factor:7.2f}      0"
    return f"{nbytes:12d} {nbytes // 4:12d}     float {redop:>7}      -1 {half} {half}"


NCCL_COLUMNS = (
    "#       size         count      type   redop    root     time   algbw   busbw #wrong"
    "     time   algbw   busbw #wrong\n"
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            "
    "(us)  (GB/s)  (GB/s)       "
)


def devices(hosts):
    return [
        f"#  Rank {rank:2d} Group  0 Pid {6000 + rank} on {host:>9} device {rank:2d} [0x1b] GPU X"
        for rank, host in enumerate(hosts)
    ]


def nccl(hosts, rows, head=()):
    first = "# nThread 1 nGpus 1 minBytes 8 maxBytes 8589934592 step: 2(factor) warmup iters: 5"
    last = ["# Out of bounds values : 0 OK", "# Avg bus bandwidth    : 70.742 "]
    lines = [*head, first, "#", "# Using devices", *devices(hosts), "#", NCCL_COLUMNS, *rows, *last]
    return "\n".join(lines) + "\n"


SIZES = [2**k for k in range(10, 34, 3)]
GOOD = nccl_row(1 << 20, ring(8, 1 << 20), 8)


def written(tmp_path, text, name="a.log"):
    path = tmp_path / name
    path.write_text(text)
    return path


def test_nccl_tests_of_a_ring(tmp_path):
    """One node of 8: times of known alpha and beta, rounded as nccl-tests rounds them."""
    rows = [nccl_row(n, ring(8, n), 8) for n in SIZES]
    samples = read_log(written(tmp_path, nccl(["a"] * 8, rows)), NOTHING)
    assert len(samples) == 2 * len(SIZES)
    assert {(each.collective, each.ranks, each.nodes) for each in samples} == {("all_reduce", 8, 1)}
    assert samples[0].where.endswith("a.log:15")
    found = machine_from([each for each in samples if not each.in_place], "ring")
    link = found.machine.links[NODE]
    assert link.latency == pytest.approx(ALPHA, rel=1e-3)
    assert link.bandwidth == pytest.approx(200e9, rel=1e-3)
    assert abs(found.fit.errors.worst) < 1e-3
    (table,) = found.machine.tables
    assert (table.algorithm, table.ranks, table.source) == ("NCCL", 8, "log a.log")
    assert table.seconds(SIZES[3]) == pytest.approx(ring(8, SIZES[3]), rel=1e-3)


def test_published_times_of_16_h100():
    """8 Gi take 47,535 us, 4 Gi 24,361: their difference alone is 15/8 x 4 GiB at 347.5 GB/s.
    (The log's own busbw there is 338.82 GB/s, latency included.)"""
    samples = read_log(SAMPLE)
    assert {(each.collective, each.ranks, each.nodes) for each in samples} == {
        ("all_reduce", 16, 2)
    }
    longest = [each for each in samples if each.nbytes >= 1 << 32 and not each.in_place]
    found = machine_from(longest, "ring", rails=8)
    assert found.machine.links[NETWORK].bandwidth * 8 == pytest.approx(347.5e9, rel=1e-3)
    assert found.machine.links[NODE].bandwidth == pytest.approx(347.5e9, rel=1e-3)
    assert "no slower" in found.machine.sources["within_a_node.bandwidth"]
    assert found.machine.title.startswith("logged: 2 nodes of 8 ranks, 8 rails of 43.44 GB/s")


def test_what_two_figures_cannot_say_of_a_library_that_changes_its_ways():
    """All sizes: NCCL changes protocols, so that the worst error is large, as it is of other
    two-parameter fits to such tables; interpolating the table is nearer."""
    every = [each for each in read_log(SAMPLE) if not each.in_place]
    found = machine_from(every, "ring", rails=8)
    assert 0.05 < found.fit.errors.median < 0.25
    assert -0.87 < found.fit.errors.worst < -0.5
    assert found.tables.median < found.fit.errors.median
    assert abs(found.tables.worst) < abs(found.fit.errors.worst)


def test_vectors_that_are_cut_to_nothing_are_passed_over(tmp_path):
    """As in NVIDIA/nccl-tests#128: fewer elements than ranks leave rows of 0 bytes."""
    nothing = nccl_row(1 << 20, ring(8, 1 << 20), 8).replace("1048576", "      0")
    found = read_log(written(tmp_path, nccl(["a"] * 8, [nothing, nothing, GOOD])))
    assert [each.nbytes for each in found] == [1 << 20] * 2


def test_older_columns_and_several_runs_in_one_file(tmp_path):
    """Without a root, with errors instead of #wrong; the second run is of other ranks, and what
    is printed in between is passed over."""
    old = NCCL_COLUMNS.replace("   root ", "").replace("#wrong", " error")
    row = (
        nccl_row(1 << 20, ring(4, 1 << 20), 4)
        .replace("      -1 ", " ")
        .replace("      0", "  1e-7")
    )
    first = nccl(["a"] * 4, [row]).replace(NCCL_COLUMNS, old)
    second = nccl(["a", "b"], [nccl_row(1 << 20, ring(2, 1 << 20), 2)])
    noise = (
        "node-b:4711:4711 [1] NCCL INFO comm 0x7f rank 1 nranks 2 - Init COMPLETE\n17 warnings\n"
    )
    found = read_log(written(tmp_path, first + noise.splitlines()[0] + "\n" + second), NOTHING)
    assert [(each.ranks, each.nodes) for each in found] == [(4, 1)] * 2 + [(2, 2)] * 2


@pytest.mark.parametrize(("redop", "factor", "collective"), [
    ("sum", 1.75, "all_reduce"), ("sum", 0.875, "reduce_scatter"), ("none", 0.875, "all_gather"),
    ("none", 1.0, "broadcast"),
])  # fmt: skip
def test_what_is_not_named_is_told_by_its_bus_bandwidth(tmp_path, redop, factor, collective):
    """doc/PERFORMANCE.md of nccl-tests: busbw / algbw is 2(N-1)/N, (N-1)/N or 1."""
    rows = [nccl_row(n, ring(8, n), 8, redop, factor) for n in (1024, 1 << 30)]
    found = read_log(written(tmp_path, nccl(["a"] * 8, rows)), NOTHING)
    assert {each.collective for each in found} == {collective}


@pytest.mark.parametrize(("text", "said"), [
    (nccl(["a"] * 8, [GOOD, GOOD[:-12]]), r"a\.log:16: 11 columns, where the header names 13"),
    (nccl(["a"] * 8, [GOOD.replace("float", "float x")]), r"a\.log:15: 14 columns"),
    (nccl(["a"] * 8, [GOOD.replace("  -1", "  -1 ").replace(" 65.", " x5.", 1)]), "is no number"),
    (nccl(["a"] * 8, [nccl_row(1 << 20, 1e-3, 8).replace("1000.00", "   1.00", 1)]),
     r"a\.log:15: time=1.00 us and algbw=1.05 GB/s do not fit to size=1048576"),
    (nccl(["a"] * 8, [GOOD[:-1] + "3"]), "3 elements are wrong; find out why"),
    (nccl([], [GOOD]), r"a\.log:7: no line says which ranks there are; say --ranks"),
    (nccl(["a"] * 8, [nccl_row(1024, 1e-3, 8)]), "collective is not said; say --collective"),
    (nccl(["a"] * 8, []), "holds no times; did the run end early"),
    (nccl(["a"], [GOOD], devices(["a"])), "rank 0 is there twice.*MPI=1"),
    ("nothing\n", "has no table of nccl-tests, OSU micro-benchmarks, refcoll bench: give what"),
])  # fmt: skip
def test_malformed_nccl_logs(tmp_path, text, said):
    with pytest.raises(ArgumentError, match=said):
        read_log(written(tmp_path, text), NOTHING)


def test_ranks_are_told_once(tmp_path):
    bare = written(tmp_path, nccl([], [GOOD]))
    assert read_log(bare, Given(ranks=8, nodes=2))[0].nodes == 2
    full = written(tmp_path, nccl(["a"] * 8, [GOOD]))
    with pytest.raises(ArgumentError, match="the log is of 8 ranks, not 4; leave out --ranks"):
        read_log(full, Given(ranks=4))
    with pytest.raises(ArgumentError, match="cannot be read"):
        read_log(tmp_path / "missing", NOTHING)


# ---- OSU -----------------------------------------------------------------------------------


def osu(name, columns, rows, version="v7.4", more=""):
    lines = [f"# OSU MPI {name} Test {version}", more, columns]
    return "\n".join(["srun: job 17 queued", *lines, *(f"{n:<10d} {v:20.2f}" for n, v in rows)])


def test_osu_latency_and_bandwidth_tell_a_link(tmp_path):
    """Latency: alpha + n beta.  Bandwidth: n / (gap + n beta), 64 in flight (osu_bw)."""
    sizes = [4**k for k in range(3, 12)]
    alpha, beta, gap = 20e-6, 1e-9, 5e-6
    times = [(n, (alpha + n * beta) * 1e6) for n in sizes]
    rates = [(n, n / (gap + n * beta) / 1e6) for n in sizes]
    one = osu("Latency", "# Size          Latency (us)", times, "v5.3.2")
    two = osu("Bandwidth", "# Size      Bandwidth (MB/s)", rates, more="# Datatype: MPI_CHAR.")
    samples = [
        sample
        for name, text in (("one", one), ("two", two))
        for sample in read_log(written(tmp_path, text, name), Given(nodes=2))
    ]
    found = machine_from(samples, None)
    link = found.machine.links[NETWORK]
    assert link.latency == pytest.approx(alpha, rel=1e-2)
    assert link.bandwidth == pytest.approx(1e9, rel=1e-2)
    assert link.gap == pytest.approx(gap, rel=1e-2)
    assert (found.machine.nodes, found.machine.ranks_per_node) == (2, 1)
    with pytest.raises(ArgumentError, match="latency between nodes; give a log of osu_latency"):
        machine_from(samples[len(sizes) :], None)


def test_published_osu_latencies(tmp_path):
    """gist 6a3acd0c of hppritcha: 4 MiB take 435.60 us, 2 MiB 220.58, 0 bytes 1.18."""
    rows = [(0, 1.18), (2097152, 220.58), (4194304, 435.60)]
    text = osu("Latency", "# Size          Latency (us)", rows, "v5.3.2")
    link = machine_from(read_log(written(tmp_path, text), NOTHING), None).machine.links[NODE]
    assert link.latency == pytest.approx(1.18e-6, rel=0.02)
    assert link.bandwidth == pytest.approx(2097152 / 215.02e-6, rel=0.02)


@pytest.mark.parametrize(("name", "collective", "times"), [
    ("Allreduce Latency", "all_reduce", 1), ("Broadcast Latency", "broadcast", 1),
    ("Allgather Latency", "all_gather", 4), ("Reduce_scatter Latency", "reduce_scatter", 1),
    ("All-to-All Personalized Exchange Latency", "all_to_all", 4),
])  # fmt: skip
def test_osu_sizes_are_those_of_the_whole_vector(tmp_path, name, collective, times):
    """osu_allgather and osu_alltoall say what a rank gives, or gives to each other rank."""
    text = osu(name, "# Size       Avg Latency(us)", [(1024, 17.35)])
    (sample,) = read_log(written(tmp_path, text), Given(ranks=4))
    assert (sample.collective, sample.nbytes) == (collective, 1024 * times)
    assert sample.seconds == pytest.approx(17.35e-6)


def test_osu_with_all_its_columns(tmp_path):
    """As with -f (open-mpi/ompi#12318): 53.34 is the average."""
    text = (
        "# OSU MPI-CUDA Allreduce Latency Test v7.3\n# Datatype: MPI_CHAR.\n"
        "# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations\n"
        "1                      53.34             24.80            158.96        1000\n"
    )
    (sample,) = read_log(written(tmp_path, text), Given(ranks=192))
    assert sample.seconds == pytest.approx(53.34e-6)
    with pytest.raises(ArgumentError, match=r"a\.log:4: 4 columns, where the header names 5"):
        read_log(written(tmp_path, text.replace("        1000", "")), Given(ranks=192))


@pytest.mark.parametrize(("text", "said"), [
    (osu("Allreduce Latency", "# Size  Avg Latency(us)", [(4, 1.0)]), "how many ranks.*--ranks"),
    (osu("Latency", "", [(4, 1.0)]), r"a\.log:5: no line before it names the columns"),
    (osu("Latency", "# Size Latency (us)", [(4, 0.0)]), "0.00 is no time or rate"),
    (osu("Latency", "# Size Latency (us)", [(4, float("nan"))]), "value='nan' is no number"),
    (osu("Multiple Bandwidth / Message Rate", "", []), "none that is read; use Latency, Bandwidth"),
])  # fmt: skip
def test_malformed_osu_logs(tmp_path, text, said):
    with pytest.raises(ArgumentError, match=said):
        read_log(written(tmp_path, text), NOTHING)


# ---- refcoll bench -------------------------------------------------------------------------


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


# ---- fits ----------------------------------------------------------------------------------


def sample(collective, algorithm, ranks, nodes, nbytes, seconds):
    return Sample(
        log="x", where="x:1", collective=collective, contender=algorithm, ranks=ranks, nodes=nodes,
        nbytes=nbytes, seconds=seconds,
    )  # fmt: skip


def test_a_hierarchy_tells_both_classes_of_links():
    """4 nodes of 2, 1 rail, hierarchical_rails: reduce-scatter and all-gather within the nodes
    (1 step of S/2 each), between them a ring of 4 on each half, 6 steps in which both ranks of a
    node send S/8: one rail carries S/4.  2 a + S b + 6 A + 6/4 S B."""
    a, b, far_a, far_b = 2e-6, 1 / 100e9, 30e-6, 1 / 12e9
    seconds = {n: 2 * a + n * b + 6 * far_a + 1.5 * n * far_b for n in SIZES}
    rows = [sample("all_reduce", "hierarchical_rails", 8, 4, n, t) for n, t in seconds.items()]
    rows += [
        sample("all_reduce", "ring", 2, 1, n, 2 * a + n * b) for n in SIZES
    ]  # the node alone: 2 steps of S/2
    found = machine_from(rows, None).machine
    assert found.links[NODE].latency == pytest.approx(a, rel=1e-6)
    assert found.links[NODE].bandwidth == pytest.approx(1 / b, rel=1e-6)
    assert found.links[NETWORK].latency == pytest.approx(far_a, rel=1e-6)
    assert found.links[NETWORK].bandwidth == pytest.approx(1 / far_b, rel=1e-6)
    assert (found.nodes, found.ranks_per_node, found.rails) == (4, 2, 1)


def test_a_table_is_judged_by_what_it_says_of_sizes_it_has_not():
    """Time as the size's root is a straight line on log-log paper; one of four is twice that."""
    times = {n: n**0.5 * (2 if n == 256 else 1) for n in (16, 64, 256, 1024)}
    rows = [sample("all_reduce", "ring", 4, 1, n, t) for n, t in times.items()]
    errors = machine_from(rows, None).tables.each
    # 64 lies between 16 and 256, whose time is 2 x 16: halfway, (4 x 32) ** 0.5 instead of 8.
    assert errors == pytest.approx((2**0.5 - 1, -0.5))


def test_what_a_log_cannot_tell_is_said():
    flat = [sample("all_reduce", "ring", 4, 1, n, 1e-3) for n in SIZES]
    with pytest.raises(ArgumentError, match="do not grow with the size; give longer vectors"):
        machine_from(flat, None)
    library = [sample("all_reduce", "MPI", 4, 1, n, ring(4, n)) for n in SIZES]
    with pytest.raises(ArgumentError, match="which one did MPI use"):
        machine_from(library)
    nccl_tests = [replace(each, contender="NCCL") for each in library]
    assert {*machine_from(nccl_tests).algorithms} == {"ring"}
    with pytest.raises(ArgumentError, match="which one did NCCL use"):
        machine_from([replace(each, collective="broadcast") for each in nccl_tests])
    with pytest.raises(ArgumentError, match=re.escape("'pony'")):
        machine_from(library, "pony")
