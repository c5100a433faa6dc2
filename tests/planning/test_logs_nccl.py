"""Logs of nccl-tests, synthetic from known figures or with published ones, give those figures back;
what is malformed is refused with file and line."""

from __future__ import annotations

from pathlib import Path

import pytest

from refcoll import ArgumentError
from refcoll.planning.logs import Given
from refcoll.planning.logs_fitting import machine_from
from refcoll.planning.logs_reading import read_log
from refcoll.planning.machine import NETWORK, NODE
from written_logs import ALPHA, NOTHING, SIZES, ring, written

SAMPLE = Path(__file__).parent / "samples" / "nccl_16_h100.log"


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


GOOD = nccl_row(1 << 20, ring(8, 1 << 20), 8)


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
    ("sum", 1.75, "all_reduce"), ("sum", 0.875, "reduce_scatter"), ("none", 1.0, "broadcast"),
])  # fmt: skip
def test_what_is_not_named_is_told_by_its_bus_bandwidth(tmp_path, redop, factor, collective):
    """doc/PERFORMANCE.md of nccl-tests: busbw / algbw is 2(N-1)/N, (N-1)/N or 1."""
    rows = [nccl_row(n, ring(8, n), 8, redop, factor) for n in (1024, 1 << 30)]
    found = read_log(written(tmp_path, nccl(["a"] * 8, rows)), NOTHING)
    assert {each.collective for each in found} == {collective}


@pytest.mark.parametrize(("name", "collective"), [
    ("all_reduce", "all_reduce"), ("all_gather", "all_gather"), ("reduce", "reduce"),
    ("reduce_scatter", "reduce_scatter"), ("broadcast", "broadcast"), ("gather", "gather"),
    ("scatter", "scatter"), ("alltoall", "all_to_all"),
])  # fmt: skip
def test_what_a_program_is_named_is_what_it_times(tmp_path, name, collective):
    text = nccl(["a"] * 8, [GOOD], [f"mpirun -np 8 ./build/{name}_perf -b 8 -e 128M"])
    assert {each.collective for each in read_log(written(tmp_path, text))} == {collective}


def test_rails_of_nodes_of_one_rank(tmp_path):
    """A message spreads over both rails: each has half of the 200 GB/s."""
    rows = [nccl_row(n, ring(4, n), 4) for n in SIZES]
    samples = read_log(written(tmp_path, nccl(["a", "b", "c", "d"], rows)))
    link = machine_from(samples, "ring", rails=2).machine.links[NETWORK]
    assert link.bandwidth == pytest.approx(100e9, rel=1e-3)


@pytest.mark.parametrize(("text", "said"), [
    (nccl(["a"] * 8, [GOOD, GOOD[:-12]]), r"a\.log:16: 11 columns, where the header names 13"),
    (nccl(["a"] * 8, [GOOD.replace("float", "float x")]), r"a\.log:15: 14 columns"),
    (nccl(["a"] * 8, [GOOD.replace("  -1", "  -1 ").replace(" 65.", " x5.", 1)]), "is no number"),
    (nccl(["a"] * 8, [nccl_row(1 << 20, 1e-3, 8).replace("1000.00", "   1.00", 1)]),
     r"a\.log:15: time=1.00 us and algbw=1.05 GB/s do not fit to size=1048576"),
    (nccl(["a"] * 8, [GOOD[:-1] + "3"]), "3 elements are wrong; find out why"),
    (nccl([], [GOOD]), r"a\.log:7: no line says which ranks there are; say --ranks"),
    (nccl(["a"] * 8, [nccl_row(1024, 1e-3, 8)]), "collective is not said; say --collective"),
    (nccl(["a"] * 8, [nccl_row(1 << 30, 1e-2, 8, "none", 7 / 8)]),  # all_gather or alltoall
     "collective is not said; say --collective"),
    (nccl(["a"] * 8, [nccl_row(1 << 30, 1e-2, 8, "none", 1)], ["# ./build/sendrecv_perf -b 1G"]),
     r"a\.log:16: sendrecv_perf is none that is read; use all_reduce_perf, all_gather_perf, "),
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
