"""The MPI transport: the contract, values to the bit, and what it adds to communicators."""

from __future__ import annotations

import time

import pytest

from refcoll.testing.conformance import CHECKS, SPARE_CHECKS


@pytest.mark.parametrize("ranks", [1, 2, 3, 5])
def test_it_keeps_the_contract(ranks, program):
    run = program(ranks, "conformance.py")
    assert run.returncode == 0, run.stderr
    for check in CHECKS:
        assert run.stdout.count(f"kept: {check.__name__}.") == ranks


@pytest.mark.parametrize("ranks", [2, 3])
def test_it_reports_silence_and_wrong_sizes(ranks, program):
    """The exit status is not 0: what was asked for and never came is still under way."""
    run = program(ranks, "conformance.py", "spare")
    assert run.returncode != 0
    for check in SPARE_CHECKS:
        assert run.stdout.count(f"kept: {check.__name__}.") == ranks, run.stderr


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5, 8])
def test_random_calls_are_alike_to_the_bit(ranks, program):
    run = program(ranks, "random_calls.py", str(1000 + ranks), "150")
    assert run.returncode == 0, run.stderr[-3000:]
    assert run.stdout.count("150 calls alike") == ranks


@pytest.mark.parametrize("ranks", [1, 2, 4, 5])
def test_communicators(ranks, program):
    run = program(ranks, "communicators.py")
    assert run.returncode == 0, run.stderr[-3000:]
    assert run.stdout.count("as promised") == ranks


def test_communicators_may_come_and_go(program):
    run = program(2, "lifetimes.py", "many")
    assert run.returncode == 0, run.stderr[-3000:]
    assert run.stdout.count("gone and done.") == 2


def test_an_exception_does_not_wait_for_work_in_the_background(program):
    """The limit on waits is 60 s there; the job ends long before."""
    started = time.monotonic()
    run = program(2, "lifetimes.py", "raises")
    assert run.returncode != 0
    assert "in the middle of something" in run.stderr
    assert time.monotonic() - started < 20


@pytest.mark.parametrize("what", ["message", "byte"])
def test_one_too_many_is_noticed(what, program):
    run = program(3, "tampering.py", what)
    assert "[]" not in run.stdout
    noticed = {"message": "left over", "byte": "sent more"}[what]
    assert noticed in run.stdout, run.stderr
