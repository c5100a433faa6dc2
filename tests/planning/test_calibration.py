"""Patterns cost what their counts say, and machines come out of their times; measured runs are
well-formed.  What is measured is looked at nowhere: it depends on the machine."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from refcoll import ArgumentError, node_shape, spawn
from refcoll.benchmarking import Timing
from refcoll.interpreters.check import check
from refcoll.interpreters.clock import finish_times
from refcoll.planning.calibration import Calibration, calibrated
from refcoll.planning.calibration_errors import Predictor, shared_rates, summary, worst
from refcoll.planning.calibration_merging import mergings
from refcoll.planning.calibration_patterns import MERGE, OVERHEAD, gap, latency, patterns, per_byte
from refcoll.planning.calibration_timing import Measured
from refcoll.planning.files import as_toml, made
from refcoll.planning.fitting import fitted
from refcoll.planning.machine import NETWORK, NODE, Link, Machine
from refcoll.rates import Rates
from refcoll.schedule import Send
from refcoll.topology import topology

SHAPES = [(2,), (4,), (2, 2), (1, 1), (3, 3, 3), (1, 1, 1)]
US = Fraction(1, 10**6)
GB = Fraction(1, 10**9)
FIGURES = {
    OVERHEAD: 7 * US, MERGE: GB / 20,
    latency(NODE): 2 * US, per_byte(NODE): GB / 10, gap(NODE): US / 2,
    latency(NETWORK): 30 * US, per_byte(NETWORK): GB, gap(NETWORK): 4 * US,
}  # fmt: skip
FIGURES |= {f(f"{link}, alone"): FIGURES[f(link)] / 2 for link in (NODE, NETWORK)
            for f in (latency, per_byte)}  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
def test_every_message_takes_a_link_of_the_class_that_is_measured(shape):
    nodes = node_shape(shape)
    where, found = topology(nodes, sum(shape)), patterns(nodes)
    classes = {pattern.link for pattern in found}
    assert classes == where.links
    for pattern in found:
        made_of = pattern.program(2)
        ends = [
            (rank, action.to)
            for rank, graph in enumerate(made_of.graphs)
            for node in graph
            for action in node.actions
            if isinstance(action, Send)
        ]
        assert {where.link(*pair) for pair in ends} == {pattern.link}
        assert {a for a, _ in ends} == {b for _, b in ends}
        talking = 2 if pattern.kind == "alone" else made_of.size
        assert len(ends) == 2 * talking * pattern.peers
        report = check(made_of)
        assert report.aligned
        assert report.capacity == 0


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("rounds", [1, 3])
def test_counts_are_what_the_clock_says(shape, rounds):
    """In rational numbers: the schedule under the clock takes counts times figures, less the
    call's own overhead."""
    nodes, nbytes = node_shape(shape), 1200
    for pattern in patterns(nodes):
        name = f"{pattern.link}, alone" if pattern.kind == "alone" else pattern.link
        rates = Rates(
            FIGURES[latency(name)], FIGURES[per_byte(name)], FIGURES[MERGE],
            gaps={pattern.link: FIGURES[gap(pattern.link)]},
        )  # fmt: skip
        program = pattern.program(rounds)
        layout = program.layout(pattern.chunks * nbytes)
        far = {pattern.link: (rates.alpha, rates.beta)}
        program = program_with(program, nodes)
        taken = max(finish_times(program, layout, Rates(
            rates.alpha, rates.beta, rates.gamma, far=far, gaps=rates.gaps)))  # fmt: skip
        counts = pattern.counts(rounds, nbytes)
        assert taken == sum(Fraction(counts[key]) * FIGURES[key] for key in counts) - 7 * US


def program_with(program, nodes):
    from dataclasses import replace

    return replace(program, topology=topology(nodes, program.size))


def measured_as(figures, nodes):
    rows = [
        Measured(pattern, rounds, n, sum(
            float(count * figures[key]) for key, count in pattern.counts(rounds, n).items()))
        for pattern in patterns(nodes) for n in (4, 4096, 1 << 18, 1 << 20) for rounds in (1, 8)
    ]  # fmt: skip
    fit = fitted([row.observed for row in rows], [*FIGURES])
    return Calibration(nodes, rows, fit, (), 0.0)


def test_a_machine_comes_out_of_times_that_were_made_of_it():
    """2 nodes of 4: alone, a pair moves 2 GB/s between nodes; the 4 ranks of a node together
    4 x 1 GB/s, so that is what the node's rails do: all of it is achieved."""
    found = measured_as(FIGURES, node_shape((4, 4)))
    machine = found.machine("mine", rails=2)
    assert machine.overhead == pytest.approx(7e-6)
    assert machine.reduce_bandwidth == pytest.approx(20e9)
    near, far = machine.links[NODE], machine.links[NETWORK]
    assert near.latency == pytest.approx(2e-6)
    assert near.bandwidth == pytest.approx(20e9)
    assert near.rate == pytest.approx(10e9)
    assert near.gap == pytest.approx(0.5e-6)
    assert far.latency == pytest.approx(30e-6)
    assert far.bandwidth == pytest.approx(4e9 / 2)
    assert far.achieved == pytest.approx(1)
    assert found.alone(NETWORK) == pytest.approx((15e-6, 2e9))
    assert found.fit.held_out.median < 1e-6
    assert made_again(machine) == machine


def made_again(machine):
    import tomllib

    return made(tomllib.loads(as_toml(machine)), "again")


def test_where_a_pair_alone_is_faster_the_rest_is_not_achieved():
    """Two nodes of 2: alone 1 GB/s, both ranks together 2 x 0.25: half of the rail."""
    slow = {**FIGURES, per_byte(NETWORK): 4 * GB, per_byte(f"{NETWORK}, alone"): GB}
    far = measured_as(slow, node_shape((2, 2))).machine().links[NETWORK]
    assert (far.bandwidth, far.achieved) == (pytest.approx(1e9), pytest.approx(0.5))


def test_bytes_that_cost_nothing_move_as_fast_as_was_seen():
    """No growth with the size: 2^20 bytes in the 7 + 2 us of one round are seen to pass."""
    free = {**FIGURES, per_byte(NODE): 0, per_byte(f"{NODE}, alone"): 0, MERGE: 0}
    machine = measured_as(free, node_shape((2,))).machine()
    assert machine.links[NODE].rate == pytest.approx(8 * 2**20 / 23e-6)
    assert machine.reduce_bandwidth is None


# ---- predicted beside measured -----------------------------------------------------------

LINK = Link(latency=3e-6, bandwidth=10e9, achieved=0.5)
SMALL = Machine(
    name="small", links={NODE: LINK}, ranks_per_node=4, overhead=5e-6, reduce_bandwidth=20e9
)


def timing(contender, size, seconds):
    return Timing(contender, size, size // 4, "float", "sum", -1, True, seconds * 1e6, 0, 0, 0)


@pytest.mark.parametrize(
    ("ranks", "striped", "rate"), [(1, True, 2), (1, False, 1), (2, True, 1), (4, True, 0.5),
                                   (4, False, 0.5)],
)  # fmt: skip
def test_a_ranks_share_of_two_rails(ranks, striped, rate):
    """Two nodes: striped, a rank by itself has both rails of 1 GB/s; else one."""
    links = dict.fromkeys((NODE, NETWORK), Link(latency=0.0, bandwidth=1e9))
    machine = Machine(
        name="m", links=links, nodes=2, ranks_per_node=ranks, rails=2, striped=striped
    )
    found = shared_rates(machine, "several").far[NETWORK]
    assert found == pytest.approx((0.0, 1 / (rate * 1e9)))


def test_the_formula_is_the_algorithms_own():
    """Ring on 4: 6 alpha + 6/4 S beta + 3/4 S gamma, and the call."""
    predictor = Predictor(SMALL, node_shape((4,)))
    wanted = 5e-6 + 6 * 3e-6 + 1.5 * 10**6 / 5e9 + 0.75 * 10**6 / 20e9
    assert predictor.formula("all_reduce", "ring", 10**6) == pytest.approx(wanted)
    row = predictor.compared("all_reduce", timing("ring", 10**6, 2 * wanted))
    assert row.error == pytest.approx(-0.5)
    assert row.planner_error == pytest.approx(-0.5)  # one class of links: the same
    off = predictor.compared("all_reduce", timing("linear", 10**6, 1.0))
    errors, planned = summary([row, off])
    assert errors.worst == planned.worst == off.error
    assert worst([row, off]) is off


def test_the_planner_is_asked_for_the_options_that_were_run():
    """recursive_multiplying on 4 ranks runs with radix 4: one step of 3 messages, where the
    planner by itself would take two steps of one.  alpha + 3 S beta + 3 S gamma."""
    row = Predictor(SMALL, node_shape((4,))).compared(
        "all_reduce", timing("recursive_multiplying", 4 << 20, 1.0)
    )
    nbytes = 4 << 20
    wanted = 5e-6 + 3e-6 + 3 * nbytes / 5e9 + 3 * nbytes / 20e9
    assert row.planner == pytest.approx(wanted)
    assert row.formula == pytest.approx(wanted)


def test_messages_that_wait_for_each_other_go_through_one_port():
    """Linear on 4 ranks: rank 0 takes in 3 messages, then sends 3, at one port 6 alphas."""
    times = []
    for waits in (0.0, 2e-6):
        link = Link(latency=3e-6, bandwidth=1e30, gap=waits)
        machine = Machine(name="m", links={NODE: link}, ranks_per_node=4)
        times.append(Predictor(machine, node_shape((4,))).formula("all_reduce", "linear", 8))
    assert times == pytest.approx([2 * 3e-6, 6 * 3e-6])


def test_interleaved_ranks_are_not_the_planners():
    link = Link(latency=1e-6, bandwidth=1e9)
    machine = Machine(name="m", links={NODE: LINK, NETWORK: link}, nodes=2, ranks_per_node=2)
    for nodes, known in ((((0, 1), (2, 3)), True), (((0, 2), (1, 3)), False)):
        row = Predictor(machine, nodes).compared("all_reduce", timing("ring", 4096, 1e-3))
        assert (row.planner is not None) == known
    # A flat ring waits for the slower latency, and the slower link: a rank has half a rail.
    assert row.formula == pytest.approx(6 * 3e-6 + 1.5 * 4096 / 0.5e9)


# ---- measured ----------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(2,), (1, 1)])
def test_a_measured_machine_is_well_formed(shape):
    nodes = node_shape(shape)
    every = spawn(sum(shape), lambda comm: calibrated(comm, 0.2), nodes=nodes)
    first = every[0]
    assert [each.fit.figures for each in every[1:]] == [first.fit.figures] * (len(every) - 1)
    assert [len(each.merging) > 0 for each in every] == [True] + [False] * (len(every) - 1)
    machine = first.machine()
    assert {*machine.links} == {NETWORK if len(shape) > 1 else NODE}
    assert made_again(machine) == machine
    assert len(first.rows) == len({(r.pattern.title, r.rounds, r.nbytes) for r in first.rows})
    assert all(0 < row.seconds < 60 for row in first.rows)
    assert math.isfinite(first.fit.errors.worst)
    assert first.one_off >= 0
    assert all("measured by refcoll calibrate on" in said for said in machine.sources.values())


@pytest.mark.parametrize(("shape", "said"), [
    ((1,), "ranks=1: there is no link to measure"), ((2, 1), r"nodes=\[2, 1\]: a machine has"),
])  # fmt: skip
def test_what_cannot_be_a_machine(shape, said):
    with pytest.raises(ArgumentError, match=said):
        spawn(sum(shape), lambda comm: calibrated(comm, 0.1), nodes=node_shape(shape))


def test_every_operator_is_timed_on_what_it_is_defined_for():
    found = {(each.op, each.dtype) for each in mergings(1 << 12, ("float32", "int32"))}
    assert ("sum", "float32") in found
    assert ("bitwise_xor", "int32") in found
    assert ("bitwise_xor", "float32") not in found
    assert ("avg", "float32") not in found
    assert all(np.isfinite(each.bandwidth) for each in mergings(1 << 12, ("float32",)))
