"""Logs of the OSU micro-benchmarks give the figures that they were made of, or published with;
what is malformed is refused with file and line."""

from __future__ import annotations

import pytest

from refcoll import ArgumentError
from refcoll.planning.logs import Given
from refcoll.planning.logs_fitting import machine_from
from refcoll.planning.logs_reading import read_log
from refcoll.planning.machine import NETWORK, NODE
from written_logs import NOTHING, written


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
