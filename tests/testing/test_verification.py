"""Verification says yes to what is right, and names what is wrong: a schedule, a claim, bytes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from broken_ring import copies_instead, twice, waits_for_nobody, without_last_step, wrong_chunk
from refcoll import CollectivePlan, TransportError, making, node_shape, registry, spawn
from refcoll.testing import verification
from refcoll.testing.verification import Case, cases, verify

TIMEOUT = 2


def rows(size, chosen, nodes=None):
    """The rows of an in-process run, which must be the same on every rank."""

    def body(comm):
        return list(verify(comm.transport, chosen, TIMEOUT))

    first, *others = spawn(size, body, nodes=nodes)
    assert all(other == first for other in others)
    return first


# ---- what is right -----------------------------------------------------------------------


@pytest.mark.parametrize("size", [2, 5, *(pytest.param(n, marks=pytest.mark.long) for n in (1, 3))])
def test_every_algorithm_holds(size):
    few = [case for case in cases(size) if case.count in (0, 1, size + 1)]
    found = rows(size, few)
    assert [row.problems for row in found] == [[]] * len(few)
    for row, case in zip(found, few, strict=True):
        assert (row.ok, row.exact, row.agree) == (True, True, True), row.title
        assert (row.algorithm, row.collective) == (case.algorithm, case.collective)
        alone = row.algorithm in ("parameter_server_alone", "in_network")
        transport = "simulated" if alone else "in-process"
        assert (row.ranks, row.transport) == (size, transport)
        assert row.title == case.title(size)
        assert max(row.sent_bytes, row.received_bytes) >= row.lower_bound_bytes


@pytest.mark.parametrize("size", [2, 3])
def test_every_dtype_and_operator_holds(size):
    found = rows(size, [case for case in cases(size, "all_reduce", "ring") if case.count == 1000])
    assert [row.problems for row in found] == [[]] * len(found)


def test_nodes_of_the_transport_are_used():
    chosen = [Case("hierarchical_leaders", "all_reduce", 10, "int32", "sum")]
    (flat,), (deep,) = rows(6, chosen), rows(6, chosen, node_shape((4, 1, 1)))
    assert (flat.ok, deep.ok) == (True, True)
    assert flat.sent_claimed != deep.sent_claimed


@pytest.mark.parametrize("size", [2, 4])
def test_a_ring_row_holds_what_the_formulas_give(size):
    """2(N-1) steps and 2(N-1)/N S bytes where N divides n (Patarasuk and Yuan)."""
    (row,) = rows(size, [Case("ring", "all_reduce", 1000, "float64", "sum")])
    wanted = 2 * (size - 1) * 8000 // size
    assert (row.steps, row.steps_claimed) == (2 * (size - 1),) * 2
    assert (row.sent_bytes, row.sent_claimed, row.received_bytes) == (wanted,) * 3
    assert row.lower_bound_bytes == wanted


# ---- what is wrong -----------------------------------------------------------------------


CASE = Case("ring", "all_reduce", 30, "int64", "sum")


@pytest.mark.parametrize(
    "schedule", [without_last_step, wrong_chunk, twice, copies_instead, waits_for_nobody]
)
@pytest.mark.parametrize("size", [3, 5])
def test_a_broken_schedule_is_refuted_with_a_counterexample(schedule, size, change_ring):
    change_ring(schedule=schedule)
    (row,) = rows(size, [CASE])
    assert not row.ok
    (problem,) = row.problems
    assert problem.startswith("refuted before it ran: ")
    assert "rank" in problem
    assert "step" in problem or "chunk" in problem


@pytest.mark.parametrize("schedule", [without_last_step, wrong_chunk, twice, copies_instead])
@pytest.mark.parametrize("size", [3, 5])
def test_measurements_alone_reveal_it(schedule, size, change_ring, monkeypatch):
    """Should the checker be wrong, too, the values themselves are not."""
    change_ring(schedule=schedule)
    monkeypatch.setattr(verification, "_refutations", lambda program: iter(()))
    (row,) = rows(size, [CASE])
    assert not row.ok
    assert not row.exact
    assert any(problem.startswith("the result is wrong on ranks [") for problem in row.problems)


def test_a_deadlock_ends_and_names_the_case(change_ring, monkeypatch):
    change_ring(schedule=waits_for_nobody)
    monkeypatch.setattr(verification, "_refutations", lambda program: iter(()))
    with pytest.raises(TransportError, match=r"ring all_reduce on 3 ranks, n=30 int64 sum: "):
        spawn(3, lambda comm: list(verify(comm.transport, [CASE], 0.3)))


@pytest.mark.parametrize(
    ("claim", "problem"),
    [
        ({"steps": lambda rank, size: 2 * size}, "steps on rank 0: 4, claimed 6"),
        ({"sent": lambda rank, size, c: 41}, "sent on rank 0: 320 bytes, claimed 328"),
        ({"received": lambda rank, size, c: 39}, "received on rank 0: 320 bytes, claimed 312"),
        ({"sent": lambda rank, size, c: 40 + (rank == 2)},
         "sent on rank 2: 320 bytes, claimed 328"),
    ],
)  # fmt: skip
def test_a_wrong_claim_is_named(claim, problem, change_ring):
    """The ring on 3 ranks: 4 messages of 10 int64."""
    change_ring(**claim)
    (row,) = rows(3, [CASE])
    assert row.problems == [problem]
    assert row.exact
    assert not row.ok


class Biased:
    """A transport that changes one bit on its way to rank 1, on channels of payload."""

    def __init__(self, inner):
        self.inner = inner

    def __getattr__(self, name):
        return getattr(self.inner, name)

    def prepare(self, sends, receives, channel):
        exchange = self.inner.prepare(sends, receives, channel)
        wait = exchange.wait

        def flipped(index, timeout):
            data = wait(index, timeout)
            if channel and self.inner.rank == 1 and data.size:
                data = data.copy() if receives[index].view is None else data
                data[0] ^= 1
            return data

        exchange.wait = flipped
        return exchange


@pytest.mark.parametrize(
    "case", [Case("ring", "all_gather", 30, "int64", None), CASE,
             Case("binomial", "broadcast", 30, "int64", None)],
)  # fmt: skip
def test_a_bit_that_flips_on_the_way_to_one_rank_makes_results_wrong_and_different(case):
    found = spawn(3, lambda comm: list(verify(Biased(comm.transport), [case], TIMEOUT)))
    for (row,) in found:
        assert (row.ok, row.exact, row.agree) == (False, False, False)
        assert row.problems[1] == "the ranks' results differ"


def test_a_collective_that_changes_its_input_is_wrong(monkeypatch):
    """Where the result is right, but x was written."""
    plan = CollectivePlan.run

    def careless(self, timeout=None):
        result = plan(self, timeout)
        self._buffers._call.x[...] += 1
        return result

    monkeypatch.setattr(CollectivePlan, "run", careless)
    (row,) = rows(2, [CASE])
    assert not row.exact
    assert not row.ok


BARRIER = Case("dissemination", "barrier", 0, "float32", None)


def test_a_barrier_that_sends_nothing_is_wrong(monkeypatch):
    monkeypatch.setattr(CollectivePlan, "run", lambda self, timeout=None: None)
    (row,) = rows(3, [BARRIER])
    assert not row.ok
    assert "steps on rank 0: 0, claimed 2" in row.problems


def test_a_barrier_that_does_not_wait_is_wrong(monkeypatch):
    """Even if it claims no steps, and the checker is blind: ranks leave before others come."""
    key = ("barrier", "dissemination")
    hollow = replace(
        registry.ALGORITHMS[key],
        schedule=lambda rank, size: iter(()),
        steps=lambda rank, size: 0,
        depth=lambda size: 0,
    )
    monkeypatch.setitem(registry.ALGORITHMS, key, hollow)
    monkeypatch.setattr(verification, "_refutations", lambda program: iter(()))
    making.made.cache_clear()
    (row,) = rows(3, [BARRIER])
    making.made.cache_clear()
    assert not row.ok
    assert row.problems == ["a rank left before the last had entered"]


def test_results_are_compared_with_the_dtype_and_shape_asked_for(monkeypatch):
    plan = CollectivePlan.run
    monkeypatch.setattr(
        CollectivePlan, "run",
        lambda self, timeout=None: plan(self, timeout).astype(np.float64),
    )  # fmt: skip
    (row,) = rows(2, [CASE])
    assert not row.exact
