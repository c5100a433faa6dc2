"""Machines from samples: both classes of links, tables, and what samples cannot tell."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from refcoll import ArgumentError
from refcoll.planning.logs import Sample
from refcoll.planning.logs_fitting import machine_from
from refcoll.planning.logs_machine import tables_of
from refcoll.planning.machine import NETWORK, NODE
from written_logs import SIZES, ring


def sample(collective, algorithm, ranks, nodes, nbytes, seconds):
    return Sample(
        log="x", where="x:1", collective=collective, contender=algorithm, ranks=ranks, nodes=nodes,
        nbytes=nbytes, seconds=seconds,
    )  # fmt: skip


def test_of_several_times_of_a_size_the_middle_one_is_the_tables():
    times = [(4096, 1e-5), (4096, 9e-5), (4096, 2e-5), (1 << 20, 3e-5)]
    (table,) = tables_of([sample("all_reduce", "NCCL", 8, 1, *each) for each in times])
    assert table.points == ((4096, 2e-5), (1 << 20, 3e-5))


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
