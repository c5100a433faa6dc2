"""The MPI transport: the contract, values to the bit, and what it adds to communicators."""

from __future__ import annotations

import time

import pytest

from refcoll.testing.conformance import CHECKS, SPARE_CHECKS

LONG = pytest.mark.long
KEPT = [
    (1, "shared"), (3, "shared"), (2, "off"), (2, "fenced"), (2, "checksums"), (3, "mixed"),
    *(pytest.param(*each, marks=LONG) for each in [
        (2, "shared"), (5, "shared"), (3, "off"), (3, "fenced"), (3, "checksums"), (2, "mixed"),
        (4, "mixed"), (5, "mixed"),
    ]),
]  # fmt: skip


@pytest.mark.parametrize(("ranks", "how"), KEPT)
def test_it_keeps_the_contract(ranks, how, program):
    run = program(ranks, "conformance.py", "all", how)
    assert run.returncode == 0, run.stderr
    for check in CHECKS:
        assert run.stdout.count(f"kept: {check.__name__}.") == ranks


@pytest.mark.parametrize(
    ("ranks", "how"),
    [(2, "shared"), (2, "off"), (3, "mixed"), pytest.param(3, "shared", marks=LONG)],
)
def test_it_reports_silence_and_wrong_sizes(ranks, how, program):
    """The exit status is not 0: what was asked for and never came may still be under way."""
    run = program(ranks, "conformance.py", "spare", how)
    assert run.returncode != 0
    for check in SPARE_CHECKS:
        assert run.stdout.count(f"kept: {check.__name__}.") == ranks, run.stderr


@pytest.mark.parametrize("ranks", [2, *(pytest.param(n, marks=LONG) for n in (3, 4, 5))])
def test_plans_and_communicators_share_lanes(ranks, program):
    rounds = 120 if ranks == 2 else 300
    run = program(ranks, "stress.py", str(ranks), str(rounds))
    assert run.returncode == 0, run.stderr[-3000:]
    assert run.stdout.count(f"{rounds} rounds alike.") == ranks


@pytest.mark.parametrize("ranks", [2, pytest.param(3, marks=LONG)])
def test_communicators_may_be_under_way_at_once(ranks, program):
    run = program(ranks, "threads.py")
    assert run.returncode == 0, run.stderr[-3000:]
    assert run.stdout.count("both right.") == ranks


def test_a_forked_child_has_results_of_its_own(program):
    run = program(2, "forked.py")
    assert run.returncode == 0, run.stderr[-3000:]
    assert run.stdout.count("its own.") == 2


@pytest.mark.long
def test_connecting_again_and_again_uses_nothing_up(program):
    """MPICH has some 2000 communicators; each process maps each other's heap once."""
    run = program(2, "lifetimes.py", "connects")
    assert run.returncode == 0, run.stderr[-3000:]
    assert run.stdout.count("gone and done.") == 2


def test_nothing_is_left_behind_by_a_killed_job(program):
    """MPI's own files aside, which are there without shared memory too."""
    run = program(2, "killed.py")
    assert run.returncode != 0
    assert run.stdout.count("ours: [].") == 2, run.stdout


def test_ranks_that_differ_about_shared_memory_are_told(program):
    run = program(3, "differing.py")
    assert run.returncode == 0, run.stderr
    assert run.stdout.count("shared_memory=False on ranks [1] and True on the others") == 3


@pytest.mark.parametrize("ranks", [1, 2, 3, *(pytest.param(n, marks=LONG) for n in (4, 5, 8))])
def test_random_calls_are_alike_to_the_bit(ranks, program):
    run = program(ranks, "random_calls.py", str(1000 + ranks), "150")
    assert run.returncode == 0, run.stderr[-3000:]
    assert run.stdout.count("150 calls alike") == ranks


@pytest.mark.parametrize("ranks", [1, 4, *(pytest.param(n, marks=LONG) for n in (2, 5))])
def test_communicators(ranks, program):
    run = program(ranks, "communicators.py")
    assert run.returncode == 0, run.stderr[-3000:]
    assert run.stdout.count("as promised") == ranks


@pytest.mark.parametrize("often", ["few", pytest.param("many", marks=LONG)])
def test_communicators_may_come_and_go(often, program):
    """Of a few, MPI's numbers are used again, as it does with what is given back to it; of many,
    there are more than it can have at once."""
    run = program(2, "lifetimes.py", often)
    assert run.returncode == 0, run.stderr[-3000:]
    assert run.stdout.count("gone and done.") == 2


def test_an_exception_does_not_wait_for_work_in_the_background(program):
    """The limit on waits is 60 s there; the job ends long before.  The work hears why: it was to
    receive by MPI, and that was cancelled, not answered by rank 1."""
    started = time.monotonic()
    run = program(2, "lifetimes.py", "raises")
    assert run.returncode != 0
    assert "the handle: PeerFailedError: " in run.stdout
    assert "rank 0 failed: ValueError: in the middle of something; mean" in run.stdout
    assert "in the middle of something" in run.stderr
    assert time.monotonic() - started < 20


@pytest.mark.parametrize("what", ["message", "byte"])
def test_one_too_many_is_noticed(what, program):
    run = program(3, "tampering.py", what)
    assert "[]" not in run.stdout
    noticed = {"message": "left over", "byte": "which sent"}[what]
    assert noticed in run.stdout, run.stderr
