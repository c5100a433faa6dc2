"""Device memory over a real MPI, with a stand-in for the device.

What passes here shows the order of copies, synchronisations and messages, and what is sent.
It shows nothing of a GPU, and nothing of an MPI's support for one.
"""

from __future__ import annotations

import pytest

from refcoll.testing.conformance import CHECKS, SPARE_CHECKS

LONG = pytest.mark.long
KEPT = [
    (3, "staged", "0"), (2, "direct", "0"),
    *(pytest.param(ranks, mode, eagerness, marks=LONG)
      for mode in ("staged", "direct") for ranks, eagerness in ((1, "0"), (3, "1"), (4, "0.5"))),
]  # fmt: skip
SYNCHRONISATIONS = (
    "direct: before a send",
    "direct: before a receive",
    "staged: copies follow what is queued",
    "staged: a copy is over before it is sent",
    "staged: a piece was read before more lands there",
)


@pytest.mark.parametrize(("ranks", "mode", "eagerness"), KEPT)
def test_it_keeps_the_contract(ranks, mode, eagerness, program):
    run = program(ranks, "conformance.py", "all", mode, eagerness)
    assert run.returncode == 0, run.stderr
    for check in CHECKS:
        assert run.stdout.count(f"kept: {check.__name__}.") == ranks


@pytest.mark.parametrize("mode", ["staged", pytest.param("direct", marks=LONG)])
def test_it_reports_silence_and_wrong_sizes(mode, program):
    """The exit status is not 0: what was asked for and never came may still be under way."""
    run = program(3, "conformance.py", "spare", mode, "0")
    assert run.returncode != 0
    for check in SPARE_CHECKS:
        assert run.stdout.count(f"kept: {check.__name__}.") == 3, run.stderr


def test_each_synchronisation_is_needed(program):
    run = program(2, "synchronisations.py")
    assert run.returncode == 0, run.stderr
    for name in SYNCHRONISATIONS:
        assert f"caught: {name}." in run.stdout, run.stdout
    assert "NOT SEEN" not in run.stdout


def test_staging_reads_and_writes_no_device_memory_itself(program):
    run = program(2, "unreadable.py", "staged")
    assert run.returncode == 0, run.stderr
    assert run.stdout.count("right, and nobody looked.") == 2


def test_the_pages_of_that_test_cannot_be_touched(program):
    """This MPI knows nothing of devices: it goes where it must not, and dies of it."""
    run = program(2, "unreadable.py", "direct")
    assert run.returncode != 0
    assert "right" not in run.stdout


CASES = (
    "errors",
    "checksums",
    "auto",
    "sharing",
    "copies",
    "lifetimes",
    "ordinary_use",
    "trials",
    "algorithms",
)


def test_connecting_and_what_it_moves(program):
    run = program(2, "over_mpi.py", *CASES)
    assert run.returncode == 0, run.stderr
    for case in CASES:
        assert run.stdout.count(f"done: {case}.") == 2
